package main

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/dray-dev/dray/e2e/localcluster"
)

func statusCommand(dir *string) *cobra.Command {
	return &cobra.Command{
		Use:   "status",
		Short: "Say which servers run and are ready; fails unless all are",
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
