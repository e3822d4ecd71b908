package gpulib_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/dray-dev/dray/hwsim/gpulib"
	"github.com/dray-dev/dray/kubeletplugin/hardware"
	"github.com/google/go-cmp/cmp"
)

const gpuAddress = "0000:1b:00.0"

func address(t *testing.T, text string) hardware.PCIAddress {
	t.Helper()
	a, err := hardware.ParsePCIAddress(text)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// a100 has the profiles of an A100 with 40 GB.
func a100() *hardware.MIG {
	mig := &hardware.MIG{Enabled: true, Pending: true}
	add := func(name string, kind hardware.GPUInstanceProfileKind, id, most, compute, multiprocessors, copies, decoders, others, size int, starts ...int) {
		p := hardware.MIGProfile{Name: name, Kind: kind, ID: id, MaxInstances: most, ComputeSlices: compute, MemorySlices: size,
			Resources: hardware.MIGResources{MemoryBytes: uint64(size) * 4864 << 20, Multiprocessors: multiprocessors, CopyEngines: copies,
				Decoders: decoders, JPEGEngines: others, OFAEngines: others}}
		for _, start := range starts {
			p.Placements = append(p.Placements, hardware.Placement{Start: start, Size: size})
		}
		mig.Profiles = append(mig.Profiles, p)
	}
	add("1g.5gb", hardware.GPUInstance1Slice, 19, 7, 1, 14, 1, 0, 0, 1, 0, 1, 2, 3, 4, 5, 6)
	add("2g.10gb", hardware.GPUInstance2Slice, 14, 3, 2, 28, 2, 1, 0, 2, 0, 2, 4)
	add("3g.20gb", hardware.GPUInstance3Slice, 9, 2, 3, 42, 3, 2, 0, 4, 0, 4)
	add("4g.20gb", hardware.GPUInstance4Slice, 5, 1, 4, 56, 4, 2, 0, 4, 0)
	add("7g.40gb", hardware.GPUInstance7Slice, 0, 1, 7, 98, 7, 5, 1, 8, 0)
	add("1g.5gb+me", hardware.GPUInstance1SliceRev1, 20, 1, 1, 14, 1, 1, 1, 1, 0, 1, 2, 3, 4, 5, 6)
	add("1g.10gb", hardware.GPUInstance1SliceRev2, 15, 4, 1, 14, 1, 1, 0, 2, 0, 2, 4, 6)
	return mig
}

// a node with one GPU, with a 3g.20gb instance at 4 that has two compute
// instances.
func nodeWithMIG(t *testing.T) *hardware.Node {
	t.Helper()
	gpu := hardware.GPU{UUID: "GPU-1", ProductName: "NVIDIA A100-SXM4-40GB", ComputeCapability: "8.0", MemoryBytes: 40 << 30, MIG: a100(),
		VGPU: &hardware.VGPU{Types: []hardware.VGPUType{{ID: 468, MIGProfileID: -1, MaxMixed: 8}, {ID: 469, MIGProfileID: -1}, {ID: 476, MIGProfileID: 9}}}}
	gpu.Address, gpu.NUMANode = address(t, gpuAddress), hardware.NoNUMANode
	gpu.MIG.Instances = []hardware.GPUInstanceState{{ID: 2, ProfileID: 9, Placement: hardware.Placement{Start: 4, Size: 4},
		ComputeInstances: []hardware.ComputeInstanceState{{ID: 0, ProfileID: 0, UUID: "MIG-a"}, {ID: 1, ProfileID: 1, UUID: "MIG-b"}}}}
	node := &hardware.Node{GPUDriver: &hardware.GPUDriver{Version: "580.126.20", CUDAVersion: 13000}, GPUs: []hardware.GPU{gpu}}
	if err := node.Validate(); err != nil {
		t.Fatal(err)
	}
	return node
}

// started returns a library over the node, and its GPU.
func started(t *testing.T, node *hardware.Node) (hardware.GPULibrary, hardware.GPUDevice) {
	t.Helper()
	library := gpulib.New(node)
	if err := library.Init(); err != nil {
		t.Fatal(err)
	}
	device, err := library.DeviceByPCIAddress(address(t, gpuAddress))
	if err != nil {
		t.Fatal(err)
	}
	return library, device
}

// get returns the value, or fails the test.
func get[T any](t *testing.T) func(T, error) T {
	return func(value T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return value
	}
}

func TestNothingIsAnsweredOutsideOfInitAndShutdown(t *testing.T) {
	library := gpulib.New(nodeWithMIG(t))
	asks := map[string]func() error{
		"driver version":      func() error { _, err := library.DriverVersion(); return err },
		"CUDA driver version": func() error { _, err := library.CUDADriverVersion(); return err },
		"device count":        func() error { _, err := library.DeviceCount(); return err },
		"device by index":     func() error { _, err := library.DeviceByIndex(0); return err },
		"device by UUID":      func() error { _, err := library.DeviceByUUID("GPU-1"); return err },
		"new event set":       func() error { _, err := library.NewEventSet(); return err },
	}
	for round := range 2 {
		for call, ask := range asks {
			if err := ask(); !errors.Is(err, hardware.ErrGPUUninitialized) {
				t.Errorf("%s in round %d: %v", call, round, err)
			}
		}
		if err := library.Shutdown(); !errors.Is(err, hardware.ErrGPUUninitialized) {
			t.Errorf("shutdown in round %d: %v", round, err)
		}
		for range 2 { // it counts
			if err := library.Init(); err != nil {
				t.Fatal(err)
			}
		}
		if err := library.Shutdown(); err != nil {
			t.Fatal(err)
		}
		for call, ask := range asks {
			if err := ask(); err != nil {
				t.Errorf("%s: %v", call, err)
			}
		}
		if err := library.Shutdown(); err != nil {
			t.Fatal(err)
		}
	}
}

func TestAMachineWithoutADriverHasNoLibrary(t *testing.T) {
	if err := gpulib.New(&hardware.Node{}).Init(); !errors.Is(err, hardware.ErrGPULibraryNotFound) {
		t.Errorf("init: %v", err)
	}
}

func TestEveryChangeIsRefusedWithTheCallAndTheDevice(t *testing.T) {
	node := nodeWithMIG(t)
	before := node.Clone()
	_, gpu := started(t, node)
	instance := get[hardware.GPUInstance](t)(gpu.GPUInstanceByID(2))
	compute := get[hardware.ComputeInstance](t)(instance.ComputeInstanceByID(1))
	for call, change := range map[string]func() error{
		"set compute mode":                   func() error { return gpu.SetComputeMode(hardware.ComputeModeProhibited) },
		"set MIG mode":                       func() error { return gpu.SetMIGMode(false) },
		"set mixed-size vGPUs":               func() error { return gpu.SetMixedSizeVGPUs(true) },
		"create GPU instance":                func() error { _, err := gpu.CreateGPUInstance(19); return err },
		"create GPU instance with placement": func() error { _, err := gpu.CreateGPUInstanceAt(19, hardware.Placement{Size: 1}); return err },
		"create compute instance":            func() error { _, err := instance.CreateComputeInstance(0); return err },
		"destroy GPU instance":               instance.Destroy,
		"destroy compute instance":           compute.Destroy,
	} {
		err := change()
		if !errors.Is(err, hardware.ErrGPUNoPermission) || !strings.HasPrefix(err.Error(), call+": gpu "+gpuAddress+": ") {
			t.Errorf("%s: %v", call, err)
		}
	}
	if diff := cmp.Diff(before, node); diff != "" {
		t.Errorf("the node was modified:\n%s", diff)
	}
}

func TestWhatIsNotThereIsToldApart(t *testing.T) {
	node := nodeWithMIG(t)
	library, gpu := started(t, node)
	plain := nodeWithMIG(t)
	plain.GPUs[0].MIG, plain.GPUs[0].VGPU = nil, nil
	_, without := started(t, plain)
	for _, c := range []struct {
		call string
		ask  func() error
		want error
	}{
		{"device by index", func() error { _, err := library.DeviceByIndex(1); return err }, hardware.ErrGPUInvalidArgument},
		{"device by index", func() error { _, err := library.DeviceByIndex(-1); return err }, hardware.ErrGPUInvalidArgument},
		{"device by UUID", func() error { _, err := library.DeviceByUUID("GPU-2"); return err }, hardware.ErrGPUNotFound},
		{"device by address", func() error { _, err := library.DeviceByPCIAddress(hardware.PCIAddress{}); return err }, hardware.ErrGPUNotFound},
		{"a kind that the model lacks", func() error { _, err := gpu.GPUInstanceProfile(hardware.GPUInstance8Slice); return err }, hardware.ErrGPUNotSupported},
		{"a kind that there is not", func() error { _, err := gpu.GPUInstanceProfile(hardware.GPUInstanceProfileKinds); return err }, hardware.ErrGPUInvalidArgument},
		{"instances of a profile that the model lacks", func() error { _, err := gpu.GPUInstances(1); return err }, hardware.ErrGPUInvalidArgument},
		{"an instance", func() error { _, err := gpu.GPUInstanceByID(0); return err }, hardware.ErrGPUNotFound},
		{"a MIG device", func() error { _, err := gpu.MIGDeviceByIndex(2); return err }, hardware.ErrGPUNotFound},
		{"the parent of a GPU", func() error { _, err := gpu.Parent(); return err }, hardware.ErrGPUInvalidArgument},
		{"the instance of a GPU", func() error { _, err := gpu.GPUInstanceID(); return err }, hardware.ErrGPUInvalidArgument},
		{"MIG", func() error { _, _, err := without.MIGMode(); return err }, hardware.ErrGPUNotSupported},
		{"set MIG", func() error { return without.SetMIGMode(true) }, hardware.ErrGPUNotSupported},
		{"profiles", func() error { _, err := without.GPUInstanceProfile(0); return err }, hardware.ErrGPUNotSupported},
		{"vGPU types", func() error { _, err := without.SupportedVGPUTypes(); return err }, hardware.ErrGPUNotSupported},
		{"creatable vGPU types", func() error { _, err := without.CreatableVGPUTypes(); return err }, hardware.ErrGPUNotSupported},
		{"set mixed sizes", func() error { return without.SetMixedSizeVGPUs(true) }, hardware.ErrGPUNotSupported},
		{"fabric", func() error { _, err := without.Fabric(); return err }, hardware.ErrGPUNotSupported},
		{"module", func() error { _, err := without.ModuleID(); return err }, hardware.ErrGPUNotSupported},
		{"addressing", func() error { _, err := without.AddressingMode(); return err }, hardware.ErrGPUNotSupported},
	} {
		if err := c.ask(); !errors.Is(err, c.want) {
			t.Errorf("%s: %v, not %v", c.call, err, c.want)
		}
	}
	if most := get[int](t)(without.MaxMIGDevices()); most != 0 {
		t.Errorf("a GPU without MIG has up to %d MIG devices", most)
	}
}

func TestMIGDevicesAreFoundByIndexAndUUID(t *testing.T) {
	library, gpu := started(t, nodeWithMIG(t))
	if most := get[int](t)(gpu.MaxMIGDevices()); most != 7 {
		t.Errorf("up to %d MIG devices, not 7", most)
	}
	for index, uuid := range []string{"MIG-a", "MIG-b"} {
		device := get[hardware.GPUDevice](t)(gpu.MIGDeviceByIndex(index))
		same := get[hardware.GPUDevice](t)(library.DeviceByUUID(uuid))
		for _, d := range []hardware.GPUDevice{device, same} {
			if got := get[string](t)(d.UUID()); got != uuid {
				t.Errorf("device %d is %s, not %s", index, got, uuid)
			}
			if !get[bool](t)(d.IsMIGDevice()) {
				t.Errorf("%s is no MIG device", uuid)
			}
			if id := get[int](t)(d.GPUInstanceID()); id != 2 {
				t.Errorf("%s is in instance %d", uuid, id)
			}
			if id := get[int](t)(d.ComputeInstanceID()); id != index {
				t.Errorf("%s is compute instance %d", uuid, id)
			}
			if memory := get[uint64](t)(d.MemoryBytes()); memory != 4*4864<<20 {
				t.Errorf("%s has %d bytes, not those of its GPU instance", uuid, memory)
			}
			parent := get[hardware.GPUDevice](t)(d.Parent())
			if got := get[string](t)(parent.UUID()); got != "GPU-1" {
				t.Errorf("the parent of %s is %s", uuid, got)
			}
			if _, err := d.Name(); !errors.Is(err, hardware.ErrGPUNotSupported) {
				t.Errorf("%s has a name: %v", uuid, err)
			}
		}
	}
}

func TestComputeProfilesAreThoseThatFitTheInstance(t *testing.T) {
	_, gpu := started(t, nodeWithMIG(t))
	instance := get[hardware.GPUInstance](t)(gpu.GPUInstanceByID(2))
	var fit []int
	for kind := range hardware.ComputeInstanceProfileKinds {
		if profile, err := instance.ComputeInstanceProfile(kind); err == nil {
			fit = append(fit, profile.ComputeSlices, profile.MaxInstances)
		} else if !errors.Is(err, hardware.ErrGPUNotSupported) {
			t.Errorf("kind %d: %v", kind, err)
		}
	}
	if diff := cmp.Diff([]int{1, 3, 2, 1, 3, 1}, fit); diff != "" {
		t.Errorf("slices and maxima of 3g.20gb (-want +got):\n%s", diff)
	}
}

func TestVGPUTypesAreCreatableInTheModeOfTheGPU(t *testing.T) {
	for _, c := range []struct {
		mig, mixed bool
		want       []int
	}{{false, false, []int{468, 469}}, {false, true, []int{468}}, {true, false, []int{476}}} {
		node := nodeWithMIG(t)
		gpu := &node.GPUs[0]
		gpu.VGPU.MixedSize = c.mixed
		if !c.mig {
			gpu.MIG.Enabled, gpu.MIG.Instances = false, nil
		}
		_, device := started(t, node)
		if diff := cmp.Diff(c.want, get[[]int](t)(device.CreatableVGPUTypes())); diff != "" {
			t.Errorf("MIG %t, mixed %t (-want +got):\n%s", c.mig, c.mixed, diff)
		}
	}
}

// What nvml.h says of a device that "doesn't have MIG mode enabled".
func TestThereAreNoInstancesToAskForWithoutMIGMode(t *testing.T) {
	node := nodeWithMIG(t)
	mig := node.GPUs[0].MIG
	mig.Enabled, mig.Pending, mig.Instances = false, false, nil
	library := gpulib.New(node)
	if err := library.Init(); err != nil {
		t.Fatal(err)
	}
	gpu := get[hardware.GPUDevice](t)(library.DeviceByIndex(0))
	for name, call := range map[string]func() error{
		"instances":          func() error { _, err := gpu.GPUInstances(19); return err },
		"an instance":        func() error { _, err := gpu.GPUInstanceByID(0); return err },
		"remaining capacity": func() error { _, err := gpu.GPUInstanceRemaining(19); return err },
		"create":             func() error { _, err := gpu.CreateGPUInstance(19); return err },
	} {
		if err := call(); !errors.Is(err, hardware.ErrGPUNotSupported) {
			t.Errorf("%s: %v, want that it is not supported", name, err)
		}
	}
	if most := get[int](t)(gpu.MaxMIGDevices()); most != 0 {
		t.Errorf("there can be %d MIG devices", most)
	}
	if profile := get[hardware.MIGProfile](t)(gpu.GPUInstanceProfile(hardware.GPUInstance1Slice)); profile.ID != 19 {
		t.Errorf("the profile is %+v", profile)
	}
}
