package result

import (
	"context"
	"fmt"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/dynamic-resource-allocation/structured/schedulerapi"

	"github.com/dray-dev/dray/allocator/internal/inventory"
	"github.com/dray-dev/dray/allocator/internal/request"
	"github.com/dray-dev/dray/allocator/internal/search"
	"github.com/dray-dev/dray/allocator/internal/selector"
)

// everything has all features on.
var everything = request.Features{
	AdminAccess: true, CompatibilityGroups: true, ConsumableCapacity: true, DerivedAttributes: true,
	DeviceBindingAndStatus: true, DeviceTaints: true, FractionalCapacityRange: true,
	ListTypeAttributes: true, OptionalNodeOperations: true, PartitionableDevices: true, PrioritizedList: true,
}

// classes is a lister of classes that have configuration for the drivers named.
type classes map[string][]string

func (c classes) Get(name string) (*resourceapi.DeviceClass, error) {
	class := &resourceapi.DeviceClass{ObjectMeta: metav1.ObjectMeta{Name: name}}
	for _, driver := range c[name] {
		class.Spec.Config = append(class.Spec.Config, resourceapi.DeviceClassConfiguration{DeviceConfiguration: configFor(driver)})
	}
	return class, nil
}

func configFor(driver string) resourceapi.DeviceConfiguration {
	return resourceapi.DeviceConfiguration{Opaque: &resourceapi.OpaqueDeviceConfiguration{Driver: driver}}
}

// slice is a complete pool of one slice for all nodes.
func slice(pool string, devices ...resourceapi.Device) *resourceapi.ResourceSlice {
	yes := true
	return &resourceapi.ResourceSlice{
		ObjectMeta: metav1.ObjectMeta{Name: pool, UID: types.UID(pool), ResourceVersion: "1"},
		Spec: resourceapi.ResourceSliceSpec{
			Driver: "driver", AllNodes: &yes, Pool: resourceapi.ResourcePool{Name: pool, Generation: 1, ResourceSliceCount: 1}, Devices: devices,
		},
	}
}

// exactly is a request for one device of a class; the node's devices are taken
// in their order.
func exactly(name, class string, edits ...func(*resourceapi.ExactDeviceRequest)) resourceapi.DeviceRequest {
	r := &resourceapi.ExactDeviceRequest{DeviceClassName: class, AllocationMode: resourceapi.DeviceAllocationModeExactCount, Count: 1}
	for _, edit := range edits {
		edit(r)
	}
	return resourceapi.DeviceRequest{Name: name, Exactly: r}
}

// second is a request with two alternatives, of which only the second, for one
// device, can be had where there are fewer than nine.
func second(name, class string) resourceapi.DeviceRequest {
	sub := func(name, class string, count int64) resourceapi.DeviceSubRequest {
		return resourceapi.DeviceSubRequest{Name: name, DeviceClassName: class, AllocationMode: resourceapi.DeviceAllocationModeExactCount, Count: count}
	}
	return resourceapi.DeviceRequest{Name: name, FirstAvailable: []resourceapi.DeviceSubRequest{sub("large", "unused", 9), sub("small", class, 1)}}
}

func claim(requests ...resourceapi.DeviceRequest) *resourceapi.ResourceClaim {
	c := &resourceapi.ResourceClaim{ObjectMeta: metav1.ObjectMeta{Name: "c", Namespace: "ns"}}
	c.Spec.Devices.Requests = requests
	return c
}

// newShareIDs counts: share-1, share-2, ...
func newShareIDs() func() types.UID {
	n := 0
	return func() types.UID { n++; return types.UID(fmt.Sprintf("share-%d", n)) }
}

// write allocates the claims on node n and writes the result. It demands that
// claims and slices stay as they are.
func write(t *testing.T, features request.Features, lister request.ClassLister, list []*resourceapi.ResourceSlice, claims ...*resourceapi.ResourceClaim) ([]resourceapi.AllocationResult, error) {
	t.Helper()
	var before []string
	for _, s := range list {
		before = append(before, s.String())
	}
	for _, c := range claims {
		before = append(before, c.String())
	}
	compiled, err := request.Compile(features, lister, claims)
	if err != nil {
		t.Fatal(err)
	}
	snapshot, err := inventory.New().Sync(list)
	if err != nil {
		t.Fatal(err)
	}
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n", Labels: map[string]string{"zone": "z"}}, Status: corev1.NodeStatus{DeclaredFeatures: []string{request.SkippingFeature}}}
	view, err := snapshot.Node(node, inventory.Variant{Partitionable: features.PartitionableDevices, CompatibilityGroups: features.CompatibilityGroups})
	if err != nil {
		t.Fatal(err)
	}
	ctx := context.Background()
	bound, err := request.Bind(ctx, compiled, request.Target{API: node, Node: view, Usage: inventory.NewUsage(schedulerapi.AllocatedState{}), Evaluator: &selector.Evaluator{}})
	if err != nil {
		t.Fatal(err)
	}
	outcome := search.Run(ctx, &bound.Problem)
	if outcome.Solution == nil {
		t.Fatalf("the search ends with %+v, want a solution", outcome)
	}
	results, err := Write(bound, outcome.Solution, newShareIDs())
	var after []string
	for _, s := range list {
		after = append(after, s.String())
	}
	for _, c := range claims {
		after = append(after, c.String())
	}
	if !slices.Equal(before, after) {
		t.Errorf("writing the result has changed its inputs from\n%s to\n%s", before, after)
	}
	return results, err
}
