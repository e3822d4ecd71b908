package driver

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"

	"k8s.io/apimachinery/pkg/runtime/schema"
	metadatav1beta1 "k8s.io/dynamic-resource-allocation/api/metadata/v1beta1"
	"k8s.io/dynamic-resource-allocation/kubeletplugin"
	"k8s.io/klog/v2"

	"github.com/dray-dev/dray/kubeletplugin/cdi"
	"github.com/dray-dev/dray/kubeletplugin/checkpoint"
	"github.com/dray-dev/dray/kubeletplugin/hardware"
	"github.com/dray-dev/dray/kubeletplugin/internal/processlock"
	"github.com/dray-dev/dray/kubeletplugin/prepare"
	"github.com/dray-dev/dray/kubeletplugin/publish"
)

// ErrRebooted ends a driver whose machine has booted again: what it knows is of the
// boot before. Only simulated machines do so under a driver that goes on running.
var ErrRebooted = errors.New("the machine has booted again")

// Driver is a DRA driver on one node during one boot.
type Driver struct {
	options  Options
	bootID   string
	store    *checkpoint.Store
	preparer *prepare.Preparer
	helper   *kubeletplugin.Helper
	// fail ends Run.
	fail context.CancelCauseFunc

	// wake has a token if hardware is to be looked at now.
	wake chan struct{}
	// probeAgain has a token if the API server has dropped what it was said to keep.
	probeAgain chan struct{}
	calls      calls
	publishing publishing
	seeing     seeing
	statuses   *statuses

	mu   sync.Mutex
	view *view
	// changed is closed when view is replaced.
	changed chan struct{}
}

// New checks the options and reads which boot it is. It changes nothing on the disk
// but for folders that are missing.
func New(options Options) (*Driver, error) {
	if err := options.complete(); err != nil {
		return nil, err
	}
	d := &Driver{options: options, wake: make(chan struct{}, 1), probeAgain: make(chan struct{}, 1), changed: make(chan struct{})}
	if err := d.checkSockets(); err != nil {
		return nil, err
	}
	d.publishing.lock = processlock.New(filepath.Join(options.Folders.Plugin, "publish.lock"))
	wished, _ := reduce(options.Publish, ideal())
	var err error
	if d.publishing.publisher, err = publish.New(wished); err != nil {
		return nil, fmt.Errorf("driver: %w", err)
	}
	if d.bootID, err = hardware.BootID(options.Host); err != nil {
		return nil, err
	}
	for _, dir := range []string{options.Folders.Registry, options.Folders.Plugin} {
		if err := os.MkdirAll(dir, 0o750); err != nil {
			return nil, err
		}
	}
	d.store, err = checkpoint.NewStore(filepath.Join(options.Folders.Plugin, "checkpoint.json"),
		checkpoint.Options{Driver: options.Name, Node: options.Node, Step: options.Step})
	if err != nil {
		return nil, err
	}
	files, err := cdi.NewDir(cdi.Options{Driver: options.Name, Dir: options.Folders.CDI, SimulatedDir: options.Folders.Simulated, Step: options.Step})
	if err != nil {
		return nil, err
	}
	d.preparer, err = prepare.New(prepare.Options{Driver: options.Name, Pool: options.Node, Kinds: options.Kinds, Store: d.store, CDI: files,
		BootID: d.bootID, Hardware: d.discover})
	if err != nil {
		return nil, err
	}
	d.statuses = newStatuses(d)
	return d, nil
}

// Run serves the kubelet and publishes until the context ends, which is no error.
// It cleans up first what a driver that was killed left half done; a checkpoint that
// cannot be understood is an error, and the file stays. At the end it waits for the
// calls that run, not longer than StopPatience, and removes its sockets; the slices
// stay. ErrRebooted asks for a new Driver.
func (d *Driver) Run(outer context.Context) error {
	logger := klog.FromContext(outer).WithValues("driver", d.options.Name, "node", d.options.Node)
	var ctx context.Context
	ctx, d.fail = context.WithCancelCause(klog.NewContext(outer, logger))
	defer d.fail(nil)
	if err := d.preparer.Start(ctx); err != nil {
		if isCheckpointError(err) {
			return err
		}
		logger.Error(err, "What an earlier driver left half done cannot be undone now; it stays in the checkpoint")
	}
	if err := d.removeDeadSockets(); err != nil {
		logger.Error(err, "Sockets of drivers that have died are left: the kubelet tries to reach them")
	}
	// The helper ends by Stop and not by the context: that would break off calls.
	helper, err := kubeletplugin.Start(context.WithoutCancel(ctx), (*plugin)(d), d.helperOptions()...)
	if err != nil {
		return err
	}
	d.helper = helper
	logger.Info("Serving the kubelet", "plugin", d.options.Folders.Plugin, "boot", d.bootID)
	var group sync.WaitGroup
	for _, watcher := range d.options.Watchers {
		group.Go(func() { watcher.Run(ctx, d.Wake) })
	}
	group.Go(func() { d.statuses.run(ctx) })
	d.follow(ctx)
	select {
	case <-d.calls.end():
		<-d.options.Clock.After(answerTime)
	case <-d.options.Clock.After(StopPatience):
		logger.Info("Calls of the kubelet are broken off; what they leave half done is undone at the next start")
	}
	helper.Stop()
	group.Wait()
	d.publishing.giveUp()
	if outer.Err() != nil {
		return nil
	}
	return context.Cause(ctx)
}

func isCheckpointError(err error) bool {
	return errors.Is(err, checkpoint.ErrCorrupt) || errors.Is(err, checkpoint.ErrForeign) || errors.Is(err, checkpoint.ErrNewer)
}

func (d *Driver) helperOptions() []kubeletplugin.Option {
	o := &d.options
	return []kubeletplugin.Option{
		kubeletplugin.DriverName(o.Name), kubeletplugin.NodeName(o.Node), kubeletplugin.KubeClient(o.Client),
		kubeletplugin.RegistrarDirectoryPath(o.Folders.Registry), kubeletplugin.PluginDataDirectoryPath(o.Folders.Plugin),
		kubeletplugin.RollingUpdate(o.PodUID),
		// prepare.Preparer has its own order of calls, also across processes.
		kubeletplugin.Serialize(false), kubeletplugin.GRPCInterceptor(d.calls.intercept),
		kubeletplugin.EnableDeviceMetadata(true, []schema.GroupVersion{metadatav1beta1.SchemeGroupVersion}),
		kubeletplugin.CDIDirectory(o.Folders.CDI),
	}
}

// Wake has the hardware looked at now. It may be called from any goroutine.
func (d *Driver) Wake() {
	select {
	case d.wake <- struct{}{}:
	default:
	}
}

// discover is the hardware as it is. What is wrong with single devices keeps no
// others from being used.
func (d *Driver) discover(ctx context.Context) (*hardware.Node, error) {
	node, err := hardware.Discover(d.options.Host, d.options.GPUs)
	if node == nil {
		return nil, err
	}
	if err != nil {
		klog.FromContext(ctx).V(4).Info("Some hardware cannot be read", "err", err)
	}
	return node, nil
}

// Claims are those that are prepared on this node, or half prepared.
func (d *Driver) Claims(ctx context.Context) ([]*checkpoint.Claim, error) {
	return d.preparer.Claims(ctx)
}

// checkBoot fails with ErrRebooted.
func (d *Driver) checkBoot() error {
	id, err := hardware.BootID(d.options.Host)
	if err != nil {
		return err
	}
	if id != d.bootID {
		return fmt.Errorf("%w: boot %s after %s", ErrRebooted, id, d.bootID)
	}
	return nil
}
