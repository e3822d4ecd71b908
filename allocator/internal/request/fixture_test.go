package request

import (
	"context"
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/dynamic-resource-allocation/cel"
	"k8s.io/dynamic-resource-allocation/structured/schedulerapi"

	"github.com/dray-dev/dray/allocator/internal/inventory"
	"github.com/dray-dev/dray/allocator/internal/selector"
)

// everything has all features on.
var everything = Features{
	AdminAccess: true, CompatibilityGroups: true, ConsumableCapacity: true, DerivedAttributes: true,
	DeviceBindingAndStatus: true, DeviceTaints: true, FractionalCapacityRange: true,
	ListTypeAttributes: true, OptionalNodeOperations: true, PartitionableDevices: true, PrioritizedList: true,
}

// classes is a lister.
type classes map[string]*resourceapi.DeviceClass

func (c classes) Get(name string) (*resourceapi.DeviceClass, error) {
	if class, found := c[name]; found {
		return class, nil
	}
	return nil, fmt.Errorf("there is no %q", name)
}

// class has the given CEL selectors.
func class(name string, expressions ...string) *resourceapi.DeviceClass {
	c := &resourceapi.DeviceClass{ObjectMeta: metav1.ObjectMeta{Name: name}}
	c.Spec.Selectors = selectors(expressions...)
	return c
}

func selectors(expressions ...string) []resourceapi.DeviceSelector {
	var list []resourceapi.DeviceSelector
	for _, expression := range expressions {
		list = append(list, resourceapi.DeviceSelector{CEL: &resourceapi.CELDeviceSelector{Expression: expression}})
	}
	return list
}

// anyClass lists one class, without selectors.
var anyClass = classes{"any": class("any")}

func claim(name string, requests ...resourceapi.DeviceRequest) *resourceapi.ResourceClaim {
	c := &resourceapi.ResourceClaim{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "ns"}}
	c.Spec.Devices.Requests = requests
	return c
}

// exactly is a request for one device of class any, with edits.
func exactly(name string, edits ...func(*resourceapi.ExactDeviceRequest)) resourceapi.DeviceRequest {
	r := &resourceapi.ExactDeviceRequest{DeviceClassName: "any", AllocationMode: resourceapi.DeviceAllocationModeExactCount, Count: 1}
	for _, edit := range edits {
		edit(r)
	}
	return resourceapi.DeviceRequest{Name: name, Exactly: r}
}

func allDevices(r *resourceapi.ExactDeviceRequest) {
	r.AllocationMode, r.Count = resourceapi.DeviceAllocationModeAll, 0
}

func admin(r *resourceapi.ExactDeviceRequest) { yes := true; r.AdminAccess = &yes }

func that(expressions ...string) func(*resourceapi.ExactDeviceRequest) {
	return func(r *resourceapi.ExactDeviceRequest) { r.Selectors = selectors(expressions...) }
}

func count(n int64) func(*resourceapi.ExactDeviceRequest) {
	return func(r *resourceapi.ExactDeviceRequest) { r.Count = n }
}

func needs(pairs ...string) func(*resourceapi.ExactDeviceRequest) {
	return func(r *resourceapi.ExactDeviceRequest) { r.Capacity = asks(pairs...) }
}

// sub is a subrequest for one device of class any.
func sub(name string) resourceapi.DeviceSubRequest {
	return resourceapi.DeviceSubRequest{Name: name, DeviceClassName: "any", AllocationMode: resourceapi.DeviceAllocationModeExactCount, Count: 1}
}

func firstAvailable(name string, subs ...resourceapi.DeviceSubRequest) resourceapi.DeviceRequest {
	return resourceapi.DeviceRequest{Name: name, FirstAvailable: subs}
}

// match is a constraint on an attribute.
func match(attribute string, requests ...string) resourceapi.DeviceConstraint {
	name := resourceapi.FullyQualifiedName(attribute)
	return resourceapi.DeviceConstraint{MatchAttribute: &name, Requests: requests}
}

// device has a name and edits.
func device(name string, edits ...func(*resourceapi.Device)) resourceapi.Device {
	d := resourceapi.Device{Name: name, Attributes: map[resourceapi.QualifiedName]resourceapi.DeviceAttribute{}}
	for _, edit := range edits {
		edit(&d)
	}
	return d
}

// slice is a complete pool of the node n, "driver/<pool>".
func slice(pool string, devices ...resourceapi.Device) *resourceapi.ResourceSlice {
	node := "n"
	return &resourceapi.ResourceSlice{
		ObjectMeta: metav1.ObjectMeta{Name: pool, UID: types.UID(pool), ResourceVersion: "1"},
		Spec: resourceapi.ResourceSliceSpec{
			Driver: "driver", NodeName: &node, Pool: resourceapi.ResourcePool{Name: pool, Generation: 1, ResourceSliceCount: 1}, Devices: devices,
		},
	}
}

// situation is what claims are bound in.
type situation struct {
	features Features
	classes  ClassLister
	slices   []*resourceapi.ResourceSlice
	state    schedulerapi.AllocatedState
	// declared are the features of the node's kubelet.
	declared []string
}

// on is a situation with all features, class any, and the slices.
func on(slices ...*resourceapi.ResourceSlice) situation {
	return situation{features: everything, classes: anyClass, slices: slices}
}

// bind compiles and binds the claims on node n.
func (s situation) bind(t testing.TB, claims ...*resourceapi.ResourceClaim) (*Bound, error) {
	t.Helper()
	return s.bindIn(t, new(Scratch), claims...)
}

// bindIn is bind in memory that may have been used before.
func (s situation) bindIn(t testing.TB, scratch *Scratch, claims ...*resourceapi.ResourceClaim) (*Bound, error) {
	t.Helper()
	compiled, err := scratch.Compile(s.features, s.classes, claims)
	if err != nil {
		return nil, err
	}
	snapshot, err := inventory.New().Sync(s.slices)
	if err != nil {
		t.Fatal(err)
	}
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n"}, Status: corev1.NodeStatus{DeclaredFeatures: s.declared}}
	view, err := snapshot.Node(node, inventory.Variant{Partitionable: s.features.PartitionableDevices, CompatibilityGroups: s.features.CompatibilityGroups})
	if err != nil {
		t.Fatal(err)
	}
	evaluator := &selector.Evaluator{Cache: cel.NewCache(10, cel.Features{EnableConsumableCapacity: s.features.ConsumableCapacity, EnableListTypeAttributes: s.features.ListTypeAttributes})}
	return scratch.Bind(context.Background(), compiled, Target{API: node, Node: view, Usage: inventory.NewUsage(s.state), Evaluator: evaluator})
}

// mustBind is bind for claims that are right.
func (s situation) mustBind(t testing.TB, claims ...*resourceapi.ResourceClaim) *Bound {
	t.Helper()
	b, err := s.bind(t, claims...)
	if err != nil {
		t.Fatal(err)
	}
	return b
}
