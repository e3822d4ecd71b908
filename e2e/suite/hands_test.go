package suite

import (
	"context"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/rest"

	"github.com/dray-dev/dray/e2e/hollow/shown"
	"github.com/dray-dev/dray/hwsim/state"
)

// hands are what can be done to a cluster besides calling its API.
type hands interface {
	// The servers. A restart is a kill and a start.
	restartScheduler(context.Context) error
	restartAPIServer(context.Context) error
	killDriver() error
	startDriver(context.Context) error
	updateDriver(context.Context) error
	// stopNode is as if the machine had lost power.
	stopNode(ctx context.Context, node string) error
	startNode(ctx context.Context, node string) error
	restartKubelet(ctx context.Context, node string) error
	// restartRuntime restarts the container runtime of a node, where there is one.
	restartRuntime(ctx context.Context, node string) error
	// given is what a container has got.
	given(ctx context.Context, pod *corev1.Pod, container string) (shown.Given, error)
	// hollow says that containers have no processes.
	hollow() bool
	// hardware of a simulated node.
	hardware(node string) (*state.Folder, error)
	// Credentials, to see what they are not good for.
	driverConfig(node string) (*rest.Config, error)
	schedulerConfig() (*rest.Config, error)
	// logs copies those of the servers into a folder.
	logs(ctx context.Context, into string) error
}

// needHands skips a promise that nobody can try here.
func needHands(t *testing.T) hands {
	t.Helper()
	if cluster.hands == nil {
		t.Skip("it takes hands in the cluster, which there are on those that the suite makes")
	}
	return cluster.hands
}

// needProcesses skips a promise about processes in containers, or their runtime.
func needProcesses(t *testing.T) hands {
	t.Helper()
	h := needHands(t)
	if h.hollow() {
		t.Skip("hollow containers have no processes, and no runtime")
	}
	return h
}
