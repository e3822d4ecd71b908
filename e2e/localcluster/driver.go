package localcluster

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/dray-dev/dray/kubeletplugin/publish"
)

// DriverOptions say how the driver runs on the nodes. They are kept in the folder.
type DriverOptions struct {
	// Name of the DRA driver; gpu.dray.dev if empty.
	Name string `json:"name,omitempty"`
	// MIG is off, static or dynamic, which it is if empty: how partitions of GPUs are
	// published.
	MIG string `json:"mig,omitempty"`
	// Evict has the pods of devices that break evicted.
	Evict bool `json:"evict,omitempty"`
	// ExtendedResources are those of DeviceClasses, by class.
	ExtendedResources map[string]string `json:"extendedResources,omitempty"`
}

var migModes = map[string]publish.MIGMode{
	"": publish.MIGDynamic, "off": publish.MIGOff, "static": publish.MIGStatic, "dynamic": publish.MIGDynamic}

// setDriver takes new options, unless there are none.
func (s *state) setDriver(options *DriverOptions) error {
	if options == nil {
		return nil
	}
	if _, ok := migModes[options.MIG]; !ok {
		return fmt.Errorf("partitions are to be published as %q: it can be off, static or dynamic", options.MIG)
	}
	// A name of a class that does not exist is found before anything is started.
	if _, err := publish.DeviceClasses(options.publish()); err != nil {
		return err
	}
	s.Driver = *options
	return nil
}

func (o *DriverOptions) name() string {
	if o.Name == "" {
		return publish.DrayDrivers().GPU
	}
	return o.Name
}

// publish is the same for the builder of slices and classes.
func (o *DriverOptions) publish() publish.Options {
	drivers := publish.DrayDrivers()
	drivers.GPU, drivers.AMDGPU = o.name(), o.name()
	features := publish.DefaultFeaturesOf(publish.NewestMinor)
	return publish.Options{Drivers: drivers, Simulated: true, MIG: migModes[o.MIG],
		ExtendedResources: o.ExtendedResources, Features: features}
}

func (c *Cluster) driverName() string { return c.state.Driver.name() }

// DriverName is the name of the DRA driver on the nodes.
func (c *Cluster) DriverName() string { return c.driverName() }

// driverFlags run the driver of all nodes in one process. On each node it has
// credentials of its own, which are bound to the Node object.
func driverFlags(ctx context.Context, c *Cluster) ([]string, error) {
	if err := c.setUpDriver(ctx); err != nil {
		return nil, err
	}
	if err := c.writeDriverTokens(ctx, c.nodes); err != nil {
		return nil, err
	}
	c.mu.Lock()
	alone := c.children[Driver] == nil
	c.driverRuns++
	uid := strconv.Itoa(c.driverRuns)
	c.mu.Unlock()
	if alone {
		if err := c.removeSockets(); err != nil {
			return nil, err
		}
	}
	return c.driverArguments(uid), nil
}

// driverArguments are those of the process whose pod has the UID.
func (c *Cluster) driverArguments(uid string) []string {
	mig := c.state.Driver.MIG
	if mig == "" {
		mig = "dynamic"
	}
	flags := []string{
		"--kubeconfig=" + c.dir.node("{node}", "driver.yaml"),
		"--driver-name=" + c.driverName(),
		"--dir=" + c.dir.path("hw"),
		"--kubelet-root=" + c.dir.node("{node}", ""),
		"--cdi-root=" + c.dir.node("{node}", "cdi"),
		// Each process stands for the driver's pod of another update.
		"--pod-uid=" + uid,
		"--mig=" + mig,
		"--kube-api-qps=50", "--kube-api-burst=100",
		"--poll-interval=" + pollInterval(len(c.nodes)).String(),
		// They would listen on every address.
		"--healthcheck-port=0", "--metrics-port=0",
		"-v=2",
	}
	if c.state.Driver.Evict {
		flags = append(flags, "--evict")
	}
	return flags
}

// pollInterval is how often each node's hardware is looked at: as often as on a real
// node, unless there are so many that looking would keep the process busy.
func pollInterval(nodes int) time.Duration {
	const usual, perNode = 500 * time.Millisecond, 150 * time.Millisecond
	return max(usual, time.Duration(nodes)*perNode)
}

// removeSockets removes those of drivers that were killed. Nobody else does: a driver
// knows its own only.
func (c *Cluster) removeSockets() error {
	for _, node := range c.nodes {
		for _, pattern := range []string{"plugins_registry/*.sock", "plugins/" + c.driverName() + "/*.sock"} {
			sockets, err := filepath.Glob(c.dir.node(node, pattern))
			if err != nil {
				return err
			}
			for _, socket := range sockets {
				if err := os.Remove(socket); err != nil && !errors.Is(err, fs.ErrNotExist) {
					return err
				}
			}
		}
	}
	return nil
}

// driverUpdate is the name under which the next driver runs beside the present one.
const driverUpdate Role = Driver + "-update"

// UpdateDriver replaces the driver as a DaemonSet does that is updated without a gap:
// another process is started, and when it is ready the old one is ended.
func (c *Cluster) UpdateDriver(ctx context.Context) error {
	if err := c.startAs(ctx, driverUpdate, Driver); err != nil {
		return err
	}
	c.StopRole(Driver)
	c.mu.Lock()
	defer c.mu.Unlock()
	next := c.children[driverUpdate]
	if next == nil {
		return errors.New("the new driver has ended by itself")
	}
	delete(c.children, driverUpdate)
	c.children[Driver] = next
	return nil
}
