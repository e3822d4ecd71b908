package allocator

import (
	"context"
	"errors"

	corev1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/dynamic-resource-allocation/cel"
	"k8s.io/dynamic-resource-allocation/structured/schedulerapi"
)

// DeviceClassLister finds device classes by name, like the scheduler's lister.
type DeviceClassLister interface {
	List() ([]*resourceapi.DeviceClass, error)
	Get(className string) (*resourceapi.DeviceClass, error)
}

type Inventory struct{ shareID func() types.UID }

type Option func(*Inventory)

func WithShareIDs(next func() types.UID) Option { return func(inv *Inventory) { inv.shareID = next } }

func NewInventory(options ...Option) *Inventory { return &Inventory{} }

func (inv *Inventory) NewAllocator(
	ctx context.Context,
	features Features,
	allocatedState schedulerapi.AllocatedState,
	classLister DeviceClassLister,
	slices []*resourceapi.ResourceSlice,
	celCache *cel.Cache,
) (*Allocator, error) {
	return &Allocator{}, nil
}

type Allocator struct{}

func (a *Allocator) Allocate(ctx context.Context, node *corev1.Node, claims []*resourceapi.ResourceClaim) ([]resourceapi.AllocationResult, error) {
	return nil, errors.New("not written yet")
}

// Stats counts work exactly, so that it can gate a change without noise.
type Stats struct {
	Steps               int64 // search steps, counted as upstream counts its allocateOne invocations
	SelectorEvaluations int64 // CEL evaluations of a selector or derived attribute on a device
}

func (a *Allocator) Stats() Stats { return Stats{} }
