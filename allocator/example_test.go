package allocator_test

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/dynamic-resource-allocation/cel"
	"k8s.io/dynamic-resource-allocation/structured/schedulerapi"

	"github.com/dray-dev/dray/allocator"
)

// placer finds devices for pods. It is safe for concurrent use.
type placer struct {
	inventory *allocator.Inventory
	celCache  *cel.Cache
	classes   allocator.DeviceClassLister
}

func newPlacer(classes allocator.DeviceClassLister) *placer {
	return &placer{
		inventory: allocator.NewInventory(),
		celCache:  cel.NewCache(100, cel.Features{}),
		classes:   classes,
	}
}

// place returns one result per claim, or none if the claims do not fit the node
// together. slices is what the cluster publishes now, in any order, and inUse
// what its claims hold.
func (p *placer) place(ctx context.Context, node *corev1.Node, claims []*resourceapi.ResourceClaim,
	slices []*resourceapi.ResourceSlice, inUse schedulerapi.AllocatedState) ([]resourceapi.AllocationResult, error) {
	features := allocator.Features{PartitionableDevices: true, PrioritizedList: true}
	a, err := p.inventory.NewAllocator(ctx, features, inUse, p.classes, slices, p.celCache)
	if err != nil {
		return nil, err
	}
	return a.Allocate(ctx, node, claims)
}

// One node with two GPUs, and a claim for one of them. A second pod comes when
// the first GPU is taken, a third when none is left.
func Example() {
	classes := newScenario(0).ClassLister() // one class, which selects the driver's devices
	node := newNode("node-a")
	slices := []*resourceapi.ResourceSlice{newSlice("slice-a", node.Name, newGPU(0), newGPU(1))}
	claim := newClaim("train", wants("gpu", 1))

	p := newPlacer(classes)
	inUse := schedulerapi.AllocatedState{AllocatedDevices: sets.New[schedulerapi.DeviceID]()}
	for range 3 {
		results, err := p.place(context.Background(), node, []*resourceapi.ResourceClaim{claim}, slices, inUse)
		switch {
		case err != nil:
			fmt.Println("error:", err)
		case results == nil:
			fmt.Println("does not fit")
		default:
			device := results[0].Devices.Results[0]
			fmt.Printf("request %s gets %s/%s/%s\n", device.Request, device.Driver, device.Pool, device.Device)
			inUse.AllocatedDevices.Insert(schedulerapi.MakeDeviceID(device.Driver, device.Pool, device.Device))
		}
	}
	// Output:
	// request gpu gets gpu.example.com/node-a/gpu-0
	// request gpu gets gpu.example.com/node-a/gpu-1
	// does not fit
}
