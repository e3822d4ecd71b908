// Command benchgate counts the work of every family at its gate size and holds
// it to the ranges of bench/gate/ranges.yaml. The last line is the figure:
//
//	gate: 34 of 34 within range
//
// The exit code is 1 if a count is out of range. With -update it sets ranges anew
// in the file that is named; rows that it changes lose their commit, which whoever
// knows why they changed has to set again. With -print it writes what it counts
// in the form of that file.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"

	"github.com/dray-dev/dray/bench/family"
	"github.com/dray-dev/dray/bench/gate"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	switch {
	case errors.Is(err, flag.ErrHelp):
	case errors.Is(err, errOutOfRange):
		os.Exit(1)
	case err != nil:
		fmt.Fprintf(os.Stderr, "benchgate: %v\n", err)
		os.Exit(2)
	}
}

// errOutOfRange says that the gate is closed; what is wrong is printed already.
var errOutOfRange = errors.New("counts are out of range")

func run(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	flags := flag.NewFlagSet("benchgate", flag.ContinueOnError)
	flags.SetOutput(stderr)
	file := flags.String("ranges", "", "a `file` of ranges instead of the repository's")
	update := flags.String("update", "", "set what is out of range in this `file` instead of checking it")
	show := flags.Bool("print", false, "write what is counted instead of checking it")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if *show {
		return printCounts(ctx, stdout)
	}
	if *update != "" {
		return updateRanges(ctx, *update)
	}
	entries, err := ranges(*file)
	if err != nil {
		return err
	}
	findings, err := gate.Check(ctx, entries)
	if err != nil {
		return err
	}
	for _, f := range findings {
		fmt.Fprintln(stdout, f)
	}
	total := len(family.All())
	fmt.Fprintf(stdout, "gate: %d of %d within range\n", total-len(findings), total)
	if len(findings) > 0 {
		return errOutOfRange
	}
	return nil
}

func ranges(file string) ([]gate.Entry, error) {
	if file == "" {
		return gate.CheckedIn()
	}
	content, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("read the ranges: %w", err)
	}
	return gate.Parse(content)
}

func updateRanges(ctx context.Context, file string) error {
	content, err := os.ReadFile(file)
	if err != nil {
		return fmt.Errorf("read the ranges: %w", err)
	}
	updated, err := gate.Update(ctx, content)
	if err != nil {
		return err
	}
	return os.WriteFile(file, updated, 0o644)
}

func printCounts(ctx context.Context, stdout io.Writer) error {
	for _, f := range family.All() {
		c := f.Case(f.Gate)
		counted, err := gate.Count(ctx, c)
		if err != nil {
			return fmt.Errorf("count %s: %w", c.Name(), err)
		}
		fmt.Fprintf(stdout, "- case: %s\n  steps: %d\n  first-cel-evals: %d\n  cel-evals: %d\n  allocs: %s\n  commit: \n  why: \n",
			c.Name(), counted.Steps, counted.FirstEvaluations, counted.Evaluations, gate.WithSlack(counted.Allocations))
	}
	return nil
}
