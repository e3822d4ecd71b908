package suite

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/dray-dev/dray/e2e/hollow/shown"
	"github.com/dray-dev/dray/e2e/localcluster"
	"github.com/dray-dev/dray/hwsim/fleet"
	"github.com/dray-dev/dray/hwsim/machine"
	"github.com/dray-dev/dray/hwsim/state"
)

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

func (l *local) restart(ctx context.Context, of localcluster.Role) error {
	if err := l.Kill(of); err != nil {
		return err
	}
	return l.StartRole(ctx, of)
}

func (l *local) restartScheduler(ctx context.Context) error {
	return l.restart(ctx, localcluster.Scheduler)
}

func (l *local) restartAPIServer(ctx context.Context) error {
	return l.restart(ctx, localcluster.APIServer)
}

func (l *local) killDriver() error { return l.Kill(localcluster.Driver) }

func (l *local) startDriver(ctx context.Context) error {
	return l.StartRole(ctx, localcluster.Driver)
}

func (l *local) updateDriver(ctx context.Context) error { return l.UpdateDriver(ctx) }

func (l *local) stopNode(ctx context.Context, node string) error { return l.StopNode(ctx, node) }

func (l *local) startNode(ctx context.Context, node string) error { return l.StartNode(ctx, node) }

// A hollow node that is started again is as its kubelet alone.
func (l *local) restartKubelet(ctx context.Context, node string) error {
	if err := l.StopNode(ctx, node); err != nil {
		return err
	}
	return l.StartNode(ctx, node)
}

func (l *local) restartRuntime(context.Context, string) error {
	return errors.New("hollow nodes have no container runtime")
}

func (l *local) given(_ context.Context, pod *corev1.Pod, container string) (shown.Given, error) {
	return shownOf(pod, container)
}

func (l *local) hollow() bool { return true }

func (l *local) hardware(node string) (*state.Folder, error) { return state.Open(l.Hardware(node)) }

func (l *local) driverConfig(node string) (*rest.Config, error) {
	return clientcmd.BuildConfigFromFlags("", l.DriverKubeconfig(node))
}

func (l *local) schedulerConfig() (*rest.Config, error) {
	return clientcmd.BuildConfigFromFlags("", filepath.Join(filepath.Dir(l.Kubeconfig()), "dray-scheduler.yaml"))
}

func (l *local) logs(_ context.Context, into string) error {
	for _, of := range localcluster.Roles() {
		content, err := os.ReadFile(l.Log(of))
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(into, string(of)+".log"), content, 0o600); err != nil {
			return err
		}
	}
	return nil
}
