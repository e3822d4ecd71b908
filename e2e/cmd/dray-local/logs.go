package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/dray-dev/dray/e2e/localcluster"
)

func logsCommand(dir *string) *cobra.Command {
	var follow bool
	var names []string
	for _, of := range localcluster.Roles() {
		names = append(names, string(of))
	}
	command := &cobra.Command{
		Use:       "logs ROLE",
		Short:     "Print what a server has said since the cluster was started",
		Long:      fmt.Sprintf("Print what a server has said since the cluster was started. Roles are %v.", names),
		Args:      cobra.ExactArgs(1),
		ValidArgs: names,
	}
	command.Flags().BoolVarP(&follow, "follow", "f", false, "go on with what it says from now on")
	command.RunE = func(command *cobra.Command, args []string) error {
		path, err := localcluster.LogIn(*dir, localcluster.Role(args[0]))
		if err != nil {
			return err
		}
		return copyLog(command.Context(), command.OutOrStdout(), path, follow)
	}
	return command
}

// logPause is between two looks at a log that is followed.
const logPause = 200 * time.Millisecond

func copyLog(ctx context.Context, out io.Writer, path string, follow bool) error {
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer file.Close()
	for {
		if _, err := io.Copy(out, file); err != nil {
			return err
		}
		if !follow {
			return nil
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(logPause):
		}
	}
}
