package hollow

import (
	"context"
	"maps"
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
	r.note(driver, endpoint, true)
	return nil
}

// DeRegisterPlugin implements cache.PluginHandler.
func (r *registered) DeRegisterPlugin(ctx context.Context, driver, endpoint string) {
	r.PluginHandler.DeRegisterPlugin(ctx, driver, endpoint)
	r.note(driver, endpoint, false)
}

func (r *registered) note(driver, endpoint string, is bool) {
	r.node.mu.Lock()
	defer r.node.mu.Unlock()
	if is {
		r.node.drivers[endpoint] = driver
	} else {
		delete(r.node.drivers, endpoint)
	}
}

// Drivers are the DRA drivers that have registered, by the sockets that they serve: of
// one name there are several while one is replaced by the next. A driver that was
// killed stays registered while its socket is there.
func (n *Node) Drivers() map[string]string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return maps.Clone(n.drivers)
}
