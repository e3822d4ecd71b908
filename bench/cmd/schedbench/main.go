// Command schedbench measures the scheduler plugin beside Kubernetes' own:
//
//	schedbench                             # everything, in some minutes; tables on stdout
//	schedbench -run '^plugin/nodes=500/'   # some cases
//	schedbench -out results.txt -o json    # Go benchmark lines to a file, JSON on stdout
//	schedbench -from results.txt           # the tables of an earlier run
//	schedbench -docs docs/benchmarks.md    # rewrites the generated part of a document
//	schedbench -profile DIR -run '^mig/'   # profiles of our plugin
//
// Progress goes to stderr. The exit code is 0 if everything was measured and both
// plugins agreed on every answer, 2 for wrong usage, else 1.
package main

import (
	"bytes"
	"context"
	"flag"
	"io"
	"os"
	"os/signal"
	"regexp"
	"time"

	"k8s.io/klog/v2"

	"github.com/dray-dev/dray/bench/output"
	"github.com/dray-dev/dray/bench/report"
	"github.com/dray-dev/dray/bench/scheduling"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	os.Exit(output.Code("schedbench", err, os.Stderr))
}

// settings are the flags.
type settings struct {
	scheduling.Options
	output.Settings
	profileDir string
	profileFor time.Duration
}

func parse(args []string, stderr io.Writer) (s settings, err error) {
	flags := flag.NewFlagSet("schedbench", flag.ContinueOnError)
	flags.SetOutput(stderr)
	match := flags.String("run", "", "measure only cases whose name matches this `regexp`, as plugin/nodes=500/use=half")
	plugins := flags.String("impl", "", "measure only this `plugin`: dray or in-tree")
	flags.IntVar(&s.Rounds, "n", 10, "samples of each plugin of each case")
	flags.DurationVar(&s.Sample, "sample", 200*time.Millisecond, "how long a sample takes about")
	flags.DurationVar(&s.Limit, "limit", 10*time.Second, "give up an operation after that")
	flags.BoolVar(&s.Quick, "quick", false, "small clusters and two short samples: to see that it works, not to quote")
	flags.StringVar(&s.profileDir, "profile", "", "write profiles into this `directory` instead of measuring")
	flags.DurationVar(&s.profileFor, "profile-time", 3*time.Second, "how long each profile takes")
	s.AddFlags(flags)
	if err := s.Parse(flags, args); err != nil {
		return s, err
	}
	if s.Quick {
		s.Rounds, s.Sample = 2, time.Millisecond
	}
	if s.Rounds < 1 {
		return s, output.Usagef("-n is at least 1, not %d", s.Rounds)
	}
	if s.Limit <= 0 {
		return s, output.Usagef("-limit is how long an operation may take, more than 0, not %v", s.Limit)
	}
	if s.Match, err = regexp.Compile(*match); err != nil {
		return s, output.Usagef("-run: %w", err)
	}
	s.Progress = stderr
	for _, c := range scheduling.Contenders() {
		if *plugins == "" || *plugins == c.Name {
			s.Contenders = append(s.Contenders, c)
		}
	}
	if len(s.Contenders) == 0 {
		return s, output.Usagef("-impl is dray or in-tree, not %q", *plugins)
	}
	return s, nil
}

func run(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	s, err := parse(args, stderr)
	if err != nil {
		return err
	}
	// A scheduler logs little at its default verbosity, and nothing that is of use here.
	ctx = klog.NewContext(ctx, klog.Logger{})
	if s.profileDir != "" {
		return scheduling.Profile(ctx, s.Options, s.profileDir, s.profileFor, stdout)
	}
	lines, err := s.Results(func(out io.Writer) error { return scheduling.Run(ctx, out, s.Options) })
	if err != nil {
		return err
	}
	results, err := report.Read(bytes.NewReader(lines), "the results")
	if err != nil {
		return err
	}
	if s.Docs != "" {
		if err := results.RewriteScheduler(s.Docs); err != nil {
			return err
		}
	}
	switch s.Format {
	case "json":
		return results.JSON(stdout)
	case "go":
		_, err = stdout.Write(lines)
		return err
	}
	return results.SchedulerTable(stdout)
}
