// Package server is what the children of a local cluster run: each role is the
// program of that name, linked into this one, with its own flags.
//
//	server.Run("kube-apiserver", flags)    runs it until it ends
//
// One a process. The programs register signal handlers, configurations and metrics
// with the process when they are made, so only the one that runs is made.
package server

import (
	"fmt"
	"os"
	"slices"

	"github.com/spf13/cobra"
	"k8s.io/component-base/cli"
	_ "k8s.io/component-base/logs/json/register"
	_ "k8s.io/component-base/metrics/prometheus/clientgo"
	_ "k8s.io/component-base/metrics/prometheus/version"

	"github.com/dray-dev/dray/e2e/localcluster"
)

// runners make and run the programs. Each returns the exit code.
var runners = map[localcluster.Role]func(flags []string) int{
	localcluster.Etcd:              runEtcd,
	localcluster.APIServer:         runCommand(apiserverCommand),
	localcluster.ControllerManager: runCommand(controllerCommand),
	localcluster.Scheduler:         runCommand(schedulerCommand),
	localcluster.HollowNodes:       runCommand(hollowCommand),
	localcluster.Driver:            runDriver,
}

// Run runs a role with the flags of its program and returns its exit code.
func Run(role string, flags []string) int {
	run, ok := runners[localcluster.Role(role)]
	if !ok {
		fmt.Fprintf(os.Stderr, "no role is named %q; there are %v\n", role, localcluster.Roles())
		return 2
	}
	return run(slices.Clone(flags))
}

// runCommand runs a program of Kubernetes as its own main does.
func runCommand(make func() *cobra.Command) func([]string) int {
	return func(flags []string) int {
		command := make()
		command.SetArgs(flags)
		return cli.Run(command)
	}
}
