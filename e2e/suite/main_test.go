package suite

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"testing"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/e2e-framework/pkg/env"
	"sigs.k8s.io/e2e-framework/pkg/envconf"
)

// environment is the framework's: its flags, and what is done around each test.
var environment env.Environment

// pluginResource is one that the nodes have as if by a device plugin.
const pluginResource = "example.com/fpga"

// cluster is what all tests share.
var cluster struct {
	config *rest.Config
	client kubernetes.Interface
	hands  hands // nil where the cluster cannot be reached into
}

func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) int {
	config, err := envconf.NewFromFlags() // which parses all flags
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 2
	}
	if config.KubeconfigFile() == "" && facts.binary == "" && facts.kind == "" {
		fmt.Println("there is no cluster to run on: give -kubeconfig, or run make e2e-local or make e2e")
		return 0
	}
	if flag.Lookup("test.list").Value.String() != "" {
		return m.Run()
	}
	if facts.binary != "" {
		local, err := startLocal()
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		defer local.end()
		config.WithKubeconfigFile(local.Kubeconfig())
		cluster.hands = local
	} else if facts.kind != "" {
		made, err := startKind(context.Background())
		if made != nil {
			defer made.end()
			endOnSignal(made.end)
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		config.WithKubeconfigFile(made.Kubeconfig())
		cluster.hands = made
	}
	environment = env.NewWithConfig(config)
	environment.Setup(connect)
	environment.BeforeEachTest(makeNamespace)
	environment.AfterEachTest(keepIfFailed, removeNamespace)
	return environment.Run(m)
}

// endOnSignal ends a cluster whose suite is ended: its nodes would run on.
func endOnSignal(end func()) {
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	go func() {
		<-signals
		end()
		os.Exit(1)
	}()
}

// connect makes the clients. They do not limit the rate of calls.
func connect(ctx context.Context, config *envconf.Config) (context.Context, error) {
	cluster.config = rest.CopyConfig(config.Client().RESTConfig())
	cluster.config.QPS = -1
	var err error
	cluster.client, err = kubernetes.NewForConfig(cluster.config)
	return ctx, err
}
