package scheduling

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/dray-dev/dray/bench/profile"
)

// Profile profiles the first contender on every selected case, and prints how to
// open the files.
func Profile(ctx context.Context, options Options, dir string, each time.Duration, stdout io.Writer) error {
	cases := options.Cases()
	if len(cases) == 0 {
		return fmt.Errorf("no case is named like %q", options.Match)
	}
	for _, c := range cases {
		fmt.Fprintf(options.Progress, "%s on %s: 3 profiles, %s each\n", c.Name, options.Contenders[0].Name, each)
		if err := options.profile(ctx, c, dir, each, stdout); err != nil {
			return fmt.Errorf("%s: %w", c.Name, err)
		}
	}
	return nil
}

func (o *Options) profile(ctx context.Context, c *Case, dir string, each time.Duration, stdout io.Writer) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	v, err := c.view(ctx)
	if err != nil {
		return err
	}
	r, err := o.prepare(ctx, o.Contenders[0], c, v)
	if err != nil {
		return err
	}
	if !r.finished {
		return fmt.Errorf("%s does not end within %s: raise the limit", r.Name, o.Limit)
	}
	files, err := profile.Record(ctx, c.Name+"_"+r.Name, dir, each, func(context.Context) error {
		_, err := r.repeat(ctx, 1, false)
		return err
	})
	if err != nil {
		return err
	}
	return files.HowToOpen(stdout)
}
