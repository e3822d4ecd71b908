package allocator

import (
	"context"

	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/dynamic-resource-allocation/cel"
	"k8s.io/dynamic-resource-allocation/structured/schedulerapi"

	"github.com/dray-dev/dray/allocator/internal/inventory"
)

// Holdings is what allocations hold of the cluster's devices, for a caller that
// learns of them one by one: to add one, and to see what is held then, costs what
// changed and not what there is. It is safe for concurrent use.
type Holdings struct{ inner *inventory.Holdings }

// NewHoldings returns holdings without anything. shared says whether devices can be
// shared (DRAConsumableCapacity); otherwise a share counts for the whole device.
func NewHoldings(shared bool) *Holdings {
	return &Holdings{inner: inventory.NewHoldings(shared)}
}

// Hold adds what an allocation holds. Devices with admin access are passed over. A
// device or share that is held several times is held until it was released as often,
// and takes its capacity once.
func (h *Holdings) Hold(results []resourceapi.DeviceRequestAllocationResult) { h.inner.Hold(results) }

// Release takes away what Hold added.
func (h *Holdings) Release(results []resourceapi.DeviceRequestAllocationResult) {
	h.inner.Release(results)
}

// Holders returns how many times a device is held for itself.
func (h *Holdings) Holders(id schedulerapi.DeviceID) int { return h.inner.Holders(id) }

// Whole says whether what an allocation has of a device is held for itself.
func (h *Holdings) Whole(result *resourceapi.DeviceRequestAllocationResult) bool {
	return h.inner.Whole(result)
}

// Held returns what is held now. It does not change later.
func (h *Holdings) Held() Held { return Held{inner: h.inner.Held()} }

// Held is what allocations hold of the cluster's devices at one moment. The zero
// value holds nothing.
type Held struct{ inner *inventory.Held }

// State returns all of it in the form that structured.NewAllocator takes, which costs
// as much as there is.
func (h Held) State() schedulerapi.AllocatedState { return h.known().State() }

// nothing is what the zero Held stands for.
var nothing inventory.Held

func (h Held) known() *inventory.Held {
	if h.inner == nil {
		return &nothing
	}
	return h.inner
}

// NewAllocatorHeld is NewAllocator with what is allocated as a Held. The answers are
// those of NewAllocator with held.State(). Allocators for Helds share what they find
// out (see Allocate), as long as they are made with Helds of Holdings.
func (inv *Inventory) NewAllocatorHeld(
	ctx context.Context,
	features Features,
	held Held,
	classLister DeviceClassLister,
	slices []*resourceapi.ResourceSlice,
	celCache *cel.Cache,
) (*Allocator, error) {
	return inv.newAllocator(features, schedulerapi.AllocatedState{}, held.known(), classLister, slices, celCache)
}
