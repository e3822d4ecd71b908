package command

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/spf13/pflag"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"

	"github.com/dray-dev/dray/kubeletplugin/driver"
	"github.com/dray-dev/dray/kubeletplugin/hardware"
	"github.com/dray-dev/dray/kubeletplugin/prepare/nvidia"
	"github.com/dray-dev/dray/kubeletplugin/publish"
	"github.com/dray-dev/dray/kubeletplugin/watch"
	watchnvidia "github.com/dray-dev/dray/kubeletplugin/watch/nvidia"
)

// Machine is the hardware that a binary drives.
type Machine interface {
	// Simulated says whether there is none.
	Simulated() bool
	// Flags adds those that say where it is.
	Flags(set *pflag.FlagSet)
	// Nodes opens what the flags name.
	Nodes() ([]Node, error)
}

// Node is one node's hardware.
type Node struct {
	Name string
	Host hardware.Host
	GPUs hardware.GPULibrary
	// DriverRoot is where the files of NVIDIA's driver are (nvidia.Options).
	DriverRoot string
	// Clock, Interfere and Wrap are for simulations. Wrap is around the requests of this
	// node's driver.
	Clock     driver.Clock
	Interfere driver.Interference
	Wrap      func(http.RoundTripper) http.RoundTripper
	// Step is for tests (driver.Options).
	Step func(what string)
}

// running is the driver of a node, which is another one after each boot.
type running struct {
	node    Node
	options driver.Options
	// evict has pods of broken devices evicted.
	evict bool

	mu     sync.Mutex
	driver *driver.Driver
}

func newRunning(f *Flags, config *rest.Config, node Node, simulated bool, metrics *driver.Metrics) (*running, error) {
	config = rest.CopyConfig(config)
	if node.Wrap != nil {
		config.Wrap(node.Wrap)
	}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	r := &running{node: node, evict: f.Evict, options: driver.Options{Name: f.DriverName, Node: node.Name, Client: client, Host: node.Host,
		Publish: f.publish(simulated), Folders: f.folders(node.Name), PodUID: f.podUID(), Clock: node.Clock, PollInterval: f.Poll,
		Metrics: metrics, Interfere: node.Interfere, Step: node.Step}}
	if simulated {
		r.options.Folders.Simulated = r.options.Folders.Plugin + "/simulated"
	}
	return r, nil
}

// boot makes the driver of one boot. A GPU library of which only another process can get
// rid is told to stale.
func (r *running) boot(ctx context.Context, stale func(error)) (*driver.Driver, error) {
	options := r.options
	static := options.Publish.MIG == publish.MIGStatic
	library := newPatient(ctx, r.node.GPUs, clockOf(r.node.Clock))
	library.stale = stale
	options.GPUs = library
	options.Kinds = nvidia.Kinds(nvidia.Options{Library: library, Host: r.node.Host, DriverRoot: r.node.DriverRoot, StaticMIG: static, Step: r.node.Step})
	watcher := watch.Watcher(watchnvidia.New(watchnvidia.Options{Library: library, Clock: clockOf(r.node.Clock)}))
	if r.evict {
		watcher = watch.Evicting(watcher)
	}
	options.Watchers = []watch.Watcher{watcher}
	if !static {
		options.Foreign = nvidia.ForeignDevices
	}
	d, err := driver.New(options)
	if err == nil {
		r.mu.Lock()
		r.driver = d
		r.mu.Unlock()
	}
	return d, err
}

// run drives the node until the context ends. It fails if the process has to be another
// one: what is prepared stays in the checkpoint.
func (r *running) run(outer context.Context) error {
	ctx, fail := context.WithCancelCause(outer)
	defer fail(nil)
	for {
		d, err := r.boot(ctx, fail)
		if err == nil {
			err = d.Run(ctx)
		}
		if err == nil && outer.Err() == nil {
			err = context.Cause(ctx)
		}
		if !errors.Is(err, driver.ErrRebooted) {
			return err
		}
		klog.FromContext(ctx).Info("The driver begins anew", "node", r.node.Name, "reason", err)
	}
}

// healthy fails while there is no driver, or one that does not answer its kubelet.
func (r *running) healthy(ctx context.Context) error {
	d := r.current()
	if d == nil {
		return errors.New("there is no driver yet on " + strings.TrimSpace(r.node.Name))
	}
	return d.Healthy(ctx)
}

// seeing fails while the driver cannot see which hardware there is, and says how long
// that has been so.
func (r *running) seeing() (time.Duration, error) {
	if d := r.current(); d != nil {
		return d.Seeing()
	}
	return 0, nil
}

func (r *running) current() *driver.Driver {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.driver
}
