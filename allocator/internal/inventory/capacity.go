package inventory

import (
	"slices"

	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// Capacities says which devices of a pool have the same capacity with the same
// policies, so that what a share takes is worked out once for all of those. It is
// immutable.
//
// Quantities are the same here if they are represented in the same way: two
// devices of one kind have the same capacity, but not all that have are of one
// kind. That is exact for everything that depends on the capacity, including the
// policies that look at how a quantity is written.
type Capacities struct {
	// First is the first device of each kind.
	First []int
	// kinds has the kind of each device; nil where there is one kind.
	kinds []int32
}

// Kind returns the kind of a device.
func (c *Capacities) Kind(device int) int {
	if c.kinds == nil {
		return 0
	}
	return int(c.kinds[device])
}

// Capacities is worked out when somebody first asks for it: most pools are never
// asked for a part of a device.
func (p *Pool) Capacities() *Capacities {
	if known := p.capacities.Load(); known != nil {
		return known
	}
	p.capacities.CompareAndSwap(nil, p.compareCapacities())
	return p.capacities.Load()
}

// maxCompared bounds how many kinds a device is compared with: where there are
// very many, hardly any two devices are alike.
const maxCompared = 8

func (p *Pool) compareCapacities() *Capacities {
	c := &Capacities{}
	kinds := make([]int32, p.Devices)
	for device := range p.Devices {
		kind := len(c.First)
		capacity := p.At(device).Capacity
		for i := len(c.First) - 1; i >= max(0, len(c.First)-maxCompared); i-- {
			if sameCapacity(capacity, p.At(c.First[i]).Capacity) {
				kind = i
				break
			}
		}
		if kind == len(c.First) {
			c.First = append(c.First, device)
		}
		kinds[device] = int32(kind)
	}
	if len(c.First) > 1 {
		c.kinds = kinds
	}
	return c
}

func sameCapacity(a, b map[resourceapi.QualifiedName]resourceapi.DeviceCapacity) bool {
	if len(a) != len(b) {
		return false
	}
	for name, capacity := range a {
		other, found := b[name]
		if !found || capacity.Value != other.Value || !samePolicy(capacity.RequestPolicy, other.RequestPolicy) {
			return false
		}
	}
	return true
}

func samePolicy(a, b *resourceapi.CapacityRequestPolicy) bool {
	if a == nil || b == nil {
		return a == b
	}
	// A list that is there without entries is another policy than none.
	return sameQuantity(a.Default, b.Default) && sameRange(a.ValidRange, b.ValidRange) &&
		(a.ValidValues == nil) == (b.ValidValues == nil) && slices.Equal(a.ValidValues, b.ValidValues)
}

func sameRange(a, b *resourceapi.CapacityRequestPolicyRange) bool {
	if a == nil || b == nil {
		return a == b
	}
	return sameQuantity(a.Min, b.Min) && sameQuantity(a.Max, b.Max) && sameQuantity(a.Step, b.Step)
}

func sameQuantity(a, b *resource.Quantity) bool {
	if a == nil || b == nil {
		return a == b
	}
	return *a == *b
}
