package difftest

import (
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/dynamic-resource-allocation/cel"
	"k8s.io/dynamic-resource-allocation/structured"
	"k8s.io/dynamic-resource-allocation/structured/schedulerapi"
	"k8s.io/utils/ptr"

	"github.com/dray-dev/dray/allocator"
)

// TestAllOverADeviceWithTooLittleLeft: a request for all with admin access counts
// a device by its capacity when empty and looks at what is left only behind the
// constraints. So what is left must not decide for another request of the claim,
// and must not hide an error of a constraint.
func TestAllOverADeviceWithTooLittleLeft(t *testing.T) {
	adminAll := func(need string) resourceapi.DeviceRequest {
		return resourceapi.DeviceRequest{Name: "all", Exactly: &resourceapi.ExactDeviceRequest{
			DeviceClassName: "full", AllocationMode: resourceapi.DeviceAllocationModeAll, AdminAccess: ptr.To(true), Capacity: memory(need),
		}}
	}
	small := resourceapi.DeviceRequest{Name: "either", FirstAvailable: []resourceapi.DeviceSubRequest{
		{Name: "all", DeviceClassName: "full", AllocationMode: resourceapi.DeviceAllocationModeAll, Capacity: memory("8")},
		{Name: "one", DeviceClassName: "spare", AllocationMode: resourceapi.DeviceAllocationModeExactCount, Count: 1},
	}}
	match := []resourceapi.DeviceConstraint{{MatchAttribute: ptr.To(resourceapi.FullyQualifiedName("full/model"))}}
	derived := adminAll("8")
	derived.Exactly.DerivedAttributes = []resourceapi.DeviceDerivedAttribute{{Name: "full/model", Expression: `device.attributes["full"].missing`}}
	for name, devices := range map[string]resourceapi.DeviceClaim{
		"beside a request that needs more": {Requests: []resourceapi.DeviceRequest{small, adminAll("1")}},
		"under a constraint":               {Requests: []resourceapi.DeviceRequest{adminAll("8")}, Constraints: match},
		"with a faulty derived attribute":  {Requests: []resourceapi.DeviceRequest{derived}, Constraints: match},
	} {
		t.Run(name, func(t *testing.T) {
			claims := []*resourceapi.ResourceClaim{{ObjectMeta: metav1.ObjectMeta{Name: "c", Namespace: "ns"}, Spec: resourceapi.ResourceClaimSpec{Devices: devices}}}
			ours, upstream := onFullDevice(t, claims)
			if diff := cmp.Diff(upstream, ours); diff != "" {
				t.Errorf("ours differs from upstream (-want +got)\n%s", diff)
			}
		})
	}
}

func memory(need string) *resourceapi.CapacityRequirements {
	return &resourceapi.CapacityRequirements{Requests: map[resourceapi.QualifiedName]resource.Quantity{"memory": resource.MustParse(need)}}
}

type anyClass struct{}

func (anyClass) List() ([]*resourceapi.DeviceClass, error) { return nil, nil }
func (anyClass) Get(name string) (*resourceapi.DeviceClass, error) {
	return &resourceapi.DeviceClass{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: resourceapi.DeviceClassSpec{
		Selectors: []resourceapi.DeviceSelector{{CEL: &resourceapi.CELDeviceSelector{Expression: `device.driver == "` + name + `"`}}},
	}}, nil
}

// onFullDevice asks both allocators on a node with an unshareable device of ten
// of which a share of six is alive, and a spare one.
func onFullDevice(t *testing.T, claims []*resourceapi.ResourceClaim) (ours, upstream string) {
	t.Helper()
	ctx := context.Background()
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "node"}}
	slice := func(driver string, device resourceapi.Device) *resourceapi.ResourceSlice {
		return &resourceapi.ResourceSlice{ObjectMeta: metav1.ObjectMeta{Name: driver}, Spec: resourceapi.ResourceSliceSpec{
			Driver: driver, NodeName: &node.Name, Pool: resourceapi.ResourcePool{Name: "pool", ResourceSliceCount: 1}, Devices: []resourceapi.Device{device},
		}}
	}
	slices := []*resourceapi.ResourceSlice{
		slice("full", resourceapi.Device{Name: "device", Capacity: map[resourceapi.QualifiedName]resourceapi.DeviceCapacity{"memory": {Value: resource.MustParse("10")}}}),
		slice("spare", resourceapi.Device{Name: "device"}),
	}
	state := schedulerapi.AllocatedState{AggregatedCapacity: schedulerapi.ConsumedCapacityCollection{
		schedulerapi.MakeDeviceID("full", "pool", "device"): {"memory": ptr.To(resource.MustParse("6"))},
	}}
	all := structured.Features{AdminAccess: true, CompatibilityGroups: true, ConsumableCapacity: true, DerivedAttributes: true, DeviceBindingAndStatus: true,
		DeviceTaints: true, FractionalCapacityRange: true, ListTypeAttributes: true, OptionalNodeOperations: true, PartitionableDevices: true, PrioritizedList: true}
	cache := cel.NewCache(10, cel.Features{EnableConsumableCapacity: true, EnableListTypeAttributes: true})
	u, err := structured.NewAllocator(ctx, all, state, anyClass{}, slices, cache)
	if err != nil {
		t.Fatal(err)
	}
	a, err := allocator.NewInventory().NewAllocator(ctx, allocator.Features(all), state, anyClass{}, slices, cache)
	if err != nil {
		t.Fatal(err)
	}
	describe := func(results []resourceapi.AllocationResult, err error) string {
		text := ""
		if err != nil {
			text = err.Error()
		}
		for _, result := range results {
			for _, device := range result.Devices.Results {
				text += device.Request + "=" + device.Driver + "/" + device.Device + " "
			}
		}
		return text
	}
	return describe(a.Allocate(ctx, node, claims)), describe(u.Allocate(ctx, node, claims))
}
