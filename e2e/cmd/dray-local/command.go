package main

import (
	"os"
	"path/filepath"

	"github.com/spf13/cobra"
)

// newCommand is dray-local without the roles, which are not for people.
func newCommand() *cobra.Command {
	command := &cobra.Command{
		Use:           "dray-local",
		Short:         "Run a Kubernetes cluster with Dray in processes on this machine",
		SilenceUsage:  true,
		SilenceErrors: true,
	}
	dir := command.PersistentFlags().String("dir", defaultDir(), "folder of the cluster; if not given, $"+dirVariable+", or else .dray-local in your home")
	command.AddCommand(upCommand(dir), downCommand(dir), statusCommand(dir), kubeconfigCommand(dir), logsCommand(dir), explainCommand(dir),
		restartCommand(dir), updateDriverCommand(dir), nodeCommand(dir))
	return command
}

// dirVariable names the folder of the cluster for a whole terminal.
const dirVariable = "DRAY_LOCAL"

// defaultDir is short, because of the sockets that are in it.
func defaultDir() string {
	if dir := os.Getenv(dirVariable); dir != "" {
		return dir
	}
	if home, err := os.UserHomeDir(); err == nil {
		return filepath.Join(home, ".dray-local")
	}
	return filepath.Join(os.TempDir(), "dray-local")
}
