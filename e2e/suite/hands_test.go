package suite

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/dray-dev/dray/e2e/localcluster"
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
	// hardware of a simulated node.
	hardware(node string) (*state.Folder, error)
	// Credentials, to see what they are not good for.
	driverConfig(node string) (*rest.Config, error)
	schedulerConfig() (*rest.Config, error)
	// logs copies those of the servers into a folder.
	logs(into string) error
}

// needHands skips a promise that nobody can try here.
func needHands(t *testing.T) hands {
	t.Helper()
	if cluster.hands == nil {
		t.Skip("it takes hands in the cluster, which there are on a local one only")
	}
	return cluster.hands
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

func (l *local) hardware(node string) (*state.Folder, error) { return state.Open(l.Hardware(node)) }

func (l *local) driverConfig(node string) (*rest.Config, error) {
	return clientcmd.BuildConfigFromFlags("", l.DriverKubeconfig(node))
}

func (l *local) schedulerConfig() (*rest.Config, error) {
	return clientcmd.BuildConfigFromFlags("", filepath.Join(filepath.Dir(l.Kubeconfig()), "dray-scheduler.yaml"))
}

func (l *local) logs(into string) error {
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
