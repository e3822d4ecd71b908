package driver

import (
	"context"
	"fmt"
	"slices"
	"time"

	resourceapi "k8s.io/api/resource/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/dynamic-resource-allocation/resourceslice"
	"k8s.io/klog/v2"

	"github.com/dray-dev/dray/kubeletplugin/checkpoint"
	"github.com/dray-dev/dray/kubeletplugin/hardware"
	"github.com/dray-dev/dray/kubeletplugin/internal/processlock"
	"github.com/dray-dev/dray/kubeletplugin/publish"
	"github.com/dray-dev/dray/kubeletplugin/watch"
)

// publishing is what the publishing loop, one goroutine, remembers.
type publishing struct {
	// lock is held by the one process that publishes; held is not yet closed before.
	lock  *processlock.Lock
	held  chan error
	owned bool
	// server is nil before it was probed. publisher is of the features that it was last
	// found to keep; before the first time, of all that is wished for.
	server    *server
	publisher *publish.Publisher
	retry     backoff
	// since when taints are there.
	since map[taintID]metav1.Time
	// first is when something was to be published first, and hasEarlier says that there
	// were devices of an earlier driver then.
	first      time.Time
	hasEarlier bool
	// published is what was given to the helper last.
	published *resourceslice.DriverResources
	// unread and leftOut are what was last said.
	unread, leftOut     string
	foreign, unprepared []string
	// before are the claims that there were before the hardware was looked at.
	before []*checkpoint.Claim
}

type taintID struct{ device, key, value, effect string }

// backoff says when something that failed is tried again, and until then how.
type backoff struct {
	pause time.Duration
	at    time.Time
	err   error
}

func (b *backoff) failed(now time.Time, err error) {
	b.err = err
	b.pause = min(max(2*b.pause, time.Second), 30*time.Second)
	b.at = now.Add(b.pause)
}

// publish makes slices of the hardware and gives them to the helper if they differ
// from the last ones. The view is shown even where nothing can be published: claims
// are prepared, and the kubelet is told the health of their devices, without the API
// server.
func (d *Driver) publish(ctx context.Context, node *hardware.Node, problems []watch.Problem) error {
	p := &d.publishing
	now := d.options.Clock.Now()
	if p.first.IsZero() {
		p.first = now
	}
	if err := d.learn(ctx, now); err != nil {
		if pools, all, publishErr := d.unproblematic(node); pools != nil || publishErr == nil {
			d.show(newView(node, problems, all, now))
		}
		return err
	}
	pool, all, err := d.pool(ctx, node, problems, now)
	d.sayLeftOut(ctx, err)
	if err != nil && pool == nil {
		return err
	}
	d.show(newView(node, problems, all, now))
	if !d.ownsPublishing(ctx) || p.keepsEarlier(node, now) {
		return nil
	}
	resources := resourceslice.DriverResources{Pools: map[string]resourceslice.Pool{d.options.Node: *pool}}
	if interfere := d.options.Interfere.Publish; interfere != nil {
		resources = interfere(ctx, resources)
	}
	if p.published != nil && apiequality.Semantic.DeepEqual(p.published, &resources) {
		return nil
	}
	d.step("publish")
	if err := d.helper.PublishResources(ctx, *resources.DeepCopy()); err != nil {
		return err
	}
	p.published = &resources
	devices, tainted := count(resources)
	d.options.Metrics.published(d.options.Name, d.options.Node, devices, tainted)
	klog.FromContext(ctx).V(2).Info("Publishing", "devices", devices, "tainted", tainted)
	return nil
}

// earlierPatience is how long devices that an earlier driver has published stay while this
// one does not see any: as long as the kubelet keeps them while there is no driver.
const earlierPatience = 30 * time.Second

// keepsEarlier says whether what an earlier driver has published is to stay for now. That
// one has seen GPUs, and this one has started while their library does not answer.
func (p *publishing) keepsEarlier(node *hardware.Node, now time.Time) bool {
	return p.published == nil && p.hasEarlier && node.GPUDriver == nil && now.Sub(p.first) < earlierPatience
}

func count(resources resourceslice.DriverResources) (devices, tainted int) {
	for _, pool := range resources.Pools {
		for i := range pool.Slices {
			devices += len(pool.Slices[i].Devices)
			for j := range pool.Slices[i].Devices {
				if len(pool.Slices[i].Devices[j].Taints) > 0 {
					tainted++
				}
			}
		}
	}
	return devices, tainted
}

func (d *Driver) step(what string) {
	if d.options.Step != nil {
		d.options.Step(what)
	}
}

