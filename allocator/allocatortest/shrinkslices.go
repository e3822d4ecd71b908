package allocatortest

import (
	"maps"
	"slices"

	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

type requestedCapacity = map[resourceapi.QualifiedName]resource.Quantity

func (k *shrinker) slices() {
	for i := range k.best.Slices {
		spec := func(s *Scenario) *resourceapi.ResourceSliceSpec { return &s.Slices[i].Spec }
		each(k, func(s *Scenario) *[]resourceapi.Device { return &spec(s).Devices })
		each(k, func(s *Scenario) *[]resourceapi.CounterSet { return &spec(s).SharedCounters })
		for c := range spec(k.best).SharedCounters {
			eachKey(k, func(s *Scenario) *map[string]resourceapi.Counter { return &spec(s).SharedCounters[c].Counters })
		}
		unset(k, func(s *Scenario) *[]resourceapi.SkipNodeOperation { return &spec(s).SkipNodeOperations },
			func(v []resourceapi.SkipNodeOperation) bool { return v != nil })
		for d := range spec(k.best).Devices {
			k.device(func(s *Scenario) *resourceapi.Device { return &spec(s).Devices[d] })
		}
	}
}

func (k *shrinker) device(d func(*Scenario) *resourceapi.Device) {
	eachKey(k, func(s *Scenario) *map[resourceapi.QualifiedName]resourceapi.DeviceAttribute { return &d(s).Attributes })
	eachKey(k, func(s *Scenario) *map[resourceapi.QualifiedName]resourceapi.DeviceCapacity { return &d(s).Capacity })
	each(k, func(s *Scenario) *[]resourceapi.DeviceCounterConsumption { return &d(s).ConsumesCounters })
	for i := range d(k.best).ConsumesCounters {
		consumption := func(s *Scenario) *resourceapi.DeviceCounterConsumption { return &d(s).ConsumesCounters[i] }
		eachKey(k, func(s *Scenario) *map[string]resourceapi.Counter { return &consumption(s).Counters })
		each(k, func(s *Scenario) *[]string { return &consumption(s).CompatibilityGroups })
	}
	each(k, func(s *Scenario) *[]resourceapi.DeviceTaint { return &d(s).Taints })
	each(k, func(s *Scenario) *[]string { return &d(s).BindingConditions })
	each(k, func(s *Scenario) *[]string { return &d(s).BindingFailureConditions })
	unset(k, func(s *Scenario) **bool { return &d(s).BindsToNode }, notNil)
	unset(k, func(s *Scenario) **bool { return &d(s).AllowMultipleAllocations }, notNil)
	for _, name := range slices.Sorted(maps.Keys(d(k.best).Capacity)) {
		if d(k.best).Capacity[name].RequestPolicy != nil {
			k.try(func(s *Scenario) {
				c := d(s).Capacity[name]
				c.RequestPolicy = nil
				d(s).Capacity[name] = c
			})
		}
	}
}
