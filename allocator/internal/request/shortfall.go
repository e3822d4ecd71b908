package request

import (
	"maps"
	"slices"

	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/dray-dev/dray/allocator/internal/bitset"
	"github.com/dray-dev/dray/allocator/internal/selector"
)

// Untolerated returns the first taint that keeps the alternative off a device,
// nil where there is none.
func (x *Examination) Untolerated(a *Alternative, position int) *resourceapi.DeviceTaint {
	pool, device := x.Node.Locate(position)
	return firstUntolerated(x.Node.Pools[pool].At(device).Taints, a.Tolerations)
}

// CapacityShortfall is a capacity that keeps an alternative off a device.
type CapacityShortfall struct {
	Name string
	// Asked is what a share would take, as far as that can be said.
	Asked resource.Quantity
	// Unasked: the claim does not ask for the capacity; a share takes the
	// driver's default for it, or all of it.
	Unasked bool
	// Missing: the device has no capacity of that name.
	Missing bool
	// Refused: the driver's policy does not allow such an amount.
	Refused bool
	// Left is what other claims leave, where neither Missing nor Refused is set.
	Left resource.Quantity
}

// CapacityShortfall returns the first capacity, by name, that keeps the
// alternative off a device; ok is false where there is none, or where the amounts
// cannot be computed.
func (x *Examination) CapacityShortfall(a *Alternative, position int) (s CapacityShortfall, ok bool) {
	number, n := x.Node.Locate(position)
	pool := x.Node.Pools[number]
	device := pool.At(n)
	if a.Capacity != nil {
		for _, name := range slices.Sorted(maps.Keys(a.Capacity.Requests)) {
			if _, found := device.Capacity[name]; !found {
				return CapacityShortfall{Name: string(name), Asked: a.Capacity.Requests[name], Missing: true}, true
			}
		}
	}
	taken, fits, err := consume(device, a.Capacity, x.Claims.Features.FractionalCapacityRange)
	if err != nil {
		return CapacityShortfall{}, false
	}
	if !fits {
		return x.refusedAmount(device, a)
	}
	if _, _, _, err := x.exact(pool, n, taken); err != nil {
		return CapacityShortfall{}, false
	}
	others := x.Usage.Consumed(pool.DeviceID(n))
	for i, name := range taken.names {
		left := device.Capacity[name].Value.DeepCopy()
		if consumed := others[name]; consumed != nil {
			left.Sub(*consumed)
		}
		if taken.quantities[i].Cmp(left) > 0 {
			return CapacityShortfall{Name: string(name), Asked: taken.quantities[i], Left: left, Unasked: request(a.Capacity, name) == nil}, true
		}
	}
	return CapacityShortfall{}, false
}

// refusedAmount finds the capacity whose policy made consume say no.
func (x *Examination) refusedAmount(device *resourceapi.Device, a *Alternative) (CapacityShortfall, bool) {
	fractional := x.Claims.Features.FractionalCapacityRange
	for _, name := range slices.Sorted(maps.Keys(device.Capacity)) {
		asked := request(a.Capacity, name)
		amount, err := share(device.Capacity[name], asked, fractional)
		if err != nil {
			return CapacityShortfall{}, false
		}
		if violated, err := violates(amount, device.Capacity[name].RequestPolicy, fractional); err != nil || violated {
			return CapacityShortfall{Name: string(name), Asked: amount, Refused: true, Unasked: asked == nil}, err == nil
		}
	}
	return CapacityShortfall{}, false
}

// Matching returns how many of the devices all selectors of the alternative
// match. Nothing is remembered: this is for devices that no claim can have.
func (x *Examination) Matching(a *Alternative, devices selector.Devices) (int, error) {
	match := bitset.Full(devices.Len())
	for _, s := range a.Selectors {
		verdict, err := x.Evaluator.Verdict(x.ctx, &selector.Memo{}, s.Expression, devices)
		if err != nil {
			return 0, err
		}
		match.And(verdict.Match)
	}
	return match.Count(), nil
}

// CapacityNames are the capacities of a device, sorted: the order of the entries
// in search.Problem.Shares.
func (x *Examination) CapacityNames(position int) []string {
	number, device := x.Node.Locate(position)
	var names []string
	for name := range x.Node.Pools[number].At(device).Capacity {
		names = append(names, string(name))
	}
	slices.Sort(names)
	return names
}

// RoomFor says what the alternative would take of one capacity of a device and
// what is left of that. ok is false where it takes none.
func (x *Examination) RoomFor(a *Alternative, position int, capacity string) (room CapacityShortfall, ok bool) {
	number, n := x.Node.Locate(position)
	pool := x.Node.Pools[number]
	device, name := pool.At(n), resourceapi.QualifiedName(capacity)
	asked, found := x.Consumed(a, device)[name]
	if !found {
		return CapacityShortfall{}, false
	}
	left := device.Capacity[name].Value.DeepCopy()
	if consumed := x.Usage.Consumed(pool.DeviceID(n))[name]; consumed != nil {
		left.Sub(*consumed)
	}
	return CapacityShortfall{Name: capacity, Asked: asked, Left: left, Unasked: request(a.Capacity, name) == nil}, true
}
