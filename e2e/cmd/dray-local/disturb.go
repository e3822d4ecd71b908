package main

import (
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/dray-dev/dray/e2e/localcluster"
)

// Commands that disturb a cluster that runs.

func restartCommand(dir *string) *cobra.Command {
	var kill bool
	command := &cobra.Command{
		Use:   "restart ROLE",
		Short: "End a server and start it again, and return when it is ready",
		Args:  cobra.ExactArgs(1),
	}
	command.Flags().BoolVar(&kill, "kill", false, "end it as a crash would")
	command.RunE = func(command *cobra.Command, args []string) error {
		began := time.Now()
		if err := localcluster.Restart(command.Context(), *dir, localcluster.Role(args[0]), kill); err != nil {
			return err
		}
		_, err := fmt.Fprintf(command.OutOrStdout(), "%s is ready again after %.1f s\n", args[0], time.Since(began).Seconds())
		return err
	}
	return command
}

func updateDriverCommand(dir *string) *cobra.Command {
	return &cobra.Command{
		Use:   "update-driver",
		Short: "Start another process of the driver, and end the old one when it is ready, as a rolling update does",
		Args:  cobra.NoArgs,
		RunE: func(command *cobra.Command, _ []string) error {
			if err := localcluster.UpdateDriver(command.Context(), *dir); err != nil {
				return err
			}
			_, err := fmt.Fprintln(command.OutOrStdout(), "updated")
			return err
		},
	}
}

func nodeCommand(dir *string) *cobra.Command {
	command := &cobra.Command{Use: "node", Short: "Stop a hollow node, or start it again", Args: cobra.NoArgs}
	stop := &cobra.Command{Use: "stop NODE", Args: cobra.ExactArgs(1),
		Short: "Stop a node as if its machine had lost power: it is not ready when its lease is over",
		RunE: func(command *cobra.Command, args []string) error {
			cluster, err := localcluster.Attach(*dir)
			if err != nil {
				return err
			}
			return cluster.StopNode(command.Context(), args[0])
		}}
	start := &cobra.Command{Use: "start NODE", Args: cobra.ExactArgs(1),
		Short: "Start a node that was stopped, and return when it is ready",
		RunE: func(command *cobra.Command, args []string) error {
			cluster, err := localcluster.Attach(*dir)
			if err != nil {
				return err
			}
			return cluster.StartNode(command.Context(), args[0])
		}}
	command.AddCommand(stop, start)
	return command
}