// learn probes the API server, once and when it has dropped something, and reads
// since when taints are there that an earlier driver has published.
func (d *Driver) learn(ctx context.Context, now time.Time) error {
	p := &d.publishing
	select {
	case <-d.probeAgain:
		p.server = nil
	default:
	}
	if p.server != nil {
		return nil
	}
	if now.Before(p.retry.at) {
		return p.retry.err
	}
	found, err := probe(ctx, d.options.Client, d.options.Name, d.options.Node)
	if err == nil && p.since == nil {
		p.since, err = d.readTaintTimes(ctx)
	}
	if err != nil {
		p.retry.failed(now, err)
		return err
	}
	options, leftOut := reduce(d.options.Publish, found)
	publisher, err := publish.New(options)
	if err != nil {
		return err
	}
	klog.FromContext(ctx).Info("The API server was asked what it keeps", "minor", found.minor, "features", found.features, "leftOut", leftOut)
	p.server, p.publisher, p.retry = found, publisher, backoff{}
	return nil
}

// readTaintTimes reads since when the taints of this node's devices are there, and
// whether there are any devices.
func (d *Driver) readTaintTimes(ctx context.Context) (map[taintID]metav1.Time, error) {
	selector := fields.Set{resourceapi.ResourceSliceSelectorDriver: d.options.Name, resourceapi.ResourceSliceSelectorNodeName: d.options.Node}
	list, err := d.options.Client.ResourceV1().ResourceSlices().List(ctx, metav1.ListOptions{FieldSelector: selector.String()})
	if err != nil {
		return nil, fmt.Errorf("list this node's ResourceSlices: %w", err)
	}
	since := map[taintID]metav1.Time{}
	for i := range list.Items {
		for j := range list.Items[i].Spec.Devices {
			device := &list.Items[i].Spec.Devices[j]
			d.publishing.hasEarlier = true
			for _, taint := range device.Taints {
				if taint.TimeAdded != nil {
					since[taintID{device.Name, taint.Key, taint.Value, string(taint.Effect)}] = *taint.TimeAdded
				}
			}
		}
	}
	return since, nil
}

// unproblematic are the slices as they would be without problems, and the devices in
// them that can be prepared; no others are ever published. An error beside slices is
// about devices that are left out.
func (d *Driver) unproblematic(node *hardware.Node) (pools []publish.Pool, prepared []resourceapi.Device, err error) {
	pools, err = d.publishing.publisher.Node(d.options.Node, node, publish.State{})
	for _, slice := range d.slicesOf(pools) {
		for i := range slice.Spec.Devices {
			if d.isPrepared(slice.Spec.Devices[i].Name) {
				prepared = append(prepared, slice.Spec.Devices[i])
			}
		}
	}
	return pools, prepared, err
}

// pool is this driver's pool, always with a slice, and the devices that it would have
// without problems. An error beside a pool is about devices that are left out.
func (d *Driver) pool(ctx context.Context, node *hardware.Node, problems []watch.Problem, now time.Time) (*resourceslice.Pool, []resourceapi.Device, error) {
	p := &d.publishing
	pools, prepared, err := d.unproblematic(node)
	if pools == nil && err != nil {
		return nil, nil, err
	}
	state := publish.State{Taints: map[publish.DeviceID][]resourceapi.DeviceTaint{}, Withdrawn: map[publish.DeviceID]bool{}}
	since := map[taintID]metav1.Time{}
	var unprepared []string
	for _, slice := range d.slicesOf(pools) {
		for i := range slice.Spec.Devices {
			name := slice.Spec.Devices[i].Name
			id := publish.DeviceID{Driver: d.options.Name, Device: name}
			if !d.isPrepared(name) {
				state.Withdrawn[id] = true
				unprepared = append(unprepared, name)
				continue
			}
			for j := range problems {
				if problems[j].Concerns(name) {
					state.Taints[id] = append(state.Taints[id], p.taint(since, name, problems[j].Taint, now))
				}
			}
		}
	}
	p.since = since
	if !slices.Equal(unprepared, p.unprepared) {
		p.unprepared = unprepared
		klog.FromContext(ctx).Info("Devices that this driver does not know how to prepare; they are not published", "devices", unprepared)
	}
	if len(state.Taints)+len(state.Withdrawn) > 0 {
		if pools, err = p.publisher.Node(d.options.Node, node, state); pools == nil && err != nil {
			return nil, nil, err
		}
	}
	pool := &resourceslice.Pool{}
	for _, slice := range d.slicesOf(pools) {
		pool.Slices = append(pool.Slices, resourceslice.Slice{Devices: slice.Spec.Devices, SharedCounters: slice.Spec.SharedCounters,
			PerDeviceNodeSelection: slice.Spec.PerDeviceNodeSelection})
	}
	if foreignErr := d.withoutForeign(ctx, node, pool); foreignErr != nil {
		return nil, nil, foreignErr
	}
	if len(pool.Slices) == 0 { // it says that the driver is there
		pool.Slices = []resourceslice.Slice{{}}
	}
	return pool, prepared, err
}

