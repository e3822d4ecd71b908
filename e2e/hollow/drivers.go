package hollow

import (
	"context"
	"maps"
	"slices"
	"time"

	"k8s.io/kubernetes/pkg/kubelet/pluginmanager/cache"
)

// registered is the DRA manager's handler of plugins, which takes note of them.
type registered struct {
	cache.PluginHandler
	node *Node
}

// RegisterPlugin implements cache.PluginHandler.
func (r *registered) RegisterPlugin(ctx context.Context, driver, endpoint string, versions []string, timeout *time.Duration) error {
	if err := r.PluginHandler.RegisterPlugin(ctx, driver, endpoint, versions, timeout); err != nil {
		return err
	}
	r.count(driver, 1)
	return nil
}

// DeRegisterPlugin implements cache.PluginHandler.
func (r *registered) DeRegisterPlugin(ctx context.Context, driver, endpoint string) {
	r.PluginHandler.DeRegisterPlugin(ctx, driver, endpoint)
	r.count(driver, -1)
}

func (r *registered) count(driver string, change int) {
	r.node.mu.Lock()
	defer r.node.mu.Unlock()
	r.node.drivers[driver] += change
	if r.node.drivers[driver] <= 0 {
		delete(r.node.drivers, driver)
	}
}

// Drivers are the names of the DRA drivers that have registered, sorted. A driver that
// was killed stays registered while its socket is there.
func (n *Node) Drivers() []string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return slices.Sorted(maps.Keys(n.drivers))
}
