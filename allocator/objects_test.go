package allocator_test

import (
	"context"
	"fmt"
	"reflect"
	"testing"

	corev1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/yaml"

	"github.com/dray-dev/dray/allocator"
	"github.com/dray-dev/dray/allocator/allocatortest"
)

// The objects of these tests: one driver, one node, and a class of the driver's
// name. What a test is about, it changes.
const (
	driver   = "gpu.example.com"
	nodeName = "node-a"
)

// celCaches compiles each expression once for all tests.
var celCaches = allocatortest.NewCELCaches()

var everything = allocator.Features{
	AdminAccess: true, CompatibilityGroups: true, ConsumableCapacity: true, DerivedAttributes: true,
	DeviceBindingAndStatus: true, DeviceTaints: true, FractionalCapacityRange: true, ListTypeAttributes: true,
	OptionalNodeOperations: true, PartitionableDevices: true, PrioritizedList: true,
}

func newNode(name string) *corev1.Node {
	return &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"kubernetes.io/hostname": name}}}
}

// newSlice is a pool of its own, with the node's name, unless a test makes it
// a part of one.
func newSlice(name, node string, devices ...resourceapi.Device) *resourceapi.ResourceSlice {
	return &resourceapi.ResourceSlice{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: resourceapi.ResourceSliceSpec{
			Driver:   driver,
			NodeName: ptr.To(node),
			Pool:     resourceapi.ResourcePool{Name: node, Generation: 1, ResourceSliceCount: 1},
			Devices:  devices,
		},
	}
}

// newGPU has the number of the name as its index, and memory.
func newGPU(index int) resourceapi.Device {
	return resourceapi.Device{
		Name: fmt.Sprintf("gpu-%d", index),
		Attributes: map[resourceapi.QualifiedName]resourceapi.DeviceAttribute{
			"index": {IntValue: ptr.To(int64(index))},
			"model": {StringValue: ptr.To("a100")},
		},
		Capacity: map[resourceapi.QualifiedName]resourceapi.DeviceCapacity{"memory": {Value: resource.MustParse("40Gi")}},
	}
}

func newGPUs(n int) []resourceapi.Device {
	devices := make([]resourceapi.Device, n)
	for i := range devices {
		devices[i] = newGPU(i)
	}
	return devices
}

func newClass(name string, expressions ...string) *resourceapi.DeviceClass {
	return &resourceapi.DeviceClass{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec:       resourceapi.DeviceClassSpec{Selectors: celSelectors(expressions)},
	}
}

func celSelectors(expressions []string) []resourceapi.DeviceSelector {
	var selectors []resourceapi.DeviceSelector
	for _, expression := range expressions {
		selectors = append(selectors, resourceapi.DeviceSelector{CEL: &resourceapi.CELDeviceSelector{Expression: expression}})
	}
	return selectors
}

// wants is a request for some of the driver's devices.
func wants(name string, count int64, expressions ...string) resourceapi.DeviceRequest {
	return resourceapi.DeviceRequest{Name: name, Exactly: &resourceapi.ExactDeviceRequest{
		DeviceClassName: driver,
		AllocationMode:  resourceapi.DeviceAllocationModeExactCount,
		Count:           count,
		Selectors:       celSelectors(expressions),
	}}
}

func wantsAll(name string, expressions ...string) resourceapi.DeviceRequest {
	request := wants(name, 0, expressions...)
	request.Exactly.AllocationMode = resourceapi.DeviceAllocationModeAll
	return request
}

func newClaim(name string, requests ...resourceapi.DeviceRequest) *resourceapi.ResourceClaim {
	return &resourceapi.ResourceClaim{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name},
		Spec:       resourceapi.ResourceClaimSpec{Devices: resourceapi.DeviceClaim{Requests: requests}},
	}
}

// newScenario has one node with one pool of GPUs, and the claims to allocate.
func newScenario(gpus int, claims ...*resourceapi.ResourceClaim) *allocatortest.Scenario {
	return &allocatortest.Scenario{
		Features: everything,
		Nodes:    []*corev1.Node{newNode(nodeName)},
		Slices:   []*resourceapi.ResourceSlice{newSlice("slice-a", nodeName, newGPUs(gpus)...)},
		Classes:  []*resourceapi.DeviceClass{newClass(driver, fmt.Sprintf("device.driver == %q", driver))},
		Claims:   claims,
	}
}

// newAllocator gives the inventory what the scenario has.
func newAllocator(inv *allocator.Inventory, s *allocatortest.Scenario) (*allocator.Allocator, error) {
	return inv.NewAllocator(context.Background(), s.Features, s.AllocatedState(), s.ClassLister(), s.Slices, celCaches.For(s))
}

// ask allocates the scenario's claims on its first node. It fails the test if
// that changes anything in the scenario.
func ask(t testing.TB, inv *allocator.Inventory, s *allocatortest.Scenario) ([]resourceapi.AllocationResult, error) {
	t.Helper()
	before := s.Clone()
	a, err := newAllocator(inv, s)
	if err != nil {
		return nil, err
	}
	results, err := a.Allocate(context.Background(), s.Nodes[0], s.Claims)
	if !equalScenarios(before, s) {
		t.Errorf("the inputs were modified:\nbefore %s\nafter  %s", dump(before), dump(s))
	}
	return results, err
}

// equalScenarios is strict: a quantity that has cached its text is another one.
// Both sides are copied, because copying a quantity of zero is not the identity.
func equalScenarios(a, b *allocatortest.Scenario) bool {
	return reflect.DeepEqual(a.Clone(), b.Clone())
}

// devicesOf names the devices of the results, claim by claim.
func devicesOf(results []resourceapi.AllocationResult) [][]string {
	var names [][]string
	for _, result := range results {
		devices := []string{}
		for _, device := range result.Devices.Results {
			devices = append(devices, device.Request+"="+device.Device)
		}
		names = append(names, devices)
	}
	return names
}

// dump is what a failure shows of a scenario.
func dump(s *allocatortest.Scenario) string {
	text, err := yaml.Marshal(s)
	if err != nil {
		return fmt.Sprintf("%#v (%v)", s, err)
	}
	return string(text)
}
