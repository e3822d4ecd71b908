package partitioning_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	resourceapi "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/dynamic-resource-allocation/cel"
	"k8s.io/dynamic-resource-allocation/structured/schedulerapi"

	"github.com/dray-dev/dray/allocator"
	"github.com/dray-dev/dray/hwsim/engine"
	"github.com/dray-dev/dray/kubeletplugin/hardware"
	"github.com/dray-dev/dray/kubeletplugin/publish"
)

// setting is a node in a state from which sequences begin, with what it publishes
// then. What can be published does not change during a sequence: a driver changes
// MIG modes only where they change at once, and announces both sides of those.
type setting struct {
	name  string
	node  *hardware.Node
	state *engine.State
	// devices by name, the names, and the values of their attribute profile, "" for
	// whole GPUs.
	devices  map[string]*device
	names    []string
	profiles []string
	uuids    []string // of the GPUs
	views    []view
}

// view is the slices of a setting as one inventory knows them. Views differ in
// which devices have taints: the allocator takes the first device that fits, and
// would otherwise rarely try the others.
type view struct {
	slices    []*resourceapi.ResourceSlice
	inventory *allocator.Inventory
}

const driverName = "gpu.dray.dev"

var features = allocator.Features{PartitionableDevices: true, CompatibilityGroups: true, DeviceTaints: true}

// celCache is shared: it has an entry for each expression that the claims use.
var celCache = cel.NewCache(1000, cel.Features{})

// begin is the time of every setting.
var begin = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// settings of a node: as it is delivered, partitioned, and with the other kind of
// virtual GPUs, where it can be.
func settings(node *hardware.Node) ([]*setting, error) {
	var all []*setting
	for _, way := range []struct {
		name   string
		change func(*engine.Engine, *hardware.GPU) error
	}{
		{"delivered", func(*engine.Engine, *hardware.GPU) error { return nil }},
		{"partitioned", func(e *engine.Engine, gpu *hardware.GPU) error {
			if gpu.MIG == nil {
				return nil
			}
			if err := e.SetMIGMode(gpu.Address, true); err != nil {
				return err
			}
			return e.Reset(gpu.Address)
		}},
		{"other virtual GPUs", func(e *engine.Engine, gpu *hardware.GPU) error {
			if gpu.VGPU == nil || !slices.ContainsFunc(gpu.VGPU.Types, func(t hardware.VGPUType) bool { return t.MaxMixed > 0 }) {
				return nil
			}
			return e.SetMixedSizeVGPUs(gpu.Address, !gpu.VGPU.MixedSize)
		}},
	} {
		e, err := engine.Open(node, engine.New(node), &clock{begin})
		if err != nil {
			return nil, err
		}
		for i := range node.GPUs {
			if err := way.change(e, &node.GPUs[i]); err != nil {
				return nil, fmt.Errorf("%s: %w", way.name, err)
			}
		}
		if len(all) > 0 && e.State().LastEvent == 0 && sameGPUs(e.State(), all[0].state) {
			continue // it is as delivered
		}
		s, err := newSetting(way.name, node, e)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", way.name, err)
		}
		all = append(all, s)
	}
	return all, nil
}

// sameGPUs says whether virtual GPUs are as in the other state.
func sameGPUs(a, b *engine.State) bool {
	return slices.EqualFunc(a.GPUs, b.GPUs, func(x, y engine.GPU) bool {
		return (x.VGPU == nil) == (y.VGPU == nil) && (x.VGPU == nil || x.VGPU.MixedSize == y.VGPU.MixedSize)
	})
}

func newSetting(name string, node *hardware.Node, e *engine.Engine) (*setting, error) {
	s := &setting{name: name, node: node, state: e.State(), devices: map[string]*device{}}
	now := *e.Node()
	now.NICs, now.AMDGPUs, now.FPGAs = nil, nil, nil
	for i := range now.GPUs {
		s.uuids = append(s.uuids, now.GPUs[i].UUID)
		// Instances that an administrator made are not the driver's.
		if mig := s.state.GPUs[i].MIG; mig != nil {
			mig.Instances = nil
		}
	}
	publisher, err := publish.New(publish.Options{MIG: publish.MIGDynamic, VGPU: true,
		Features: publish.Features{PartitionableDevices: true, CompatibilityGroups: true, DeviceTaints: true}})
	if err != nil {
		return nil, err
	}
	pools, err := publisher.Node("node-a", &now, publish.State{})
	if err != nil {
		return nil, err
	}
	var published []*resourceapi.ResourceSlice
	for i := range pools {
		for j := range pools[i].Slices {
			if slice := &pools[i].Slices[j]; slice.Spec.Driver == driverName { // the other one is of compute domains
				published = append(published, slice)
			}
		}
	}
	for _, slice := range published {
		for i := range slice.Spec.Devices {
			profile := ""
			if value := slice.Spec.Devices[i].Attributes["profile"].StringValue; value != nil {
				profile = *value
			}
			d, err := newDevice(&now, slice.Spec.Devices[i].Name, profile)
			if err != nil {
				return nil, err
			}
			s.devices[d.name], s.names = d, append(s.names, d.name)
			if !slices.Contains(s.profiles, profile) {
				s.profiles = append(s.profiles, profile)
			}
		}
	}
	for n := range 8 {
		s.views = append(s.views, newView(published, uint64(n)))
	}
	return s, nil
}

// newView is a view in which taints are on random devices, from none to most.
func newView(published []*resourceapi.ResourceSlice, n uint64) view {
	random := rand.New(rand.NewPCG(n, 0))
	v := view{inventory: allocator.NewInventory()}
	taint := resourceapi.DeviceTaint{Key: "gpu.dray.dev/away", Effect: resourceapi.DeviceTaintEffectNoSchedule, TimeAdded: &metav1.Time{Time: begin}}
	for _, slice := range published {
		slice := slice.DeepCopy()
		for i := range slice.Spec.Devices {
			if random.Uint64N(10) < n {
				slice.Spec.Devices[i].Taints = []resourceapi.DeviceTaint{taint}
			}
		}
		v.slices = append(v.slices, slice)
	}
	return v
}

func deviceID(name string) schedulerapi.DeviceID {
	return schedulerapi.MakeDeviceID(driverName, "node-a", name)
}
