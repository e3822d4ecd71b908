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
)

// The environment of a child that is a driver: killBefore is the step that it does
// not live to see, stepsFile where it writes how many steps it has made.
const (
	isDriver   = "DRAY_TEST_DRIVER"
	killBefore = "DRAY_TEST_KILL_BEFORE"
	stepsFile  = "DRAY_TEST_STEPS"
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
	stopCluster()
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
	return command.Run(ctx, "driver", machine, os.Args[1:], os.Stdout, os.Stderr)
}

// cluster is an API server with its store, for all tests.
var cluster struct {
	sync.Once
	*localcluster.Cluster
	dir string
	err error
}

func startCluster(t testing.TB) *localcluster.Cluster {
	t.Helper()
	cluster.Do(func() {
		if cluster.dir, cluster.err = os.MkdirTemp("", "dray-driver"); cluster.err == nil {
			cluster.Cluster, cluster.err = localcluster.Start(context.Background(), localcluster.Options{Dir: cluster.dir,
				Roles: []localcluster.Role{localcluster.Etcd, localcluster.APIServer}})
		}
	})
	if cluster.err != nil {
		t.Fatal(cluster.err)
	}
	return cluster.Cluster
}

func stopCluster() {
	if cluster.Cluster != nil {
		cluster.Stop()
	}
	if cluster.dir != "" {
		os.RemoveAll(cluster.dir)
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
