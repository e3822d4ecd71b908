package gpulib

import (
	"fmt"

	"github.com/dray-dev/dray/kubeletplugin/hardware"
)

// migState is a compute instance with the GPU instance that it is in.
type migState struct {
	instance hardware.GPUInstanceState
	compute  hardware.ComputeInstanceState
}

// migDevices of a GPU, by GPU instance and compute instance: the order of their
// indexes.
func migDevices(g *hardware.GPU) []migState {
	var devices []migState
	if g.MIG == nil {
		return nil
	}
	for _, instance := range g.MIG.Instances {
		for _, compute := range instance.ComputeInstances {
			devices = append(devices, migState{instance, compute})
		}
	}
	return devices
}

// MaxMIGDevices is the number of the smallest instances, each with one compute
// instance; 0 for a GPU that is not in MIG mode or has none, as in NVML.
func (d *gpuDevice) MaxMIGDevices() (int, error) {
	return answer(d, "maximum of MIG devices", func(g *hardware.GPU) (int, error) {
		most := len(migDevices(g))
		if g.MIG != nil && g.MIG.Enabled {
			for _, p := range g.MIG.Profiles {
				most = max(most, p.MaxInstances, p.ComputeSlices)
			}
		}
		return most, nil
	})
}

func (d *gpuDevice) MIGDeviceByIndex(index int) (hardware.GPUDevice, error) {
	const call = "MIG device by index"
	gpu, err := d.gpu(call)
	if err != nil {
		return nil, err
	}
	devices := migDevices(gpu)
	if index < 0 || index >= len(devices) {
		return nil, d.fail(call, fmt.Errorf("index %d: %w", index, hardware.ErrGPUNotFound))
	}
	return &migDevice{d.library, d.address, devices[index].instance.ID, devices[index].compute.ID}, nil
}

func (d *gpuDevice) IsMIGDevice() (bool, error) {
	return answer(d, "is MIG device", func(*hardware.GPU) (bool, error) { return false, nil })
}

func (d *gpuDevice) Parent() (hardware.GPUDevice, error) {
	return nil, d.notMIG("parent")
}

func (d *gpuDevice) GPUInstanceID() (int, error) { return 0, d.notMIG("GPU instance ID") }

func (d *gpuDevice) ComputeInstanceID() (int, error) { return 0, d.notMIG("compute instance ID") }

func (d *gpuDevice) notMIG(call string) error {
	if _, err := d.gpu(call); err != nil {
		return err
	}
	return d.fail(call, fmt.Errorf("it is no MIG device: %w", hardware.ErrGPUInvalidArgument))
}

// migDevice is the handle of a MIG device. What it answers stands here; all else
// is a question for a GPU.
type migDevice struct {
	library           *Library
	address           hardware.PCIAddress
	instance, compute int
}

var _ hardware.GPUDevice = (*migDevice)(nil)

func (d *migDevice) parent() *gpuDevice { return &gpuDevice{d.library, d.address} }

func (d *migDevice) state(call string) (hardware.ComputeInstanceState, error) {
	return answer(d.parent(), call, func(g *hardware.GPU) (hardware.ComputeInstanceState, error) {
		return findCompute(g, d.instance, d.compute)
	})
}

func (d *migDevice) UUID() (string, error) {
	state, err := d.state("UUID")
	return state.UUID, err
}

func (d *migDevice) MemoryBytes() (uint64, error) {
	return answer(d.parent(), "memory", func(g *hardware.GPU) (uint64, error) {
		if _, err := findCompute(g, d.instance, d.compute); err != nil {
			return 0, err
		}
		instance, err := findInstance(g, d.instance)
		if err != nil {
			return 0, err
		}
		p, err := profile(g, instance.ProfileID)
		if err != nil {
			return 0, err
		}
		return p.Resources.MemoryBytes, nil
	})
}

func (d *migDevice) IsMIGDevice() (bool, error) {
	_, err := d.state("is MIG device")
	return err == nil, err
}

func (d *migDevice) Parent() (hardware.GPUDevice, error) {
	if _, err := d.state("parent"); err != nil {
		return nil, err
	}
	return d.parent(), nil
}

