package machines_test

import (
	"context"
	"testing"
	"time"

	resourceapi "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/dynamic-resource-allocation/cel"

	"github.com/dray-dev/dray/e2e/apivalidation"
	"github.com/dray-dev/dray/hwsim/machine"
	"github.com/dray-dev/dray/kubeletplugin/publish"
)

func TestTheServerStoresEverySliceOfEveryMachineAsItIs(t *testing.T) {
	slices, devices := 0, 0
	for _, name := range machine.Names() {
		made := instance(t, name)
		for way, options := range optionSets {
			for _, slice := range slicesOf(published(t, options, made, publish.State{})) {
				store(t, name+", "+way, slice)
				slices, devices = slices+1, devices+len(slice.Spec.Devices)
			}
		}
	}
	t.Logf("%d slices with %d devices", slices, devices)
	if slices < 500 {
		t.Errorf("only %d slices", slices)
	}
}

func store(t *testing.T, what string, slice *resourceapi.ResourceSlice) {
	t.Helper()
	stored, err := apivalidation.Slice(slice)
	if err != nil {
		t.Errorf("%s: slice %s: %v", what, slice.Name, err)
	} else if !apivalidation.Kept(slice, stored) {
		t.Errorf("%s: slice %s: the server drops something of it", what, slice.Name)
	}
}

// With taints a slice has room for half as many devices, so every pool is divided
// in another way.
func TestTheServerStoresTaintedDevicesAsTheyAre(t *testing.T) {
	added := metav1.NewTime(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC))
	taint := resourceapi.DeviceTaint{Key: "gpu.dray.dev/xid", Value: "79", Effect: resourceapi.DeviceTaintEffectNoSchedule, TimeAdded: &added}
	for _, name := range machine.Names() {
		made := instance(t, name)
		for way, options := range optionSets {
			options.Features.DeviceTaints = true
			state := publish.State{Taints: map[publish.DeviceID][]resourceapi.DeviceTaint{}}
			for _, slice := range slicesOf(published(t, options, made, publish.State{})) {
				for i := range slice.Spec.Devices {
					state.Taints[publish.DeviceID{Driver: slice.Spec.Driver, Device: slice.Spec.Devices[i].Name}] = []resourceapi.DeviceTaint{taint}
				}
			}
			for _, slice := range slicesOf(published(t, options, made, state)) {
				store(t, name+", tainted, "+way, slice)
				for i := range slice.Spec.Devices {
					if len(slice.Spec.Devices[i].Taints) != 1 {
						t.Fatalf("%s, %s: device %s of slice %s has no taint", name, way, slice.Spec.Devices[i].Name, slice.Name)
					}
				}
			}
		}
	}
}

// A class must be valid, and its expression must have an answer for every device
// of its driver: an expression that fails on one device makes pods fail that
// would have taken another.
func TestEveryDeviceIsInAClassAndNoClassFails(t *testing.T) {
	for way, options := range optionSets {
		classes, err := publish.DeviceClasses(options)
		if err != nil {
			t.Fatal(err)
		}
		selectors := make([][]cel.CompilationResult, len(classes))
		for i := range classes {
			stored, err := apivalidation.Class(&classes[i])
			if err != nil {
				t.Fatalf("%s: class %s: %v", way, classes[i].Name, err)
			}
			resource := options.ExtendedResources[classes[i].Name]
			if kept := stored.Spec.ExtendedResourceName; resource != "" && (kept == nil || *kept != resource) {
				t.Errorf("%s: class %s: the server keeps the extended resource %v of %s", way, classes[i].Name, kept, resource)
			}
			for _, selector := range classes[i].Spec.Selectors {
				result := cel.GetCompiler(cel.Features{}).CompileCELExpression(selector.CEL.Expression, cel.Options{})
				if result.Error != nil {
					t.Fatalf("%s: class %s: %v", way, classes[i].Name, result.Error)
				}
				selectors[i] = append(selectors[i], result)
			}
		}
		for _, name := range machine.Names() {
			for _, slice := range slicesOf(published(t, options, instance(t, name), publish.State{})) {
				for d := range slice.Spec.Devices {
					classify(t, way+", "+name, slice, d, classes, selectors)
				}
			}
		}
	}
}

func classify(t *testing.T, what string, slice *resourceapi.ResourceSlice, d int, classes []resourceapi.DeviceClass, selectors [][]cel.CompilationResult) {
	t.Helper()
	device := &slice.Spec.Devices[d]
	in := false
	for i := range classes {
		matches := true
		for _, selector := range selectors[i] {
			ok, _, err := selector.DeviceMatches(context.Background(), cel.Device{
				Driver: slice.Spec.Driver, Attributes: device.Attributes, Capacity: device.Capacity,
			})
			if err != nil {
				t.Fatalf("%s: class %s on device %s: %v", what, classes[i].Name, device.Name, err)
			}
			matches = matches && ok
		}
		in = in || matches
	}
	if !in {
		t.Errorf("%s: device %s of %s is in no class", what, device.Name, slice.Spec.Driver)
	}
}
