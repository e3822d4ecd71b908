package allocatortest

import (
	"reflect"
	"testing"

	"k8s.io/utils/ptr"
)

// TestShrinkKeepsOnlyTheCause: what fails for one thing is shrunk to it.
func TestShrinkKeepsOnlyTheCause(t *testing.T) {
	tainted := func(s *Scenario) bool {
		for _, slice := range s.Slices {
			for _, device := range slice.Spec.Devices {
				if len(device.Taints) > 0 && ptr.Deref(device.AllowMultipleAllocations, false) {
					return true
				}
			}
		}
		return false
	}
	shrunk := 0
	for seed := uint64(0); shrunk < 5; seed++ {
		s := FromSeed(seed)
		if !tainted(s) {
			continue
		}
		shrunk++
		before := s.Clone()
		small := Shrink(s, tainted)
		if !reflect.DeepEqual(before, s) {
			t.Errorf("seed %d: shrinking modifies what it is given", seed)
		}
		if !tainted(small) {
			t.Errorf("seed %d: the shrunk scenario does not fail", seed)
		}
		if len(small.Nodes)+len(small.Claims)+len(small.Allocated)+len(small.Classes) > 0 || len(small.Slices) != 1 || len(small.Slices[0].Spec.Devices) != 1 {
			t.Fatalf("seed %d: not shrunk: %#v", seed, small)
		}
		device := small.Slices[0].Spec.Devices[0]
		if len(device.Taints) != 1 || len(device.Attributes)+len(device.Capacity)+len(device.ConsumesCounters) > 0 {
			t.Errorf("seed %d: the device is not shrunk: %v", seed, device.String())
		}
	}
}
