// Command chaos-scheduler kills dray-scheduler between its calls to a real API
// server and says whether anything went wrong. Package chaos says what is done and
// what must hold; `make chaos-scheduler` runs it.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"syscall"

	"github.com/spf13/pflag"

	"github.com/dray-dev/dray/e2e/chaos"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintf(os.Stderr, "chaos-scheduler: %v\n", err)
		stop()
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string, out io.Writer) error {
	options := chaos.Defaults()
	flags := pflag.NewFlagSet("chaos-scheduler", pflag.ContinueOnError)
	flags.Uint64Var(&options.Seed, "seed", options.Seed, "seed of all draws")
	flags.IntVar(&options.Kills, "kills", options.Kills, "how often the scheduler is killed at most")
	flags.DurationVar(&options.Duration, "duration", options.Duration, "how long it is killed at most")
	flags.IntVar(&options.Nodes, "nodes", options.Nodes, "number of nodes")
	flags.IntVar(&options.Alive, "pods", options.Alive, "number of pods at a time")
	flags.StringVar(&options.FeatureGates, "feature-gates", "", "features of Kubernetes: nothing for the defaults, all, or a list of Name=true|false")
	flags.IntVar(&options.Verbosity, "scheduler-v", options.Verbosity, "verbosity of the scheduler's log, from 0 to 10")
	flags.StringVar(&options.Dir, "dir", "build/chaos", "folder of the cluster; it is emptied first, and kept if something is wrong")
	flags.StringVar(&options.Binary, "binary", "bin/dray-local", "the program dray-local")
	if err := flags.Parse(args); err != nil {
		return err
	}
	options.Progress = out
	fmt.Fprintf(out, "seed %d\n", options.Seed)
	if err := empty(options.Dir); err != nil {
		return err
	}
	report, err := chaos.Run(ctx, options)
	if err != nil {
		if report != nil {
			fmt.Fprintf(out, "chaos: %s\n", report)
		}
		return fmt.Errorf("%w\nSEED=%d: that was the seed; what happened is in %s/log, chaos.log and dray-scheduler.log above all", err, options.Seed, options.Dir)
	}
	printCounts(out, report)
	fmt.Fprintf(out, "chaos: %s\n", report)
	return os.RemoveAll(options.Dir)
}

// empty removes what an earlier run left, and nothing that is not a cluster's.
func empty(dir string) error {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	} else if err != nil {
		return err
	}
	if len(entries) > 0 {
		if _, err := os.Stat(filepath.Join(dir, "cluster.json")); err != nil {
			return fmt.Errorf("--dir %s is neither empty nor the folder of a cluster: %w", dir, err)
		}
	}
	return os.RemoveAll(dir)
}

func printCounts(out io.Writer, report *chaos.Report) {
	fmt.Fprintf(out, "%d calls of the scheduler, %d allocations, %d versions of claims looked at; %d pods removed whose claim was deleted under them\n",
		report.Calls, report.Allocations, report.Versions, report.Hopeless)
	var names []string
	for name := range report.Faults {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		fmt.Fprintf(out, "%6d times: %s\n", report.Faults[name], name)
	}
}
