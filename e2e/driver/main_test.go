package driver_test

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"k8s.io/client-go/kubernetes"

	"github.com/dray-dev/dray/e2e/localcluster"
	"github.com/dray-dev/dray/e2e/localcluster/server"
	"github.com/dray-dev/dray/hwsim/cmd/dray-kubeletplugin-sim/simulated"
	"github.com/dray-dev/dray/kubeletplugin/command"
	"github.com/dray-dev/dray/kubeletplugin/driver"
)

// The environment of a child that is a driver: killBefore is the step that it does
// not live to see, stepsFile where it writes how many steps it has made. With obeysNothing
// it is one that does nothing wrong, whatever the folder of its hardware instructs.
const (
	isDriver   = "DRAY_TEST_DRIVER"
	killBefore = "DRAY_TEST_KILL_BEFORE"
	stepsFile  = "DRAY_TEST_STEPS"

	obeysNothing = "DRAY_TEST_OBEYS_NOTHING"
)

// TestMain lets the test's binary be the servers and the driver as well.
func TestMain(m *testing.M) {
	if len(os.Args) > 2 && os.Args[1] == "role" {
		os.Exit(server.Run(os.Args[2], os.Args[3:]))
	}
	if os.Getenv(isDriver) != "" {
		os.Exit(runDriver())
	}
	code := m.Run()
	stopClusters()
	os.Exit(code)
}

func runDriver() int {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	machine := &simulated.Machine{}
	if file := os.Getenv(stepsFile); file != "" {
		last, _ := strconv.Atoi(os.Getenv(killBefore))
		var taken atomic.Int64
		machine.Step = func(what string) {
			n := taken.Add(1)
			if last > 0 && int(n) > last {
				os.WriteFile(file, []byte("killed before: "+what), 0o600)
				syscall.Kill(os.Getpid(), syscall.SIGKILL)
				select {}
			}
			os.WriteFile(file, []byte(fmt.Sprint(n)), 0o600)
		}
	}
	if os.Getenv(obeysNothing) != "" {
		return command.Run(ctx, "driver", disobedient{machine}, os.Args[1:], os.Stdout, os.Stderr)
	}
	return command.Run(ctx, "driver", machine, os.Args[1:], os.Stdout, os.Stderr)
}

// disobedient is simulated hardware under a driver that obeys no instructions.
type disobedient struct{ *simulated.Machine }

func (d disobedient) Nodes() ([]command.Node, error) {
	nodes, err := d.Machine.Nodes()
	for i := range nodes {
		nodes[i].Interfere, nodes[i].Wrap = driver.Interference{}, nil
	}
	return nodes, err
}

// clusters are API servers with their stores, by feature gates, each for all tests
// that want it.
var clusters struct {
	sync.Mutex
	byGates map[string]*cluster
}

type cluster struct {
	*localcluster.Cluster
	dir string
	err error
}

func startCluster(t testing.TB, gates string) *localcluster.Cluster {
	t.Helper()
	clusters.Lock()
	defer clusters.Unlock()
	c := clusters.byGates[gates]
	if c == nil {
		c = &cluster{}
		if clusters.byGates == nil {
			clusters.byGates = map[string]*cluster{}
		}
		clusters.byGates[gates] = c
		if c.dir, c.err = os.MkdirTemp("", "dray-driver"); c.err == nil {
			c.Cluster, c.err = localcluster.Start(context.Background(), localcluster.Options{Dir: c.dir, FeatureGates: gates,
				Roles: []localcluster.Role{localcluster.Etcd, localcluster.APIServer}})
		}
	}
	if c.err != nil {
		t.Fatal(c.err)
	}
	return c.Cluster
}

func stopClusters() {
	for _, c := range clusters.byGates {
		if c.Cluster != nil {
			c.Stop()
		}
		if c.dir != "" {
			os.RemoveAll(c.dir)
		}
	}
}

func clientOf(t testing.TB, c *localcluster.Cluster) kubernetes.Interface {
	t.Helper()
	config, err := c.Config()
	if err != nil {
		t.Fatal(err)
	}
	config.QPS, config.Burst = 500, 500
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	return client
}
