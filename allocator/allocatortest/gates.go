package allocatortest

import (
	"fmt"

	"github.com/dray-dev/dray/allocator"
)

// offByDefault are the gates that a stock 1.37 cluster has off, and the switch
// that each turns.
var offByDefault = []struct {
	name     string
	switchOf func(*allocator.Features) *bool
}{
	{"DRADeviceCompatibilityGroups", func(f *allocator.Features) *bool { return &f.CompatibilityGroups }},
	{"DRADerivedAttributes", func(f *allocator.Features) *bool { return &f.DerivedAttributes }},
	{"DRAFractionalCapacityRange", func(f *allocator.Features) *bool { return &f.FractionalCapacityRange }},
	{"DRAListTypeAttributes", func(f *allocator.Features) *bool { return &f.ListTypeAttributes }},
	{"DRAOptionalNodeOperations", func(f *allocator.Features) *bool { return &f.OptionalNodeOperations }},
}

// gatesOf names the gates that are on and that a stock 1.37 cluster has off.
func gatesOf(f allocator.Features) []string {
	var gates []string
	for _, gate := range offByDefault {
		if *gate.switchOf(&f) {
			gates = append(gates, gate.name)
		}
	}
	return gates
}

// stockFeatures are those of a stock 1.37 cluster with some more gates on.
func stockFeatures(gates []string) (allocator.Features, error) {
	f := allocator.Features{
		AdminAccess:            true,
		ConsumableCapacity:     true,
		DeviceBindingAndStatus: true,
		DeviceTaints:           true,
		PartitionableDevices:   true,
		PrioritizedList:        true,
	}
next:
	for _, name := range gates {
		for _, gate := range offByDefault {
			if gate.name == name {
				*gate.switchOf(&f) = true
				continue next
			}
		}
		return f, fmt.Errorf("feature gate %s is none of the allocator's that is off by default", name)
	}
	return f, nil
}
