package apivalidation_test

import (
	"fmt"
	"strings"
	"testing"

	resourceapi "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/dray-dev/dray/e2e/apivalidation"
)

func slice(devices int, change func(*resourceapi.Device)) *resourceapi.ResourceSlice {
	node := "node-1"
	s := &resourceapi.ResourceSlice{
		ObjectMeta: metav1.ObjectMeta{Name: "node-1-gpu"},
		Spec: resourceapi.ResourceSliceSpec{
			Driver:   "gpu.example.com",
			NodeName: &node,
			Pool:     resourceapi.ResourcePool{Name: node, ResourceSliceCount: 1},
		},
	}
	for i := range devices {
		d := resourceapi.Device{Name: fmt.Sprintf("gpu-%d", i)}
		change(&d)
		s.Spec.Devices = append(s.Spec.Devices, d)
	}
	return s
}

func taint(d *resourceapi.Device) {
	d.Taints = []resourceapi.DeviceTaint{{Key: "example.com/broken", Effect: resourceapi.DeviceTaintEffectNone}}
}

func TestTheServersOwnLimitsAreReported(t *testing.T) {
	for _, test := range []struct {
		name    string
		slice   *resourceapi.ResourceSlice
		problem string // empty: the server takes it
	}{
		{"128 plain devices", slice(128, func(*resourceapi.Device) {}), ""},
		{"129 plain devices", slice(129, func(*resourceapi.Device) {}), "must have at most"},
		{"64 tainted devices", slice(64, taint), ""},
		{"65 tainted devices", slice(65, taint), "must have at most 64"},
		{"a name with a dot", slice(1, func(d *resourceapi.Device) { d.Name = "gpu-0-mig-1g.5gb" }), "devices[0].name"},
	} {
		_, err := apivalidation.Slice(test.slice)
		switch {
		case test.problem == "" && err != nil:
			t.Errorf("%s: %v", test.name, err)
		case test.problem != "" && (err == nil || !strings.Contains(err.Error(), test.problem)):
			t.Errorf("%s: %v, want an error with %q", test.name, err, test.problem)
		}
	}
}

func TestWhatTheServerDropsIsNoticed(t *testing.T) {
	plain := slice(1, func(*resourceapi.Device) {})
	stored, err := apivalidation.Slice(plain)
	if err != nil || !apivalidation.Kept(plain, stored) {
		t.Errorf("a plain slice is not kept: %v", err)
	}
	// List values are behind a gate that is off by default.
	lists := slice(1, func(d *resourceapi.Device) {
		d.Attributes = map[resourceapi.QualifiedName]resourceapi.DeviceAttribute{"numa": {IntValues: []int64{0, 1}}}
	})
	if stored, err := apivalidation.Slice(lists); err == nil && apivalidation.Kept(lists, stored) {
		t.Error("list values are kept although their feature is off")
	}
}
