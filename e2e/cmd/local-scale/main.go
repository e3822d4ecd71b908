// Command local-scale starts a local cluster of many hollow nodes, runs pods with
// claims on it, and says how long that took and how much memory each role needed at
// most.
//
//	local-scale --binary bin/dray-local --nodes 100 --pods 200
//
// The last line is the figure; the exit code is 1 if a pod did not run.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	var o options
	command := &cobra.Command{Use: "local-scale", Short: "Measure a local cluster of many hollow nodes", Args: cobra.NoArgs, SilenceUsage: true, SilenceErrors: true,
		RunE: func(command *cobra.Command, _ []string) error { return o.run(command.Context(), command.OutOrStdout()) }}
	flags := command.Flags()
	flags.StringVar(&o.binary, "binary", "bin/dray-local", "the program dray-local")
	flags.StringVar(&o.machine, "machine", "dgx-h100", "machine of the nodes")
	flags.StringVar(&o.mig, "mig", "off", "partitions of GPUs: off, static or dynamic")
	flags.IntVar(&o.nodes, "nodes", 100, "how many nodes")
	flags.IntVar(&o.pods, "pods", 200, "how many pods, with a claim of one GPU each")
	flags.DurationVar(&o.limit, "limit", defaultLimit, "how long the pods may take")
	if err := command.ExecuteContext(ctx); err != nil {
		fmt.Fprintf(os.Stderr, "local-scale: %v\n", err)
		stop()
		os.Exit(1)
	}
}
