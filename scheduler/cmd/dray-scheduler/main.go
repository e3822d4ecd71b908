// Command dray-scheduler is kube-scheduler with the plugin DrayDynamicResources in
// place of DynamicResources.
//
// It has all of kube-scheduler's flags and endpoints. Two things differ: it does
// not start with a configuration in which a profile enables DynamicResources, and
// --version says which kube-scheduler it is. docs/scheduler.md says how to run it.
package main

import (
	"os"

	"k8s.io/component-base/cli"
	_ "k8s.io/component-base/logs/json/register"
	_ "k8s.io/component-base/metrics/prometheus/clientgo"
	_ "k8s.io/component-base/metrics/prometheus/version"

	"github.com/dray-dev/dray/scheduler/command"
)

func main() {
	os.Exit(cli.Run(command.New()))
}
