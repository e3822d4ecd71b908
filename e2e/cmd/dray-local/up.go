package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/dray-dev/dray/e2e/localcluster"
)

func upCommand(dir *string) *cobra.Command {
	var options localcluster.Options
	var nodes fleetFlags
	command := &cobra.Command{
		Use:   "up",
		Short: "Start the cluster, new or as it was left, and run it until Ctrl-C",
		Long: "Start the cluster, new or as it was left, and run it until Ctrl-C.\n\n" +
			"With --machine it has nodes: hollow ones, which run no containers, each with the\n" +
			"hardware of a simulated machine in DIR/hw/NODE and the driver that serves it.\n" +
			"Nodes, and how the driver runs, are kept in the folder.",
		Example: "  # two nodes of eight H100s, and four of four L40S\n" +
			"  dray-local up --machine dgx-h100=2 --machine l40s=4\n\n" +
			"  # extended resources, one by DRA and one as a device plugin would have it\n" +
			"  dray-local up --machine dgx-h100 --extended-resource gpu.dray.dev=nvidia.com/gpu --capacity example.com/fpga=2",
		Args: cobra.NoArgs,
	}
	flags := command.Flags()
	nodes.add(flags)
	flags.IntVar(&options.Port, "port", 0, "port of the API server; 0 is the one it had, or any that is free")
	flags.StringVar(&options.FeatureGates, "feature-gates", "",
		"features of Kubernetes: nothing for the defaults, "+localcluster.AllGates+" for every alpha and beta one, or a list of Name=true|false")
	flags.StringVar(&options.RuntimeConfig, "runtime-config", "", "APIs to serve besides the default ones, as kube-apiserver takes them")
	flags.StringSliceVar(&options.Controllers, "controllers", localcluster.DefaultControllers(), "controllers of the controller manager; node-lifecycle-controller taints nodes that have no kubelet after a while, and without it new nodes keep the taint not-ready until somebody removes it")
	flags.StringVar(&options.SchedulerConfig, "scheduler-config", "", "configuration of dray-scheduler in place of the one that Dray ships; explanations are served on a free port unless it says explainAddress")
	flags.BoolVar(&options.LeaderElection, "leader-elect", false, "let the scheduler take its lease")
	command.RunE = func(command *cobra.Command, _ []string) error {
		ctx, out := command.Context(), command.OutOrStdout()
		began := time.Now()
		options.Dir = *dir
		if err := nodes.apply(&options); err != nil {
			return err
		}
		if err := errors.Join(localcluster.CheckSockets(*dir), localcluster.CheckWatches(localcluster.ServerWatches)); err != nil {
			return err
		}
		options.Say = func(format string, args ...any) { fmt.Fprintf(out, format+"\n", args...) }
		cluster, err := localcluster.Start(ctx, options)
		if err != nil {
			return err
		}
		if names := cluster.NodeNames(); len(names) > 0 {
			fmt.Fprintf(out, "%d nodes, from %s to %s; hardware is in %s\n", len(names), names[0], names[len(names)-1], filepath.Dir(cluster.Hardware(names[0])))
		}
		fmt.Fprintf(out, "up after %.1f s: export KUBECONFIG=%s\n", time.Since(began).Seconds(), cluster.Kubeconfig())
		controlled, endControl := context.WithCancel(ctx)
		control := make(chan error, 1)
		go func() {
			control <- cluster.ServeControl(controlled)
			close(control)
		}()
		select {
		case <-ctx.Done():
		case err = <-control:
		case err = <-cluster.Exited():
		}
		fmt.Fprintln(out, "stopping")
		endControl()
		for range control { // nothing is started any more
		}
		cluster.Stop()
		return err
	}
	return command
}
