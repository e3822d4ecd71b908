package hardware_test

import (
	"github.com/dray-dev/dray/kubeletplugin/hardware"
)

// fewGPUs is a library with one answer for every call, and an error for those
// that are named. What it does not implement, discovery must not call.
type fewGPUs struct {
	hardware.GPULibrary
	addresses []hardware.PCIAddress
	init      error
	inits     int
	lost      map[hardware.PCIAddress]error
	// fails has calls about a GPU that fail, by name; those about instances fail for the
	// instance with ID 8.
	fails map[string]error
}

func (l *fewGPUs) Init() error {
	if l.init == nil {
		l.inits++
	}
	return l.init
}
func (l *fewGPUs) Shutdown() error                 { l.inits--; return nil }
func (l *fewGPUs) DriverVersion() (string, error)  { return "580.126.20", nil }
func (l *fewGPUs) CUDADriverVersion() (int, error) { return 13000, nil }
func (l *fewGPUs) DeviceCount() (int, error)       { return len(l.addresses), nil }
func (l *fewGPUs) DeviceByIndex(index int) (hardware.GPUDevice, error) {
	return &oneGPU{library: l, index: index}, nil
}

type oneGPU struct {
	hardware.GPUDevice
	library *fewGPUs
	index   int
}

func (g *oneGPU) PCIAddress() (hardware.PCIAddress, error) {
	return g.library.addresses[g.index], nil
}
func (g *oneGPU) UUID() (string, error) {
	a := g.library.addresses[g.index]
	return "GPU-" + a.String(), g.library.lost[a]
}
func (g *oneGPU) Name() (string, error)         { return "NVIDIA A100-SXM4-40GB", g.library.fails["Name"] }
func (g *oneGPU) Brand() (string, error)        { return "Nvidia", g.library.fails["Brand"] }
func (g *oneGPU) Architecture() (string, error) { return "Ampere", g.library.fails["Architecture"] }
func (g *oneGPU) ComputeCapability() (int, int, error) {
	return 8, 0, g.library.fails["ComputeCapability"]
}
func (g *oneGPU) MinorNumber() (int, error)    { return g.index, g.library.fails["MinorNumber"] }
func (g *oneGPU) MemoryBytes() (uint64, error) { return 40 << 30, g.library.fails["MemoryBytes"] }
func (g *oneGPU) AddressingMode() (string, error) {
	return "", g.or("AddressingMode", hardware.ErrGPUNotSupported)
}
func (g *oneGPU) ModuleID() (int, error) { return 0, g.or("ModuleID", hardware.ErrGPUNotSupported) }
func (g *oneGPU) Fabric() (hardware.GPUFabric, error) {
	return hardware.GPUFabric{}, g.or("Fabric", hardware.ErrGPUNotSupported)
}
func (g *oneGPU) MIGMode() (bool, bool, error) { return true, true, g.library.fails["MIGMode"] }
func (g *oneGPU) MixedSizeVGPUs() (bool, error) {
	return false, g.or("MixedSizeVGPUs", hardware.ErrGPUNotSupported)
}

// or is the error of a call that fails, or else another.
func (g *oneGPU) or(call string, err error) error {
	if fails := g.library.fails[call]; fails != nil {
		return fails
	}
	return err
}

func (g *oneGPU) SupportedVGPUTypes() ([]hardware.VGPUType, error) {
	return []hardware.VGPUType{{ID: 2, MIGProfileID: 19}, {ID: 1, MIGProfileID: -1}}, g.library.fails["SupportedVGPUTypes"]
}

func (g *oneGPU) GPUInstanceProfile(kind hardware.GPUInstanceProfileKind) (hardware.MIGProfile, error) {
	switch kind {
	case hardware.GPUInstance1Slice:
		return hardware.MIGProfile{Name: "1g.5gb", Kind: kind, ID: 19, Placements: []hardware.Placement{{Start: 0, Size: 1}, {Start: 1, Size: 1}}}, nil
	case hardware.GPUInstance3SliceGfx:
		return hardware.MIGProfile{}, hardware.ErrGPUInvalidArgument // a library that is older than the kind
	}
	return hardware.MIGProfile{}, hardware.ErrGPUNotSupported
}

func (g *oneGPU) GPUInstances(int) ([]hardware.GPUInstance, error) {
	return []hardware.GPUInstance{&oneInstance{id: 8, fails: g.library.fails}, &oneInstance{id: 7}}, g.library.fails["GPUInstances"]
}

type oneInstance struct {
	hardware.GPUInstance
	id    int
	fails map[string]error
}

func (i *oneInstance) Info() (hardware.GPUInstanceState, error) {
	return hardware.GPUInstanceState{ID: i.id, ProfileID: 19, Placement: hardware.Placement{Start: i.id - 7, Size: 1}}, i.fails["Info"]
}

func (i *oneInstance) ComputeInstanceProfile(kind hardware.ComputeInstanceProfileKind) (hardware.ComputeInstanceProfile, error) {
	if kind == hardware.ComputeInstance1Slice {
		return hardware.ComputeInstanceProfile{ID: 0}, i.fails["ComputeInstanceProfile"]
	}
	return hardware.ComputeInstanceProfile{}, hardware.ErrGPUNotSupported
}

func (i *oneInstance) ComputeInstances(int) ([]hardware.ComputeInstance, error) {
	if err := i.fails["compute Info"]; err != nil {
		return []hardware.ComputeInstance{&goneCompute{err: err}}, nil
	}
	return nil, i.fails["ComputeInstances"]
}

// goneCompute is a compute instance that is no more.
type goneCompute struct {
	hardware.ComputeInstance
	err error
}

func (c *goneCompute) Info() (hardware.ComputeInstanceState, error) {
	return hardware.ComputeInstanceState{}, c.err
}
