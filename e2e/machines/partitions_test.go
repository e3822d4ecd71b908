package machines_test

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
	corev1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/dynamic-resource-allocation/cel"
	"k8s.io/dynamic-resource-allocation/structured/schedulerapi"

	"github.com/dray-dev/dray/allocator"
	"github.com/dray-dev/dray/kubeletplugin/publish"
)

// Partitions of one GPU of a machine go through the allocator, from the slices
// that the machine publishes. Commands:
//
//	allocate machine=NAME [held=(DEVICE,...)]
//	PROFILE [xN]       a request for N devices of the profile, or type of virtual
//	                   GPU; "gpu" is the whole one
//
// prints the devices that are given, or that they do not fit.
//
//	remaining machine=NAME held=(DEVICE,...)
//
// prints which of the GPU's devices can still be allocated.
func TestPartitionsAreGivenOutAsTheHardwareAdmits(t *testing.T) {
	for _, cases := range []string{"testdata/mig.txt", "testdata/vgpu.txt"} {
		t.Run(cases, func(t *testing.T) { runPartitionCases(t, cases) })
	}
}

func runPartitionCases(t *testing.T, cases string) {
	datadriven.RunTest(t, cases, func(t *testing.T, d *datadriven.TestData) string {
		var name string
		d.ScanArgs(t, "machine", &name)
		gpu := newOneGPU(t, name)
		for _, held := range d.CmdArgs {
			if held.Key == "held" {
				gpu.hold(t, held.Vals...)
			}
		}
		switch d.Cmd {
		case "allocate":
			return gpu.allocate(t, gpu.slices, strings.Split(strings.TrimSpace(d.Input), "\n")) + "\n"
		case "remaining":
			return gpu.remaining(t)
		}
		d.Fatalf(t, "unknown command %s", d.Cmd)
		return ""
	})
}

// oneGPU is a node with the first GPU of a machine.
type oneGPU struct {
	driver string
	slices []*resourceapi.ResourceSlice
	// profiles of devices, "gpu" for the whole one, by device.
	profiles  map[string]string
	devices   []string
	held      sets.Set[schedulerapi.DeviceID]
	inventory *allocator.Inventory
	cache     *cel.Cache
}

var allocatorFeatures = allocator.Features{
	PartitionableDevices: true, CompatibilityGroups: true, DeviceTaints: true, PrioritizedList: true,
}

func newOneGPU(t *testing.T, name string) *oneGPU {
	node := instance(t, name).Nodes[0].Hardware
	node.GPUs, node.NICs = node.GPUs[:1], nil
	options := publish.Options{Features: everything, MIG: publish.MIGDynamic, VGPU: true}
	gpu := &oneGPU{
		driver: publish.DrayDrivers().GPU, profiles: map[string]string{}, held: sets.New[schedulerapi.DeviceID](),
		inventory: allocator.NewInventory(), cache: cel.NewCache(16, cel.Features{}),
	}
	for _, slice := range slicesOf(nodePools(t, options, node)) {
		if slice.Spec.Driver != gpu.driver {
			continue
		}
		gpu.slices = append(gpu.slices, slice)
		for i := range slice.Spec.Devices {
			device := &slice.Spec.Devices[i]
			profile := "gpu"
			if value := device.Attributes["profile"].StringValue; value != nil {
				profile = *value
			}
			gpu.profiles[device.Name] = profile
			gpu.devices = append(gpu.devices, device.Name)
		}
	}
	return gpu
}

func (g *oneGPU) hold(t *testing.T, devices ...string) {
	t.Helper()
	for _, device := range devices {
		if g.profiles[device] == "" {
			t.Fatalf("there is no device %s; there are %s", device, strings.Join(g.devices, " "))
		}
		g.held.Insert(schedulerapi.MakeDeviceID(g.driver, "node-a", device))
	}
}

// Get and List make the only class: everything.
func (g *oneGPU) Get(name string) (*resourceapi.DeviceClass, error) {
	return &resourceapi.DeviceClass{ObjectMeta: metav1.ObjectMeta{Name: name}}, nil
}

// List is part of the interface that allocators take.
func (g *oneGPU) List() ([]*resourceapi.DeviceClass, error) {
	class, err := g.Get("any")
	return []*resourceapi.DeviceClass{class}, err
}

// allocate asks for one claim of the requests.
func (g *oneGPU) allocate(t *testing.T, published []*resourceapi.ResourceSlice, requests []string) string {
	t.Helper()
	claim := &resourceapi.ResourceClaim{ObjectMeta: metav1.ObjectMeta{Name: "claim", Namespace: "default", UID: "claim"}}
	for i, request := range requests {
		profile, times, _ := strings.Cut(request, " x")
		count := 1
		if times != "" {
			var err error
			if count, err = strconv.Atoi(times); err != nil {
				t.Fatalf("%q: %v", request, err)
			}
		}
		expression := fmt.Sprintf(`device.attributes[%q].?profile.orValue("gpu") == %q`, g.driver, profile)
		claim.Spec.Devices.Requests = append(claim.Spec.Devices.Requests, resourceapi.DeviceRequest{
			Name: fmt.Sprintf("r%d", i),
			Exactly: &resourceapi.ExactDeviceRequest{
				DeviceClassName: "any", AllocationMode: resourceapi.DeviceAllocationModeExactCount, Count: int64(count),
				Selectors: []resourceapi.DeviceSelector{{CEL: &resourceapi.CELDeviceSelector{Expression: expression}}},
			},
		})
	}
	state := schedulerapi.AllocatedState{AllocatedDevices: g.held}
	ctx := context.Background()
	a, err := g.inventory.NewAllocator(ctx, allocatorFeatures, state, g, published, g.cache)
	if err != nil {
		t.Fatal(err)
	}
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "node-a"}}
	results, err := a.Allocate(ctx, node, []*resourceapi.ResourceClaim{claim})
	if err != nil {
		t.Fatal(err)
	}
	if results == nil {
		return "does not fit"
	}
	var given []string
	for _, result := range results[0].Devices.Results {
		given = append(given, result.Device)
	}
	return "fits: " + strings.Join(given, " ")
}

// remaining asks for each device as if it were alone.
func (g *oneGPU) remaining(t *testing.T) string {
	t.Helper()
	var out strings.Builder
	var profiles []string
	for _, device := range g.devices {
		if !slices.Contains(profiles, g.profiles[device]) {
			profiles = append(profiles, g.profiles[device])
		}
	}
	for _, profile := range profiles {
		var free []string
		for _, device := range g.devices {
			if g.profiles[device] == profile && g.allocate(t, g.alone(device), []string{profile}) != "does not fit" {
				free = append(free, device)
			}
		}
		fmt.Fprintf(&out, "%s: %s\n", profile, strings.Join(append(free, strings.Repeat("none", 1-min(len(free), 1))), " "))
	}
	return strings.ReplaceAll(out.String(), " \n", "\n")
}

// alone is the slices with one of the devices, and with those that are held,
// whose counters must be counted.
func (g *oneGPU) alone(device string) []*resourceapi.ResourceSlice {
	var published []*resourceapi.ResourceSlice
	for _, slice := range g.slices {
		copied := slice.DeepCopy()
		copied.UID = "" // another slice than the one that the inventory knows
		copied.Spec.Devices = slices.DeleteFunc(copied.Spec.Devices, func(d resourceapi.Device) bool {
			return d.Name != device && !g.held.Has(schedulerapi.MakeDeviceID(g.driver, "node-a", d.Name))
		})
		published = append(published, copied)
	}
	return published
}
