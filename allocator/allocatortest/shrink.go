package allocatortest

import (
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
)

// Shrink returns a scenario from which nothing can be taken away such that it
// still fails. The given scenario must fail and is not modified. It works on
// the scenario and not on rapid's draws, so that scenarios from a case folder
// shrink as well and a result has no trace of how it was drawn.
func Shrink(s *Scenario, fails func(*Scenario) bool) *Scenario {
	k := &shrinker{best: s, fails: fails}
	for progress := true; progress; {
		before := k.accepted
		k.objects()
		k.claims()
		k.slices()
		k.classesAndNodes()
		progress = k.accepted > before
	}
	return k.best
}

type shrinker struct {
	best     *Scenario
	fails    func(*Scenario) bool
	accepted int
}

// try keeps a change if the scenario still fails. A change must make the
// scenario smaller, or shrinking does not end.
func (k *shrinker) try(change func(*Scenario)) bool {
	candidate := k.best.Clone()
	change(candidate)
	candidate.Stamp()
	if !k.fails(candidate) {
		return false
	}
	k.best = candidate
	k.accepted++
	return true
}

// each tries to remove every element of a list that is found in a scenario.
func each[E any](k *shrinker, list func(*Scenario) *[]E) {
	for i := len(*list(k.best)) - 1; i >= 0; i-- {
		k.try(func(s *Scenario) {
			l := list(s)
			*l = slices.Delete(*l, i, i+1)
			if len(*l) == 0 {
				*l = nil
			}
		})
	}
}

// eachKey tries to remove every entry of a map.
func eachKey[K ~string, V any](k *shrinker, in func(*Scenario) *map[K]V) {
	for _, key := range slices.Sorted(maps.Keys(*in(k.best))) {
		k.try(func(s *Scenario) {
			m := in(s)
			delete(*m, key)
			if len(*m) == 0 {
				*m = nil
			}
		})
	}
}

// unset tries to make a field its zero value.
func unset[V any](k *shrinker, field func(*Scenario) *V, isSet func(V) bool) {
	if isSet(*field(k.best)) {
		k.try(func(s *Scenario) {
			var zero V
			*field(s) = zero
		})
	}
}

func notNil[V any](v *V) bool { return v != nil }

func (k *shrinker) objects() {
	each(k, func(s *Scenario) *[]*corev1.Node { return &s.Nodes })
	each(k, func(s *Scenario) *[]*resourceapi.ResourceClaim { return &s.Claims })
	each(k, func(s *Scenario) *[]*resourceapi.ResourceClaim { return &s.Allocated })
	for i := len(k.best.Slices) - 1; i >= 0; i-- {
		k.removeSlice(i)
	}
	each(k, func(s *Scenario) *[]*resourceapi.DeviceClass { return &s.Classes })
	for i := range switches(&k.best.Features) {
		if *switches(&k.best.Features)[i] {
			k.try(func(s *Scenario) { *switches(&s.Features)[i] = false })
		}
	}
	for i := range k.best.Allocated {
		each(k, func(s *Scenario) *[]resourceapi.DeviceRequestAllocationResult {
			return &s.Allocated[i].Status.Allocation.Devices.Results
		})
		each(k, func(s *Scenario) *[]resourceapi.DeviceRequest { return &s.Allocated[i].Spec.Devices.Requests })
	}
}

// removeSlice keeps the pool as complete as it was, if that does.
func (k *shrinker) removeSlice(i int) {
	remove := func(s *Scenario) *resourceapi.ResourceSlice {
		removed := s.Slices[i]
		s.Slices = slices.Delete(s.Slices, i, i+1)
		return removed
	}
	adjusted := k.try(func(s *Scenario) {
		removed := remove(s).Spec
		for _, slice := range s.Slices {
			if slice.Spec.Driver == removed.Driver && slice.Spec.Pool == removed.Pool {
				slice.Spec.Pool.ResourceSliceCount--
			}
		}
	})
	if !adjusted {
		k.try(func(s *Scenario) { remove(s) })
	}
}

