package plugin

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"

	corev1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/dynamic-resource-allocation/cel"
	"k8s.io/dynamic-resource-allocation/structured"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/feature"

	"github.com/dray-dev/dray/allocator"
)

// celExpressions is how many compiled expressions are kept.
const celExpressions = 1000

// engine is what all plugins of a process with one manager share: slices compiled
// once for each change, and what selectors say of devices. It is safe for
// concurrent use.
type engine struct {
	inventory *allocator.Inventory
	celCache  *cel.Cache
	asked     asked
	flights   flights
	doubts    atomic.Int64 // claims whose devices stay in flight, see giveBackWhen
	metrics   *instruments
	cycles    atomic.Int64 // that began
	attempts  attempts
	waiting   waitingPods
	writes    claimLocks
	// ledger is nil if the manager always has to be asked.
	ledger *ledger
}

func newEngine(features feature.Features, metrics *instruments) *engine {
	return &engine{
		metrics:   metrics,
		inventory: allocator.NewInventory(allocator.WithExplanationSteps(explanationSteps)),
		celCache: cel.NewCache(celExpressions, cel.Features{
			EnableConsumableCapacity: features.EnableDRAConsumableCapacity,
			EnableListTypeAttributes: features.EnableDRAListTypeAttributes,
		}),
	}
}

// nodeAllocator finds devices on a node: one result for each claim, or none if
// the claims do not fit together.
type nodeAllocator interface {
	Allocate(ctx context.Context, node *corev1.Node, claims []*resourceapi.ResourceClaim) ([]resourceapi.AllocationResult, error)
}

// newAllocator is one for the cluster as it is now.
func (p *Plugin) newAllocator(ctx context.Context) (nodeAllocator, error) {
	taken, err := p.cluster.taken(ctx)
	if err != nil {
		return nil, err
	}
	slices, err := p.cluster.slices()
	if err != nil {
		return nil, err
	}
	return p.engine.allocator(ctx, p.args.Allocator, allocatorFeatures(p.features), taken, p.manager.DeviceClasses(), slices)
}

func (e *engine) allocator(ctx context.Context, name AllocatorName, features structured.Features, taken taken,
	classes structured.DeviceClassLister, slices []*resourceapi.ResourceSlice) (nodeAllocator, error) {
	if name == AllocatorUpstream {
		return structured.NewAllocator(ctx, features, taken.allocated(), classes, slices, e.celCache)
	}
	if taken.held != nil {
		return e.inventory.NewAllocatorHeld(ctx, allocator.Features(features), *taken.held, classes, slices, e.celCache)
	}
	return e.inventory.NewAllocator(ctx, allocator.Features(features), taken.state, classes, slices, e.celCache)
}

// keepLedger makes a ledger for the scheduler's manager. It is one for all plugins
// that write to the manager, for it has to hear of all that they write.
func (e *engine) keepLedger(handle fwk.Handle, features feature.Features) error {
	claims := handle.SharedInformerFactory().Resource().V1().ResourceClaims().Informer()
	e.ledger = newLedger(claims.GetStore(), features.EnableDRAConsumableCapacity, &e.asked)
	if _, err := claims.AddEventHandler(e.ledger); err != nil {
		return fmt.Errorf("listen to resource claims: %w", err)
	}
	return nil
}

// concernsNodeOnly says whether another node may do although this one failed.
func concernsNodeOnly(err error) bool {
	return errors.Is(err, allocator.ErrFailedOnNode) || errors.Is(err, structured.ErrFailedAllocationOnNode)
}

// allocatorFeatures are the features of DRA that concern allocation.
func allocatorFeatures(features feature.Features) structured.Features {
	return structured.Features{
		AdminAccess:             features.EnableDRAAdminAccess,
		CompatibilityGroups:     features.EnableDRADeviceCompatibilityGroups,
		ConsumableCapacity:      features.EnableDRAConsumableCapacity,
		DerivedAttributes:       features.EnableDRADerivedAttributes,
		DeviceBindingAndStatus:  bindingConditionsOn(features),
		DeviceTaints:            features.EnableDRADeviceTaints,
		FractionalCapacityRange: features.EnableDRAFractionalCapacityRange,
		ListTypeAttributes:      features.EnableDRAListTypeAttributes,
		OptionalNodeOperations:  features.EnableDRAOptionalNodeOperations,
		PartitionableDevices:    features.EnableDRAPartitionableDevices,
		PrioritizedList:         features.EnableDRAPrioritizedList,
	}
}