func (d *migDevice) GPUInstanceID() (int, error) {
	_, err := d.state("GPU instance ID")
	return d.instance, err
}

func (d *migDevice) ComputeInstanceID() (int, error) {
	state, err := d.state("compute instance ID")
	return state.ID, err
}

// refuse answers what only a GPU can be asked.
func (d *migDevice) refuse(call string) error {
	if _, err := d.state(call); err != nil {
		return err
	}
	return d.parent().fail(call, fmt.Errorf("MIG device %d.%d: %w", d.instance, d.compute, hardware.ErrGPUNotSupported))
}

func (d *migDevice) Name() (string, error) {
	return "", d.refuse("name")
}

func (d *migDevice) Brand() (string, error) {
	return "", d.refuse("brand")
}

func (d *migDevice) Architecture() (string, error) {
	return "", d.refuse("architecture")
}

func (d *migDevice) MinorNumber() (int, error) {
	return 0, d.refuse("minor number")
}

func (d *migDevice) PCIAddress() (hardware.PCIAddress, error) {
	return hardware.PCIAddress{}, d.refuse("PCI address")
}

func (d *migDevice) AddressingMode() (string, error) {
	return "", d.refuse("addressing mode")
}

func (d *migDevice) ModuleID() (int, error) {
	return 0, d.refuse("module ID")
}

func (d *migDevice) Fabric() (hardware.GPUFabric, error) {
	return hardware.GPUFabric{}, d.refuse("fabric")
}

func (d *migDevice) GPUInstanceProfile(hardware.GPUInstanceProfileKind) (hardware.MIGProfile, error) {
	return hardware.MIGProfile{}, d.refuse("GPU instance profile")
}

func (d *migDevice) GPUInstanceRemaining(int) (int, error) {
	return 0, d.refuse("GPU instance remaining capacity")
}

func (d *migDevice) CreateGPUInstance(int) (hardware.GPUInstance, error) {
	return nil, d.refuse("create GPU instance")
}

func (d *migDevice) CreateGPUInstanceAt(int, hardware.Placement) (hardware.GPUInstance, error) {
	return nil, d.refuse("create GPU instance with placement")
}

func (d *migDevice) GPUInstances(int) ([]hardware.GPUInstance, error) {
	return nil, d.refuse("GPU instances")
}

func (d *migDevice) GPUInstanceByID(int) (hardware.GPUInstance, error) {
	return nil, d.refuse("GPU instance by ID")
}

func (d *migDevice) MaxMIGDevices() (int, error) {
	return 0, d.refuse("maximum of MIG devices")
}

func (d *migDevice) MIGDeviceByIndex(int) (hardware.GPUDevice, error) {
	return nil, d.refuse("MIG device by index")
}

func (d *migDevice) SupportedVGPUTypes() ([]hardware.VGPUType, error) {
	return nil, d.refuse("supported vGPU types")
}

func (d *migDevice) CreatableVGPUTypes() ([]int, error) {
	return nil, d.refuse("creatable vGPU types")
}

func (d *migDevice) MixedSizeVGPUs() (bool, error) {
	return false, d.refuse("mixed-size vGPUs")
}

func (d *migDevice) RecoveryAction() (hardware.GPURecoveryAction, error) {
	return 0, d.refuse("recovery action")
}

func (d *migDevice) ThermalSlowdown() (bool, error) {
	return false, d.refuse("thermal slowdown")
}

func (d *migDevice) SupportedEvents() (hardware.GPUEventType, error) {
	return 0, d.refuse("supported events")
}

func (d *migDevice) SetComputeMode(hardware.ComputeMode) error { return d.refuse("set compute mode") }

func (d *migDevice) SetMIGMode(bool) error { return d.refuse("set MIG mode") }

func (d *migDevice) SetMixedSizeVGPUs(bool) error { return d.refuse("set mixed-size vGPUs") }

func (d *migDevice) RegisterEvents(hardware.GPUEventType, hardware.GPUEventSet) error {
	return d.refuse("register events")
}

func (d *migDevice) ComputeCapability() (major, minor int, err error) {
	return 0, 0, d.refuse("compute capability")
}

func (d *migDevice) MIGMode() (current, pending bool, err error) {
	return false, false, d.refuse("MIG mode")
}