func (d *Driver) slicesOf(pools []publish.Pool) []resourceapi.ResourceSlice {
	for i := range pools {
		if pools[i].Driver == d.options.Name {
			return pools[i].Slices
		}
	}
	return nil
}

// isPrepared says whether a device that is published could be prepared.
func (d *Driver) isPrepared(device string) bool {
	for _, kind := range d.options.Kinds {
		if kind.Match(device) {
			return true
		}
	}
	return false
}

// taint gives a taint its time, and remembers it.
func (p *publishing) taint(since map[taintID]metav1.Time, device string, taint resourceapi.DeviceTaint, now time.Time) resourceapi.DeviceTaint {
	id := taintID{device, taint.Key, taint.Value, string(taint.Effect)}
	at, ok := p.since[id]
	if !ok {
		at = metav1.NewTime(now.Truncate(time.Second)) // what the API keeps of it
	}
	since[id] = at
	taint.TimeAdded = &at
	return taint
}

// rememberClaims reads the claims before the hardware is looked at. What was seen of a
// claim that is taken back meanwhile is not an administrator's.
func (d *Driver) rememberClaims(ctx context.Context) (err error) {
	if d.options.Foreign != nil {
		d.publishing.before, err = d.preparer.Claims(ctx)
	}
	return err
}

// withoutForeign takes away what partitions that an administrator made are in the way
// of. They are of no claim, neither before nor after they were seen.
func (d *Driver) withoutForeign(ctx context.Context, node *hardware.Node, pool *resourceslice.Pool) error {
	if d.options.Foreign == nil {
		return nil
	}
	claims, err := d.preparer.Claims(ctx)
	if err != nil {
		return err
	}
	foreign, err := d.options.Foreign(node, slices.Concat(d.publishing.before, claims))
	if err != nil {
		return err
	}
	if !slices.Equal(foreign, d.publishing.foreign) {
		d.publishing.foreign = foreign
		klog.FromContext(ctx).Info("Partitions that no claim has and this driver did not make; they stay, and what they are in the way of is not published",
			"devices", foreign)
	}
	reserve(foreign, pool)
	return nil
}

// sayLeftOut logs devices that cannot be published when they change.
func (d *Driver) sayLeftOut(ctx context.Context, err error) {
	text := ""
	if err != nil {
		text = err.Error()
	}
	if text != d.publishing.leftOut {
		d.publishing.leftOut = text
		if err != nil {
			klog.FromContext(ctx).Error(err, "Some devices cannot be published and are left out")
		}
	}
}

// ownsPublishing says whether this process is the one that publishes. The first that
// asks is, until it ends.
func (d *Driver) ownsPublishing(ctx context.Context) bool {
	p := &d.publishing
	if p.owned {
		return true
	}
	if p.held == nil {
		held := make(chan error, 1)
		p.held = held
		go func() {
			held <- p.lock.Acquire(ctx)
			d.Wake()
		}()
		// Nobody else is the rule, and then there is nothing to wait for.
		select {
		case err := <-held:
			return d.won(ctx, err)
		case <-d.options.Clock.After(debounce):
		case <-ctx.Done():
		}
		return false
	}
	select {
	case err := <-p.held:
		return d.won(ctx, err)
	default:
		return false
	}
}

func (d *Driver) won(ctx context.Context, err error) bool {
	p := &d.publishing
	if err != nil {
		p.held = nil // it is asked for again
		if ctx.Err() == nil {
			klog.FromContext(ctx).Error(err, "Whether another driver publishes cannot be found out")
		}
		return false
	}
	p.owned = true
	klog.FromContext(ctx).V(2).Info("This driver publishes")
	return true
}

// giveUp lets another process publish.
func (p *publishing) giveUp() {
	if !p.owned && p.held != nil {
		if err := <-p.held; err == nil {
			p.owned = true
		}
	}
	if p.owned {
		p.lock.Release()
		p.owned = false
	}
}
