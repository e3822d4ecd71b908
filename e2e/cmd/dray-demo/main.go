// Command dray-demo shows Dray on a cluster of simulated machines: it starts the local
// cluster, runs every example of deploy/examples, and ends with a GPU that breaks.
//
//	main.go      flags and exit codes
//	demo.go      what is shown, in its order
//	scenes.go    what is shown command by command
//	documents.go documents besides the examples, for a test of them
//	cluster.go   the cluster
//	table.go     the table of what pods got
//
// Its exit code is 0 only if everything was as the examples' READMEs say, 1 if not or
// if it could not be shown, and 2 if it was called wrongly.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"
)

// options are the flags.
type options struct {
	dir, binaries, repository string
	only                      []string
	documents                 []string
	seed                      uint64
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop) // the second Ctrl-C does not wait
	code := 0
	command := newCommand(func(ctx context.Context, o options) error { return show(ctx, os.Stdout, o) })
	if err := command.ExecuteContext(ctx); err != nil {
		fmt.Fprintf(os.Stderr, "dray-demo: %v\n", err)
		if code = 1; !command.SilenceErrors {
			code = 2
		}
	}
	stop()
	os.Exit(code)
}

// newCommand is dray-demo; run is called when its flags are right.
func newCommand(run func(context.Context, options) error) *cobra.Command {
	var o options
	command := &cobra.Command{
		Use:          "dray-demo",
		Short:        "Show Dray on a cluster of simulated machines",
		Args:         cobra.NoArgs,
		SilenceUsage: true,
	}
	flags := command.Flags()
	flags.StringVar(&o.dir, "dir", "build/demo", "folder of the cluster; it is emptied first")
	flags.StringVar(&o.binaries, "binaries", "bin", "folder with dray-local, kubectl and hwsim")
	flags.StringVar(&o.repository, "repository", ".", "root of this repository")
	flags.StringSliceVar(&o.only, "only", nil, "examples to run; all if not given")
	flags.StringSliceVar(&o.documents, "document", nil, "also run the commands of a document that is about a cluster like this one, `FILE` from the root of the repository; can be repeated")
	flags.Uint64Var(&o.seed, "seed", 1, "sets the simulated hardware apart")
	command.RunE = func(command *cobra.Command, _ []string) error {
		command.SilenceErrors = true // it was called rightly: what follows is not about flags
		return run(command.Context(), o)
	}
	return command
}
