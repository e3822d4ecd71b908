package publish

import resourceapi "k8s.io/api/resource/v1"

// limits are what an API server admits; 0 is no limit. Source: the constants and
// the validation of resource.k8s.io/v1 at each minor.
type limits struct {
	// devices of a slice, and of one in which any device has taints, counters or
	// list attributes.
	devices, advancedDevices int
	// together: counter sets are in the slice of the devices that consume them,
	// and only there. Else a slice has either counter sets or devices.
	together bool
	// sets of a slice, counters of all sets of a slice, counters of one set.
	sets, sliceCounters, setCounters int
	// consumptions of a device, counters of one, of all of a device, of all
	// devices of a slice.
	consumptions, consumptionCounters, deviceCounters, sliceDeviceCounters int
	taints                                                                 int
	attributesAndCapacities, attributeValues                               int
}

func limitsOf(minor int) limits {
	l := limits{
		devices:                 resourceapi.ResourceSliceMaxDevices,
		attributesAndCapacities: resourceapi.ResourceSliceMaxAttributesAndCapacitiesPerDevice,
	}
	if minor == 34 {
		l.advancedDevices = l.devices
		l.together = true
		l.sliceCounters, l.setCounters = 32, 32
		l.consumptionCounters, l.deviceCounters, l.sliceDeviceCounters = 32, 32, 1024
		l.taints = 4
		return l
	}
	l.advancedDevices = resourceapi.ResourceSliceMaxDevicesWithAdvancedFeatures
	l.sets = resourceapi.ResourceSliceMaxCounterSets
	l.setCounters = resourceapi.ResourceSliceMaxCountersPerCounterSet
	l.consumptions = resourceapi.ResourceSliceMaxDeviceCounterConsumptionsPerDevice
	l.consumptionCounters = resourceapi.ResourceSliceMaxCountersPerDeviceCounterConsumption
	l.taints = resourceapi.DeviceTaintsMaxLength
	if minor >= 36 {
		l.attributeValues = resourceapi.ResourceSliceMaxAttributeValuesPerDevice
	}
	return l
}

// policyMaxValues is how many values a request policy can list.
const policyMaxValues = 10

// over says whether n exceeds a limit.
func over(n, limit int) bool { return limit > 0 && n > limit }
