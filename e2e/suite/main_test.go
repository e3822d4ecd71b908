package suite

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/e2e-framework/pkg/env"
	"sigs.k8s.io/e2e-framework/pkg/envconf"

	"github.com/dray-dev/dray/e2e/localcluster"
	"github.com/dray-dev/dray/hwsim/fleet"
	"github.com/dray-dev/dray/hwsim/machine"
)

// environment is the framework's: its flags, and what is done around each test.
var environment env.Environment

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
	if config.KubeconfigFile() == "" && facts.binary == "" {
		fmt.Println("there is no cluster to run on: give -kubeconfig, or run make e2e-local")
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
	}
	environment = env.NewWithConfig(config)
	environment.Setup(connect)
	environment.BeforeEachTest(makeNamespace)
	environment.AfterEachTest(keepIfFailed, removeNamespace)
	return environment.Run(m)
}

// connect makes the clients. They do not limit the rate of calls.
func connect(ctx context.Context, config *envconf.Config) (context.Context, error) {
	cluster.config = rest.CopyConfig(config.Client().RESTConfig())
	cluster.config.QPS = -1
	var err error
	cluster.client, err = kubernetes.NewForConfig(cluster.config)
	return ctx, err
}

// local is a cluster of the suite's own, in a temporary folder.
type local struct {
	*localcluster.Cluster
	dir string
}

// localMachines are small and differ: GPUs that are whole, and GPUs that can be
// partitioned.
var localMachines = []struct {
	name  string
	count int
}{{"l40s", 3}, {"dgx-h100", 1}}

// pluginResource is one that the nodes have as if by a device plugin.
const pluginResource = "example.com/fpga"

func startLocal() (*local, error) {
	dir, err := os.MkdirTemp("", "de2e") // short, because of sockets
	if err != nil {
		return nil, err
	}
	binary, err := filepath.Abs(facts.binary)
	if err != nil {
		return nil, err
	}
	options := localcluster.Options{Dir: filepath.Join(dir, "c"), Binary: binary,
		Say: func(format string, args ...any) { fmt.Printf(format+"\n", args...) }}
	options.Fleet.Seed = 1
	options.Fleet.Capacity = corev1.ResourceList{pluginResource: resource.MustParse("2")}
	facts.pluginResource = pluginResource
	for _, of := range localMachines {
		m, err := machine.Load(of.name)
		if err != nil {
			return nil, err
		}
		options.Fleet.Machines = append(options.Fleet.Machines, fleet.Count{Machine: m, Count: of.count})
	}
	started, err := localcluster.Start(context.Background(), options)
	if err != nil {
		return nil, err
	}
	return &local{Cluster: started, dir: dir}, nil
}

func (l *local) end() {
	l.Stop()
	_ = os.RemoveAll(l.dir)
}
