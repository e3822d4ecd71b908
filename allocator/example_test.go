package allocator_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"

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

// explain writes why the claims do not fit: a page about one node for a reader, what
// binds there for a program, and a line for all nodes that fail in the same way.
func explain(ctx context.Context, w io.Writer, a *allocator.Allocator, nodes []*corev1.Node, claims []*resourceapi.ResourceClaim) error {
	e, err := a.Explain(ctx, nodes[0], claims)
	if err != nil {
		return err
	}
	fmt.Fprint(w, e.Text())
	if e.First != nil && e.First.Binding.Cause == allocator.CauseInUse {
		first, err := json.MarshalIndent(e.First, "", "  ")
		if err != nil {
			return err
		}
		fmt.Fprintf(w, "%s\n", first)
	}
	cluster, err := a.ExplainCluster(ctx, nodes, claims)
	if err != nil {
		return err
	}
	for _, group := range cluster.Groups {
		fmt.Fprintf(w, "%d of %d nodes: %s\n", group.Nodes, cluster.Nodes, group.Reason)
	}
	return nil
}

// Two nodes with one GPU each, of which both are in use.
func ExampleAllocator_Explain() {
	classes := newScenario(0).ClassLister()
	nodes := []*corev1.Node{newNode("node-a"), newNode("node-b")}
	var slices []*resourceapi.ResourceSlice
	inUse := schedulerapi.AllocatedState{AllocatedDevices: sets.New[schedulerapi.DeviceID]()}
	for _, node := range nodes {
		slices = append(slices, newSlice("slice-"+node.Name, node.Name, newGPU(0)))
		inUse.AllocatedDevices.Insert(schedulerapi.MakeDeviceID(driver, node.Name, "gpu-0"))
	}
	p := newPlacer(classes)
	a, err := p.inventory.NewAllocator(context.Background(), allocator.Features{}, inUse, p.classes, slices, p.celCache)
	if err == nil {
		err = explain(context.Background(), os.Stdout, a, nodes, []*resourceapi.ResourceClaim{newClaim("train", wants("gpu", 1))})
	}
	if err != nil {
		fmt.Println("error:", err)
	}
	// Output:
	// node-a: the claims do not fit
	//   claim train, request gpu: matching devices are in use
	//     1 device wanted, 0 left free
	//     1 device in use
	//     nearest miss: gpu.example.com/node-a/gpu-0, in use
	//
	// claim default/train
	//   request             gpu
	//   wanted                1
	//   in the pools          1
	//   supported             1
	//   of the class          1
	//   selected              1
	//   on the node           1
	//   not tainted           1
	//   free                > 0
	//   with capacity         0
	//   with counters         0
	//   compatible            0
	//   under constraints     0
	// {
	//   "claim": "default/train",
	//   "request": "gpu",
	//   "binding": {
	//     "cause": "inUse",
	//     "stage": "free",
	//     "wanted": 1,
	//     "left": 0,
	//     "devices": 1
	//   }
	// }
	// 2 of 2 nodes: claim train, request gpu: matching devices are in use
}
