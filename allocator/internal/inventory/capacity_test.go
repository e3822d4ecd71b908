package inventory

import (
	"fmt"
	"slices"
	"testing"

	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// Devices are of one kind only if nothing about their capacity differs, not even
// how a quantity is written: policies look at that.
func TestDevicesOfOneKindHaveTheSameCapacity(t *testing.T) {
	q := func(text string) *resource.Quantity { quantity := resource.MustParse(text); return &quantity }
	policies := []*resourceapi.CapacityRequestPolicy{
		nil, {}, {Default: q("1")}, {Default: q("1000m")}, {ValidValues: []resource.Quantity{}}, {ValidValues: []resource.Quantity{*q("1")}},
		{ValidRange: &resourceapi.CapacityRequestPolicyRange{}},
		{ValidRange: &resourceapi.CapacityRequestPolicyRange{Min: q("1")}},
		{ValidRange: &resourceapi.CapacityRequestPolicyRange{Max: q("1")}},
		{ValidRange: &resourceapi.CapacityRequestPolicyRange{Step: q("1")}},
	}
	var devices []resourceapi.Device
	var want []int
	add := func(kind int, capacity map[resourceapi.QualifiedName]resourceapi.DeviceCapacity) {
		devices = append(devices, resourceapi.Device{Name: fmt.Sprint("d", len(devices)), Capacity: capacity})
		want = append(want, kind)
	}
	// Twice each, with more kinds than a device is compared with, but not between the two.
	kind := 0
	for _, policy := range policies {
		for _, name := range []resourceapi.QualifiedName{"a", "b"} {
			for _, value := range []string{"1", "2"} {
				for range 2 {
					add(kind, map[resourceapi.QualifiedName]resourceapi.DeviceCapacity{name: {Value: *q(value), RequestPolicy: policy.DeepCopy()}})
				}
				kind++
			}
		}
	}
	add(kind, nil)
	add(kind, map[resourceapi.QualifiedName]resourceapi.DeviceCapacity{})
	pool := &Pool{
		slices: []*Slice{{API: &resourceapi.ResourceSlice{Spec: resourceapi.ResourceSliceSpec{Devices: devices}}}},
		starts: []int{0, len(devices)},
	}
	pool.Devices = len(devices)
	capacities := pool.Capacities()
	var got []int
	for device := range devices {
		got = append(got, capacities.Kind(device))
	}
	if !slices.Equal(got, want) {
		t.Errorf("kinds are\n%v, want\n%v", got, want)
	}
	for kind, first := range capacities.First {
		if first != slices.Index(want, kind) {
			t.Errorf("kind %d begins at %d", kind, first)
		}
	}
	if pool.Capacities() != capacities {
		t.Error("kinds are worked out again")
	}
}
