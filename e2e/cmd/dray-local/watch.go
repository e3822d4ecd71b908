package main

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/dray-dev/dray/e2e/localcluster"
)

func statusCommand(dir *string) *cobra.Command {
	return &cobra.Command{
		Use:   "status",
		Short: "Say which servers and nodes run and are ready; fails unless all servers are",
		Args:  cobra.NoArgs,
		RunE: func(command *cobra.Command, _ []string) error {
			status, err := localcluster.Inspect(command.Context(), *dir)
			if err != nil {
				return err
			}
			printStatus(command.OutOrStdout(), status)
			if !status.Ready() {
				return fmt.Errorf("not every server is ready")
			}
			return nil
		},
	}
}

func printStatus(out io.Writer, status *localcluster.Status) {
	fmt.Fprintf(out, "Kubernetes %s at %s, run by process %d\n", status.Kubernetes, status.Server, status.Owner)
	for _, role := range status.Roles {
		health := "ready"
		if role.Problem != nil {
			health = role.Problem.Error()
		}
		fmt.Fprintf(out, "%-24s %-24s %s\n", role.Role, role.Address, health)
	}
	if status.NodesProblem != nil {
		fmt.Fprintf(out, "nodes: %v\n", status.NodesProblem)
	}
	if len(status.Nodes) == 0 {
		return
	}
	fmt.Fprintf(out, "\n%-24s %-20s %-10s %8s %8s  %s\n", "NODE", "MACHINE", "STATE", "DEVICES", "SLICES", "DRIVERS")
	for _, node := range status.Nodes {
		state := "ready"
		switch {
		case !node.Running:
			state = "stopped"
		case !node.Ready:
			state = "starting"
		case node.Missing > 0:
			state = "publishing"
		}
		fmt.Fprintf(out, "%-24s %-20s %-10s %8d %8d  %s\n", node.Name, node.Machine, state, node.Devices, node.Slices, strings.Join(drivers(node), " "))
	}
}

// drivers of a node by name, each once.
func drivers(node localcluster.NodeStatus) []string {
	return slices.Compact(slices.Sorted(maps.Values(node.Drivers)))
}

func kubeconfigCommand(dir *string) *cobra.Command {
	return &cobra.Command{
		Use:   "kubeconfig",
		Short: "Print the path of the administrator's kubeconfig",
		Args:  cobra.NoArgs,
		RunE: func(command *cobra.Command, _ []string) error {
			path, err := localcluster.KubeconfigIn(*dir)
			if err != nil {
				return err
			}
			_, err = fmt.Fprintln(command.OutOrStdout(), path)
			return err
		},
	}
}
