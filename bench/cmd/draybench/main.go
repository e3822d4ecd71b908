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
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"github.com/dray-dev/dray/bench/contender"
	"github.com/dray-dev/dray/bench/report"
	"github.com/dray-dev/dray/bench/runner"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	var usage usageError
	switch {
	case errors.Is(err, flag.ErrHelp):
	case errors.As(err, &usage):
		fmt.Fprintf(os.Stderr, "draybench: %v\n", err)
		os.Exit(2)
	case err != nil:
		fmt.Fprintf(os.Stderr, "draybench: %v\n", err)
		os.Exit(1)
	}
}

// usageError is about the flags.
type usageError struct{ error }

// settings are the flags.
type settings struct {
	runner.Options
	format     string
	out        string
	from       string
	docs       string
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
	flags.StringVar(&s.format, "o", "table", "what goes to stdout: table, json, or go for the Go benchmark format")
	flags.StringVar(&s.out, "out", "", "write the results in the Go benchmark format to this `file` as they come")
	flags.StringVar(&s.from, "from", "", "read this `file` of results instead of measuring")
	flags.StringVar(&s.docs, "docs", "", "rewrite the generated part of this Markdown `file`")
	flags.StringVar(&s.profileDir, "profile", "", "write profiles into this `directory` instead of measuring")
	flags.DurationVar(&s.profileFor, "profile-time", 3*time.Second, "how long each profile takes")
	if err := flags.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			return s, err
		}
		return s, usageError{err}
	}
	if flags.NArg() > 0 {
		return s, usageError{fmt.Errorf("there are no arguments, but got %q", flags.Args())}
	}
	if s.Quick {
		s.Rounds, s.Sample = 2, time.Millisecond
	}
	if s.format != "table" && s.format != "json" && s.format != "go" {
		return s, usageError{fmt.Errorf("-o is table, json or go, not %q", s.format)}
	}
	if s.Rounds < 1 {
		return s, usageError{fmt.Errorf("-n is at least 1, not %d", s.Rounds)}
	}
	if s.Limit <= 0 {
		return s, usageError{fmt.Errorf("-limit is how long an operation may take, more than 0, not %v: nothing ends in no time", s.Limit)}
	}
	if s.Match, err = regexp.Compile(*match); err != nil {
		return s, usageError{fmt.Errorf("-run: %w", err)}
	}
	if s.Contenders, err = contenders(*implementations); err != nil {
		return s, usageError{err}
	}
	s.Progress = stderr
	return s, nil
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
			return nil, fmt.Errorf("-impl: there is no implementation %q", name)
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
	lines, err := s.results(ctx)
	if err != nil {
		return err
	}
	results, err := report.Read(bytes.NewReader(lines), "the results")
	if err != nil {
		return err
	}
	if s.docs != "" {
		if err := results.Rewrite(s.docs); err != nil {
			return err
		}
	}
	switch s.format {
	case "json":
		return results.JSON(stdout)
	case "go":
		_, err = stdout.Write(lines)
		return err
	}
	return results.Table(stdout)
}

// results measures, or reads what was measured before.
func (s *settings) results(ctx context.Context) ([]byte, error) {
	if s.from != "" {
		return os.ReadFile(s.from)
	}
	var lines bytes.Buffer
	if s.out == "" {
		err := runner.Run(ctx, &lines, s.Options)
		return lines.Bytes(), err
	}
	if err := os.MkdirAll(filepath.Dir(s.out), 0o755); err != nil {
		return nil, fmt.Errorf("make the directory of the results: %w", err)
	}
	file, err := os.Create(s.out)
	if err != nil {
		return nil, fmt.Errorf("create the file of results: %w", err)
	}
	err = runner.Run(ctx, io.MultiWriter(file, &lines), s.Options)
	if closeErr := file.Close(); err == nil && closeErr != nil {
		err = fmt.Errorf("write the results: %w", closeErr)
	}
	return lines.Bytes(), err
}
