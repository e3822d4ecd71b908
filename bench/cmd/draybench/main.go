// Command draybench measures Dray's allocator beside upstream's:
//
//	draybench                           # everything, in some minutes; tables on stdout
//	draybench -run '^F9/' -n 20         # some cases, more often
//	draybench -out results.txt -o json  # Go benchmark lines to a file, JSON on stdout
//	draybench -from results.txt         # the tables of an earlier run
//	draybench -docs docs/benchmarks.md  # rewrites the generated part of a document
//	draybench -profile DIR -run '^F9/g=8$'
//
// Progress goes to stderr. The exit code is 0 if everything was measured and
// all implementations agreed on every answer, 2 for wrong usage, else 1.
package main

import (
	"bytes"
	"context"
	"flag"
	"io"
	"os"
	"os/signal"
	"regexp"
	"strings"
	"time"

	"github.com/dray-dev/dray/bench/contender"
	"github.com/dray-dev/dray/bench/output"
	"github.com/dray-dev/dray/bench/report"
	"github.com/dray-dev/dray/bench/runner"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	os.Exit(output.Code("draybench", err, os.Stderr))
}

// settings are the flags.
type settings struct {
	runner.Options
	output.Settings
	profileDir string
	profileFor time.Duration
}

func parse(args []string, stderr io.Writer) (s settings, err error) {
	flags := flag.NewFlagSet("draybench", flag.ContinueOnError)
	flags.SetOutput(stderr)
	match := flags.String("run", "", "measure only cases whose name matches this `regexp`, as F3/n=16/c=4")
	implementations := flags.String("impl", "", "measure only these implementations, a comma between them: dray, incubating, experimental")
	flags.IntVar(&s.Rounds, "n", 10, "samples of each implementation of each case")
	flags.DurationVar(&s.Sample, "sample", 50*time.Millisecond, "how long a sample takes about")
	flags.DurationVar(&s.Limit, "limit", 2*time.Second, "give up an operation after that")
	flags.BoolVar(&s.Quick, "quick", false, "small sizes and two short samples: to see that it works, not to quote")
	s.AddFlags(flags)
	flags.StringVar(&s.profileDir, "profile", "", "write profiles into this `directory` instead of measuring")
	flags.DurationVar(&s.profileFor, "profile-time", 3*time.Second, "how long each profile takes")
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
		return s, output.Usagef("-limit is how long an operation may take, more than 0, not %v: nothing ends in no time", s.Limit)
	}
	if s.Match, err = regexp.Compile(*match); err != nil {
		return s, output.Usagef("-run: %w", err)
	}
	s.Progress = stderr
	s.Contenders, err = contenders(*implementations)
	return s, err
}

func contenders(names string) ([]contender.Contender, error) {
	if names == "" {
		return contender.All(), nil
	}
	var chosen []contender.Contender
	for _, name := range strings.Split(names, ",") {
		known := len(chosen)
		for _, c := range contender.All() {
			if c.Name() == name {
				chosen = append(chosen, c)
			}
		}
		if len(chosen) == known {
			return nil, output.Usagef("-impl: there is no implementation %q", name)
		}
	}
	return chosen, nil
}

func run(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	s, err := parse(args, stderr)
	if err != nil {
		return err
	}
	if s.profileDir != "" {
		return recordProfiles(ctx, s, stdout)
	}
	lines, err := s.Results(func(out io.Writer) error { return runner.Run(ctx, out, s.Options) })
	if err != nil {
		return err
	}
	results, err := report.Read(bytes.NewReader(lines), "the results")
	if err != nil {
		return err
	}
	if s.Docs != "" {
		if err := results.RewriteAllocator(s.Docs); err != nil {
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
	return results.Table(stdout)
}
