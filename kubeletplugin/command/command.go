package command

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime/debug"
	"sync"
	"syscall"

	"github.com/spf13/cobra"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/component-base/logs"
	logsapi "k8s.io/component-base/logs/api/v1"
	_ "k8s.io/component-base/logs/json/register" // --logging-format=json
	"k8s.io/component-base/metrics"
	"k8s.io/klog/v2"

	"github.com/dray-dev/dray/kubeletplugin/driver"
)

// The exit codes.
const (
	exitOK    = 0
	exitError = 1
	exitUsage = 2
)

// errUsage is a mistake in how the command was called.
type errUsage struct{ error }

func (e errUsage) Unwrap() error { return e.error }

// Main runs a binary and returns its exit code. An interrupt or SIGTERM ends it
// gracefully: calls that run are finished, sockets are removed, slices stay.
func Main(name string, machine Machine) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	return Run(ctx, name, machine, os.Args[1:], os.Stdout, os.Stderr)
}

// Run is Main with everything given.
func Run(ctx context.Context, name string, machine Machine, args []string, stdout, stderr io.Writer) int {
	c := newCommand(name, machine, &Flags{})
	c.SetArgs(args)
	c.SetOut(stdout)
	c.SetErr(stderr)
	err := c.ExecuteContext(ctx)
	logs.FlushLogs()
	if err == nil {
		return exitOK
	}
	fmt.Fprintf(stderr, "%s: %v\n", name, err)
	if usage := (errUsage{}); errors.As(err, &usage) {
		fmt.Fprintf(stderr, "See '%s --help'.\n", name)
		return exitUsage
	}
	return exitError
}

// CheckArguments fails for what a binary would refuse at once, of its command line and of
// its environment, if its machine has so many nodes. It opens nothing. It is for tests of
// those that start a binary.
func CheckArguments(machine Machine, nodes int, args []string, variables map[string]string) error {
	var f Flags
	set := newCommand("", machine, &f).Flags()
	if err := set.Parse(args); err != nil {
		return err
	}
	if set.NArg() > 0 {
		return fmt.Errorf("there are arguments that are no flags: %q", set.Args())
	}
	lookup := func(name string) (string, bool) { value, ok := variables[name]; return value, ok }
	if err := fromEnvironment(set, lookup); err != nil {
		return err
	}
	return f.check(machine.Simulated(), nodes)
}

func newCommand(name string, machine Machine, f *Flags) *cobra.Command {
	logging := logsapi.NewLoggingConfiguration()
	c := &cobra.Command{
		Use:   name,
		Short: "DRA driver for GPUs",
		Long: name + " is a driver of Dynamic Resource Allocation: it publishes the GPUs of a\n" +
			"node and their partitions, and prepares those that claims are given. Each flag\n" +
			"can be set by the environment variable in brackets.\n\n" +
			"Verbosity -v: 0 what went wrong and what changed for good, 2 each claim and each\n" +
			"publication, 4 hardware that cannot be read, 6 requests and answers of the kubelet.",
		Version: version(),
		Args: func(c *cobra.Command, args []string) error {
			if err := cobra.NoArgs(c, args); err != nil {
				return errUsage{err}
			}
			return nil
		},
		SilenceErrors: true, SilenceUsage: true,
		PreRunE: func(c *cobra.Command, _ []string) error {
			if err := fromEnvironment(c.Flags(), environment); err != nil {
				return errUsage{err}
			}
			return nil
		},
		RunE: func(c *cobra.Command, _ []string) error {
			if err := logsapi.ValidateAndApply(logging, nil); err != nil {
				return errUsage{err}
			}
			return f.run(c.Context(), machine)
		},
	}
	c.SetVersionTemplate("{{.Name}} {{.Version}}\n")
	c.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return errUsage{err} })
	c.Flags().Bool("version", false, "print the version and end") // before a library adds its own
	f.add(c.Flags())
	machine.Flags(c.Flags())
	logsapi.AddFlags(logging, c.Flags())
	c.Flags().SortFlags = true
	nameVariables(c.Flags())
	return c
}

// version is that of the module, as the build knows it.
func version() string {
	if info, ok := debug.ReadBuildInfo(); ok {
		return info.Main.Version + " " + info.GoVersion
	}
	return "unknown"
}

func (f *Flags) run(outer context.Context, machine Machine) error {
	nodes, err := machine.Nodes()
	if err != nil {
		return err
	}
	if err := f.check(machine.Simulated(), len(nodes)); err != nil {
		return errUsage{err}
	}
	registry := metrics.NewKubeRegistry()
	counted := driver.NewMetrics(registry)
	counted.Begin(f.DriverName)
	drivers := make([]*running, len(nodes))
	for i, node := range nodes {
		config, err := f.config(node.Name)
		if err != nil {
			return err
		}
		if drivers[i], err = newRunning(f, config, node, machine.Simulated(), counted); err != nil {
			return err
		}
	}
	ctx, fail := context.WithCancelCause(outer)
	defer fail(nil)
	var group sync.WaitGroup
	start := func(what func() error) {
		group.Go(func() {
			if err := what(); err != nil {
				fail(err)
			}
		})
	}
	for _, d := range drivers {
		start(func() error { return d.run(ctx) })
	}
	if f.MetricsPort > 0 {
		start(func() error { return serveMetrics(ctx, f.MetricsPort, registry) })
	}
	if f.HealthPort > 0 {
		start(func() error { return serveHealth(ctx, f.HealthPort, drivers) })
	}
	group.Wait()
	if outer.Err() == nil {
		return context.Cause(ctx)
	}
	klog.FromContext(ctx).Info("Stopped")
	return nil
}

// config is how the driver of a node reaches the API server.
func (f *Flags) config(node string) (*rest.Config, error) {
	config, err := clientcmd.BuildConfigFromFlags("", here(f.Kubeconfig, node))
	if err != nil {
		return nil, fmt.Errorf("how to reach the API server (--kubeconfig): %w", err)
	}
	config.QPS, config.Burst = f.QPS, f.Burst
	return config, nil
}
