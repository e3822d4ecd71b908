package chaos

import (
	"fmt"

	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
)

// Devices whose use is counted rather than given to one claim: partitions of a
// device, which draw from its counter, and a device that many claims share, each with
// a part of its capacity. Each node has one of either.
const (
	partDriver = "part.chaos.dray.dev"
	partClass  = "part"
	partUnits  = 8 // what a node's partitions draw from
	nicDriver  = "nic.chaos.dray.dev"
	nicClass   = "nic"
	nicUnits   = 10 // bandwidth of a node's network device
	bandwidth  = "bandwidth"
)

// partSlices are the two slices of a node's partitions: the counter, and the
// partitions of 8, 4 and 2 units. While their generations differ the pool is
// incomplete.
func partSlices(node string, counters, devices int64) []*resourceapi.ResourceSlice {
	counter := func() map[string]resourceapi.Counter {
		return map[string]resourceapi.Counter{"units": {Value: *resource.NewQuantity(partUnits, resource.DecimalSI)}}
	}
	first := emptySlice(node+"-counters", partDriver, node, counters)
	first.Spec.NodeName, first.Spec.Pool.ResourceSliceCount = &node, 2
	first.Spec.SharedCounters = []resourceapi.CounterSet{{Name: "all", Counters: counter()}}
	second := emptySlice(node+"-parts", partDriver, node, devices)
	second.Spec.NodeName, second.Spec.Pool.ResourceSliceCount = &node, 2
	for _, size := range []int64{8, 4, 2} {
		for i := range partUnits / size {
			draws := counter()
			draws["units"] = resourceapi.Counter{Value: *resource.NewQuantity(size, resource.DecimalSI)}
			second.Spec.Devices = append(second.Spec.Devices, resourceapi.Device{
				Name:             fmt.Sprintf("part-%d-%d", size, i),
				Attributes:       map[resourceapi.QualifiedName]resourceapi.DeviceAttribute{"size": {IntValue: ptr.To(size)}},
				ConsumesCounters: []resourceapi.DeviceCounterConsumption{{CounterSet: "all", Counters: draws}},
			})
		}
	}
	return []*resourceapi.ResourceSlice{first, second}
}

func nicSlice(node string) *resourceapi.ResourceSlice {
	slice := emptySlice(node+"-nic", nicDriver, node, 1)
	slice.Spec.NodeName = &node
	slice.Spec.Devices = []resourceapi.Device{{
		Name: "nic", AllowMultipleAllocations: ptr.To(true),
		Capacity: map[resourceapi.QualifiedName]resourceapi.DeviceCapacity{bandwidth: {Value: *resource.NewQuantity(nicUnits, resource.DecimalSI)}},
	}}
	return slice
}

// partOf asks for a partition of a size.
func partOf(size int64) resourceapi.DeviceRequest {
	request := exactly(partClass, 1, "")
	request.Exactly.Selectors = []resourceapi.DeviceSelector{{CEL: &resourceapi.CELDeviceSelector{
		Expression: fmt.Sprintf("device.attributes[%q].size == %d", partDriver, size)}}}
	return request
}

// shareOf asks for a part of a network device.
func shareOf(units int64) resourceapi.DeviceRequest {
	request := exactly(nicClass, 1, "")
	request.Exactly.Capacity = &resourceapi.CapacityRequirements{
		Requests: map[resourceapi.QualifiedName]resource.Quantity{bandwidth: *resource.NewQuantity(units, resource.DecimalSI)}}
	return request
}

// amount is something that claims take a part of.
type amount struct{ driver, pool string }

func (a amount) limit() int64 {
	if a.driver == partDriver {
		return partUnits
	}
	return nicUnits
}

// draws is what a claim's devices take of each amount.
func draws(claim *resourceapi.ResourceClaim) map[amount]int64 {
	taken := map[amount]int64{}
	if claim.Status.Allocation == nil {
		return taken
	}
	for _, result := range claim.Status.Allocation.Devices.Results {
		of := amount{result.Driver, result.Pool}
		switch result.Driver {
		case partDriver:
			var size, i int64
			if _, err := fmt.Sscanf(result.Device, "part-%d-%d", &size, &i); err != nil {
				size = partUnits + 1 // no such device
			}
			taken[of] += size
		case nicDriver:
			units := result.ConsumedCapacity[bandwidth]
			taken[of] += units.Value()
		}
	}
	return taken
}

// share tells the shares of one device apart.
func share(id *types.UID) string {
	if id == nil {
		return ""
	}
	return "#" + string(*id)
}
