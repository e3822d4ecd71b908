package main

import (
	"context"
	"fmt"
	"io"

	"github.com/dray-dev/dray/bench/contender"
	"github.com/dray-dev/dray/bench/family"
	"github.com/dray-dev/dray/bench/output"
	"github.com/dray-dev/dray/bench/profile"
)

// recordProfiles profiles ours on every selected case, and another
// implementation only if it is asked for.
func recordProfiles(ctx context.Context, stdout io.Writer, s *output.Selection) error {
	with := contenders(s)[0]
	found := false
	for _, f := range family.All() {
		sizes := f.Bench
		if s.Quick {
			sizes = f.Test
		}
		for _, size := range sizes {
			if !s.Match.MatchString(f.Name + "/" + size.String()) {
				continue
			}
			found = true
			fmt.Fprintf(s.Progress, "%s/%s on %s: 3 profiles, %s each\n", f.Name, size, with.Name(), s.ProfileFor)
			c := f.Case(size)
			session := contender.Start(with, c)
			files, err := profile.Record(ctx, c.Name()+"_"+with.Name(), s.ProfileDir, s.ProfileFor, func(ctx context.Context) error {
				_, _ = session.Do(ctx)
				return nil
			})
			if err != nil {
				return err
			}
			if err := files.HowToOpen(stdout); err != nil {
				return err
			}
		}
	}
	if !found {
		return fmt.Errorf("no case is named like %q", s.Match)
	}
	return nil
}