func (k *shrinker) claims() {
	for c := range k.best.Claims {
		devices := func(s *Scenario) *resourceapi.DeviceClaim { return &s.Claims[c].Spec.Devices }
		each(k, func(s *Scenario) *[]resourceapi.DeviceRequest { return &devices(s).Requests })
		each(k, func(s *Scenario) *[]resourceapi.DeviceConstraint { return &devices(s).Constraints })
		each(k, func(s *Scenario) *[]resourceapi.DeviceClaimConfiguration { return &devices(s).Config })
		for i := range devices(k.best).Constraints {
			each(k, func(s *Scenario) *[]string { return &devices(s).Constraints[i].Requests })
		}
		for i := range devices(k.best).Config {
			each(k, func(s *Scenario) *[]string { return &devices(s).Config[i].Requests })
		}
		for r := range devices(k.best).Requests {
			request := func(s *Scenario) *resourceapi.DeviceRequest { return &devices(s).Requests[r] }
			each(k, func(s *Scenario) *[]resourceapi.DeviceSubRequest { return &request(s).FirstAvailable })
			for a := range request(k.best).FirstAvailable {
				k.alternative(func(s *Scenario) *resourceapi.DeviceSubRequest { return &request(s).FirstAvailable[a] })
			}
			if request(k.best).Exactly != nil {
				k.exactly(func(s *Scenario) *resourceapi.ExactDeviceRequest { return request(s).Exactly })
			}
		}
	}
}

func (k *shrinker) exactly(e func(*Scenario) *resourceapi.ExactDeviceRequest) {
	unset(k, func(s *Scenario) **bool { return &e(s).AdminAccess }, notNil)
	k.parts(
		func(s *Scenario) *int64 { return &e(s).Count },
		func(s *Scenario) *[]resourceapi.DeviceSelector { return &e(s).Selectors },
		func(s *Scenario) *[]resourceapi.DeviceToleration { return &e(s).Tolerations },
		func(s *Scenario) **resourceapi.CapacityRequirements { return &e(s).Capacity },
		func(s *Scenario) *[]resourceapi.DeviceDerivedAttribute { return &e(s).DerivedAttributes },
	)
}

func (k *shrinker) alternative(a func(*Scenario) *resourceapi.DeviceSubRequest) {
	k.parts(
		func(s *Scenario) *int64 { return &a(s).Count },
		func(s *Scenario) *[]resourceapi.DeviceSelector { return &a(s).Selectors },
		func(s *Scenario) *[]resourceapi.DeviceToleration { return &a(s).Tolerations },
		func(s *Scenario) **resourceapi.CapacityRequirements { return &a(s).Capacity },
		func(s *Scenario) *[]resourceapi.DeviceDerivedAttribute { return &a(s).DerivedAttributes },
	)
}

func (k *shrinker) parts(
	count func(*Scenario) *int64,
	selectors func(*Scenario) *[]resourceapi.DeviceSelector,
	tolerations func(*Scenario) *[]resourceapi.DeviceToleration,
	capacity func(*Scenario) **resourceapi.CapacityRequirements,
	derived func(*Scenario) *[]resourceapi.DeviceDerivedAttribute,
) {
	for *count(k.best) > 1 && k.try(func(s *Scenario) { *count(s)-- }) {
	}
	each(k, selectors)
	each(k, tolerations)
	each(k, derived)
	unset(k, capacity, notNil)
	if *capacity(k.best) != nil && len((*capacity(k.best)).Requests) > 1 {
		eachKey(k, func(s *Scenario) *requestedCapacity {
			return &(*capacity(s)).Requests
		})
	}
}

func (k *shrinker) classesAndNodes() {
	for i := range k.best.Classes {
		each(k, func(s *Scenario) *[]resourceapi.DeviceSelector { return &s.Classes[i].Spec.Selectors })
		each(k, func(s *Scenario) *[]resourceapi.DeviceClassConfiguration { return &s.Classes[i].Spec.Config })
	}
	for i := range k.best.Nodes {
		each(k, func(s *Scenario) *[]string { return &s.Nodes[i].Status.DeclaredFeatures })
	}
}
