package main

import (
	"context"
	"fmt"
	"io"
	"text/template"

	"github.com/dray-dev/dray/bench/family"
	"github.com/dray-dev/dray/bench/profile"
)

var howToOpen = template.Must(template.New("").Parse(`
CPU        go tool pprof -http=: {{.CPU}}
wall clock go tool pprof -http=: {{.Wall}}
memory     go tool pprof -http=: -sample_index=alloc_space {{.Allocs}}
`))

// recordProfiles profiles ours on every selected case, and another
// implementation only if it is asked for.
func recordProfiles(ctx context.Context, s settings, stdout io.Writer) error {
	with := s.Contenders[0]
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
			fmt.Fprintf(s.Progress, "%s/%s on %s: 3 profiles, %s each\n", f.Name, size, with.Name(), s.profileFor)
			files, err := profile.Record(ctx, with, f.Case(size), s.profileDir, s.profileFor)
			if err != nil {
				return err
			}
			if err := howToOpen.Execute(stdout, files); err != nil {
				return err
			}
		}
	}
	if !found {
		return fmt.Errorf("no case is named like %q", s.Match)
	}
	return nil
}
