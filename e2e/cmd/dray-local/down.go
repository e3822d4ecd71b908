package main

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/dray-dev/dray/e2e/localcluster"
)

func downCommand(dir *string) *cobra.Command {
	var remove bool
	command := &cobra.Command{
		Use:   "down",
		Short: "End the cluster, as Ctrl-C would; its data stays",
		Args:  cobra.NoArgs,
	}
	command.Flags().BoolVar(&remove, "delete", false, "remove the folder with the data as well, whether or not the cluster runs")
	command.RunE = func(command *cobra.Command, _ []string) error {
		err := localcluster.End(command.Context(), *dir)
		if err != nil && !(remove && errors.Is(err, localcluster.ErrNoCluster)) {
			return err
		}
		said := "down"
		if remove {
			if err := localcluster.Remove(*dir); err != nil {
				return err
			}
			said = "removed"
		}
		_, err = fmt.Fprintln(command.OutOrStdout(), said)
		return err
	}
	return command
}
