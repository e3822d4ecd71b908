package output

import (
	"bytes"
	"context"
	"flag"
	"io"
	"os"
	"os/signal"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/dray-dev/dray/bench/report"
)

// Tool is a command that measures. Its flags, and what becomes of the results, are the
// same whatever it measures.
type Tool struct {
	Name    string
	Example string   // name of a case
	Each    string   // what is compared, in the singular: implementation, plugin
	Names   []string // of those, for -impl
	Sample  time.Duration
	Limit   time.Duration
	// Measure writes results in the Go benchmark format.
	Measure func(ctx context.Context, out io.Writer, s *Selection) error
	// Profile writes profiles into s.ProfileDir, and how to open them.
	Profile func(ctx context.Context, out io.Writer, s *Selection) error
	// Table writes the results for a terminal, and Rewrite into a Markdown file.
	Table   func(results *report.Results, out io.Writer) error
	Rewrite func(results *report.Results, file string) error
}

// Selection is what a tool is to measure, and how long.
type Selection struct {
	Names      []string // those of Tool.Names that are wanted, in its order
	Match      *regexp.Regexp
	Rounds     int
	Sample     time.Duration
	Limit      time.Duration
	Quick      bool
	Progress   io.Writer // for people
	ProfileDir string    // empty: measure
	ProfileFor time.Duration
}

// Main runs the tool and returns its exit code: 0, 2 for wrong usage, else 1.
func (t *Tool) Main() int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	return Code(t.Name, t.Run(ctx, os.Args[1:], os.Stdout, os.Stderr), os.Stderr)
}

// Run is Main with everything that the process gives it.
func (t *Tool) Run(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	settings, selection, err := t.parse(args, stderr)
	if err != nil {
		return err
	}
	if selection.ProfileDir != "" {
		return t.Profile(ctx, stdout, selection)
	}
	lines, err := settings.Results(func(out io.Writer) error { return t.Measure(ctx, out, selection) })
	if err != nil {
		return err
	}
	results, err := report.Read(bytes.NewReader(lines), "the results")
	if err != nil {
		return err
	}
	if settings.Docs != "" {
		if err := t.Rewrite(results, settings.Docs); err != nil {
			return err
		}
	}
	switch settings.Format {
	case "json":
		return results.JSON(stdout)
	case "go":
		_, err = stdout.Write(lines)
		return err
	}
	return t.Table(results, stdout)
}

func (t *Tool) parse(args []string, stderr io.Writer) (*Settings, *Selection, error) {
	s, settings := &Selection{Progress: stderr}, &Settings{}
	flags := flag.NewFlagSet(t.Name, flag.ContinueOnError)
	flags.SetOutput(stderr)
	match := flags.String("run", "", "measure only cases whose name matches this `regexp`, as "+t.Example)
	names := flags.String("impl", "", "measure only this "+t.Each+", or several with a comma between them: "+strings.Join(t.Names, ", "))
	flags.IntVar(&s.Rounds, "n", 10, "samples of each "+t.Each+" of each case")
	flags.DurationVar(&s.Sample, "sample", t.Sample, "how long a sample takes about")
	flags.DurationVar(&s.Limit, "limit", t.Limit, "give up an operation after that")
	flags.BoolVar(&s.Quick, "quick", false, "small sizes and two short samples: to see that it works, not to quote")
	flags.StringVar(&s.ProfileDir, "profile", "", "write profiles into this `directory` instead of measuring")
	flags.DurationVar(&s.ProfileFor, "profile-time", 3*time.Second, "how long each profile takes")
	settings.AddFlags(flags)
	err := settings.Parse(flags, args)
	if err != nil {
		return nil, nil, err
	}
	if s.Quick {
		s.Rounds, s.Sample = 2, time.Millisecond
	}
	if s.Rounds < 1 {
		return nil, nil, Usagef("-n is at least 1, not %d", s.Rounds)
	}
	if s.Limit <= 0 {
		return nil, nil, Usagef("-limit is how long an operation may take, more than 0, not %v: nothing ends in no time", s.Limit)
	}
	if s.Match, err = regexp.Compile(*match); err != nil {
		return nil, nil, Usagef("-run: %w", err)
	}
	s.Names, err = t.choose(*names)
	return settings, s, err
}

func (t *Tool) choose(names string) ([]string, error) {
	if names == "" {
		return t.Names, nil
	}
	wanted := strings.Split(names, ",")
	for _, name := range wanted {
		if !slices.Contains(t.Names, name) {
			return nil, Usagef("-impl: there is no %s %q, but %s", t.Each, name, strings.Join(t.Names, ", "))
		}
	}
	return slices.DeleteFunc(slices.Clone(t.Names), func(name string) bool { return !slices.Contains(wanted, name) }), nil
}
