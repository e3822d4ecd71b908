package simulated

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/dynamic-resource-allocation/resourceslice"
	"k8s.io/klog/v2"

	"github.com/dray-dev/dray/hwsim/state"
	"github.com/dray-dev/dray/kubeletplugin/driver"
)

// kind is what this driver is in instructions.
const kind = "gpu"

// obedience does what the instructions of a folder say.
type obedience struct {
	folder *state.Folder

	mu sync.Mutex
	// half says that some slices are missing, and are not written from this index on.
	half bool
	from int
}

func newObedience(folder *state.Folder) *obedience { return &obedience{folder: folder} }

func (o *obedience) interference() driver.Interference {
	return driver.Interference{Publish: o.publish, Prepare: o.prepare}
}

func (o *obedience) instructions(ctx context.Context) []state.Instruction {
	view, err := o.folder.View()
	if err != nil {
		klog.FromContext(ctx).Error(err, "Instructions cannot be read")
		return nil
	}
	return slices.DeleteFunc(slices.Clone(view.Instructions), func(i state.Instruction) bool { return !i.For(kind) })
}

// publish is a pool that has vanished, one without devices, or what the driver wants.
func (o *obedience) publish(ctx context.Context, resources resourceslice.DriverResources) resourceslice.DriverResources {
	missing := 0
	for _, i := range o.instructions(ctx) {
		switch f := &i.Fault; {
		case f.PoolVanished != nil:
			return resourceslice.DriverResources{}
		case f.DriverLate != nil:
			return replaced(resources, func([]resourceslice.Slice) []resourceslice.Slice { return []resourceslice.Slice{{}} })
		case f.HalfPublished != nil:
			missing = max(1, f.HalfPublished.Missing)
		}
	}
	return o.halve(resources, missing)
}

// halve lets slices be missing. The helper publishes all that it is given, and tries
// again what fails. So for one round it is given fewer slices, removes the rest, and
// then is given all, of which the transport lets the rest not through: the helper has
// begun a generation and cannot end it. Afterwards it is given fewer and all again,
// because it tries at once only what is new to it.
func (o *obedience) halve(resources resourceslice.DriverResources, missing int) resourceslice.DriverResources {
	o.mu.Lock()
	defer o.mu.Unlock()
	cut := func(slices []resourceslice.Slice) []resourceslice.Slice { return slices[:min(o.from, len(slices))] }
	switch {
	case missing > 0 && !o.half:
		o.half = true
		for _, pool := range resources.Pools {
			o.from = max(1, len(pool.Slices)-missing)
		}
		return replaced(resources, cut)
	case missing == 0 && o.half:
		o.half = false
		return replaced(resources, cut)
	}
	return resources
}

// replaced returns resources with other slices in their pools.
func replaced(resources resourceslice.DriverResources, slices func([]resourceslice.Slice) []resourceslice.Slice) resourceslice.DriverResources {
	pools := make(map[string]resourceslice.Pool, len(resources.Pools))
	for name, pool := range resources.Pools {
		pool.Slices = slices(pool.Slices)
		pools[name] = pool
	}
	return resourceslice.DriverResources{Pools: pools}
}

// keptBack says whether a slice must not be written now.
func (o *obedience) keptBack(index int) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.half && index >= o.from
}

// prepare takes longer if it is told to.
func (o *obedience) prepare(ctx context.Context, _ *resourceapi.ResourceClaim) error {
	for _, i := range o.instructions(ctx) {
		slow := i.Fault.SlowPrepare
		if slow == nil {
			continue
		}
		held, err := o.folder.Obeyed(i.Number)
		if err != nil {
			return err
		}
		if !held {
			continue
		}
		takes := time.Duration(slow.Takes)
		klog.FromContext(ctx).Info("The claim takes longer, as instructed", "instruction", i.Number, "takes", takes)
		select {
		case <-o.folder.Clock().After(takes):
		case <-ctx.Done():
			return fmt.Errorf("the claim took longer, as instructed, than the kubelet waits: %w", context.Cause(ctx))
		}
	}
	return nil
}
