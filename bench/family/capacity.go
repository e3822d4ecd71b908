package family

import (
	"fmt"

	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/utils/ptr"
)

// Families about devices that several requests share, each with a part of the
// capacity.

const shared = "bandwidth"

// withShared gives the node devices of a capacity in whole units.
func (c *Case) withShared(n, capacity int) {
	devices := newDevices(n)
	for i := range devices {
		devices[i].AllowMultipleAllocations = ptr.To(true)
		devices[i].Capacity = map[resourceapi.QualifiedName]resourceapi.DeviceCapacity{
			shared: {Value: *resource.NewQuantity(int64(capacity), resource.DecimalSI)},
		}
	}
	c.Scenario.Slices = append(c.Scenario.Slices, localPool("local", c.Node.Name, devices)...)
}

// wantsPart asks for a part of one device.
func wantsPart(name string, units int) resourceapi.DeviceRequest {
	request := wants(name, anyClass, 1)
	request.Exactly.Capacity = &resourceapi.CapacityRequirements{Requests: map[resourceapi.QualifiedName]resource.Quantity{
		shared: *resource.NewQuantity(int64(units), resource.DecimalSI),
	}}
	return request
}

// oneShareTooMany: equal parts of devices, one more than fit. With a demand
// above one, what is left over on each device adds up to enough, and is of no use.
func oneShareTooMany(s Size) *Case {
	c, n, capacity, demand := newCase(), s.Of("d"), s.Of("cap"), s.Of("demand")
	c.withClasses()
	c.withShared(n, capacity)
	fit := capacity / demand
	c.Scenario.Claims = []*resourceapi.ResourceClaim{newClaim("c", repeated(n*fit+1, func(name string) resourceapi.DeviceRequest {
		return wantsPart(name, demand)
	})...)}
	// Every sequence of devices in which none comes more often than it fits.
	sequences := make([]int64, n*fit+1)
	sequences[0] = 1
	for range n {
		for length := len(sequences) - 1; length > 0; length-- {
			for used := 1; used <= min(fit, length); used++ {
				sequences[length] += combinations(length, used) * sequences[length-used]
			}
		}
	}
	c.Steps = 1 + 2*sumOf(1, n*fit, func(j int) int64 { return sequences[j] })
	return c
}

// unequalShares: k parts of three units and k of two, on devices of four, where
// one of three leaves nothing useful. There is one device too few.
func unequalShares(s Size) *Case {
	c, k := newCase(), s.Of("k")
	c.withClasses()
	c.withShared(k+k/2-1, 4)
	claim := newClaim("c")
	for i := range k {
		claim.Spec.Devices.Requests = append(claim.Spec.Devices.Requests,
			wantsPart(fmt.Sprintf("large%d", i), 3), wantsPart(fmt.Sprintf("small%d", i), 2))
	}
	c.Scenario.Claims = []*resourceapi.ResourceClaim{claim}
	return c
}

// manyShares: a node whose devices are shared, in a cluster with many shares.
func manyShares(s Size) *Case {
	const devices, others = 8, 100
	c, shares := newCase(), s.Of("shares")
	c.withClasses()
	c.withShared(devices, 1000)
	free := map[resourceapi.QualifiedName]resource.Quantity{shared: resource.MustParse("1")}
	for first := 0; first < shares; first += others {
		results := make([]resourceapi.DeviceRequestAllocationResult, 0, others)
		for i := first; i < min(shares, first+others); i++ {
			results = append(results, heldShare("elsewhere", deviceName(i%1000), i, free))
		}
		c.allocate(fmt.Sprintf("other-%d", first), results...)
	}
	c.Scenario.Claims = []*resourceapi.ResourceClaim{newClaim("c", repeated(devices, func(name string) resourceapi.DeviceRequest {
		return wantsPart(name, 500)
	})...)}
	return c
}
