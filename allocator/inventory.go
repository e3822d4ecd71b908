package allocator

import (
	"context"
	"sync"

	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/uuid"
	"k8s.io/dynamic-resource-allocation/cel"
	"k8s.io/dynamic-resource-allocation/structured/schedulerapi"

	"github.com/dray-dev/dray/allocator/internal/inventory"
	"github.com/dray-dev/dray/allocator/internal/request"
	"github.com/dray-dev/dray/allocator/internal/selector"
)

// Inventory is the compiled form of the cluster's ResourceSlices. A process
// needs one, shared by all schedulers, profiles and simulations in it; it is
// safe for concurrent use. Nothing has to be said about changes: each
// NewAllocator brings the list of slices, and what did not change since the
// list before is reused. The zero value is what NewInventory returns without
// options.
type Inventory struct {
	// begun: the rest is set.
	begun   sync.Once
	slices  *inventory.Inventory
	shapes  selector.Shapes
	shareID func() types.UID
	// sharedSteps is the threshold of classes.
	sharedSteps int64
	// memory has the workspaces of calls that are over.
	memory sync.Pool
	// explanationSteps bounds a search of Explain.
	explanationSteps int64
	// work is that of all allocators.
	work work
	// answers are those of allocators for Helds.
	answers answers
}

// Option changes how an Inventory works.
type Option func(*Inventory)

// WithShareIDs sets where the IDs of shares come from; they only have to be
// unique. The default is random UUIDs. next is called from several goroutines.
func WithShareIDs(next func() types.UID) Option {
	return func(inv *Inventory) { inv.shareID = next }
}

// WithSharedSearches sets from how many steps of a search on allocators share
// answers between nodes that pose the same problem; 0 compares nodes from the
// first one on. The answers are the same with any setting. The default is 48:
// comparing nodes costs about as much as so many steps.
func WithSharedSearches(steps int64) Option {
	return func(inv *Inventory) { inv.sharedSteps = steps }
}

// NewInventory returns an empty inventory.
func NewInventory(options ...Option) *Inventory {
	inv := new(Inventory)
	inv.begin()
	for _, option := range options {
		option(inv)
	}
	return inv
}

// begin sets what options may change.
func (inv *Inventory) begin() {
	inv.begun.Do(func() {
		inv.slices, inv.shareID = inventory.New(), uuid.NewUUID
		inv.sharedSteps, inv.explanationSteps = defaultSharedSteps, defaultExplanationSteps
		inv.memory.New = func() any { return new(workspace) }
	})
}

// DeviceClassLister finds device classes by name, like the scheduler's lister.
type DeviceClassLister interface {
	List() ([]*resourceapi.DeviceClass, error)
	Get(className string) (*resourceapi.DeviceClass, error)
}

// NewAllocator returns an allocator for one state of the cluster, usually for
// one pod. The parameters are those of structured.NewAllocator:
//
//   - ctx is not used, it is there for the signature's sake: what takes long is
//     done in Allocate, under the context of that;
//   - features are the feature gates of the cluster;
//   - allocatedState is what is allocated already, without admin access, as
//     ResourceClaimTracker.GatherAllocatedState returns it;
//   - classLister finds device classes;
//   - slices are all ResourceSlices, taint rules applied, in any order. They
//     must not change while the inventory knows them, and two with equal UID and
//     resourceVersion must have equal content but for taints, as in the API server;
//   - celCache compiles CEL expressions. It has to be made with the features, and
//     to be the same for all allocators: what expressions say is remembered for it.
//
// The class lister and the CEL cache may be nil as long as no claim needs them.
// None of the parameters is modified. The error is about a list that cannot be
// a list of slices.
func (inv *Inventory) NewAllocator(
	ctx context.Context,
	features Features,
	allocatedState schedulerapi.AllocatedState,
	classLister DeviceClassLister,
	slices []*resourceapi.ResourceSlice,
	celCache *cel.Cache,
) (a *Allocator, err error) {
	return inv.newAllocator(features, allocatedState, nil, classLister, slices, celCache)
}

// newAllocator takes what is allocated from held, or from state if held is nil.
func (inv *Inventory) newAllocator(features Features, state schedulerapi.AllocatedState, held *inventory.Held, classLister DeviceClassLister,
	slices []*resourceapi.ResourceSlice, celCache *cel.Cache) (a *Allocator, err error) {
	defer recoverTo(&err)
	inv.begin()
	snapshot, err := inv.slices.Sync(slices)
	if err != nil {
		return nil, &InputError{Err: err}
	}
	a = &Allocator{
		features:         request.Features(features),
		snapshot:         snapshot,
		usage:            inventory.Usage{State: state, Held: held, ConsumableCapacity: features.ConsumableCapacity},
		evaluator:        selector.Evaluator{Cache: celCache, Shapes: &inv.shapes, Total: &inv.work.evaluations},
		inventory:        inv,
		shareID:          inv.shareID,
		memory:           &inv.memory,
		classes:          classes{threshold: inv.sharedSteps},
		explanationSteps: inv.explanationSteps,
	}
	if classLister != nil {
		a.lister = classLister
	}
	return a, nil
}
