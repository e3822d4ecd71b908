package gpulib

import (
	"fmt"

	"github.com/dray-dev/dray/kubeletplugin/hardware"
)

// gpuDevice is the handle of a GPU. It holds its address only: every call looks
// at the node as it is then.
type gpuDevice struct {
	library *Library
	address hardware.PCIAddress
}

var _ hardware.GPUDevice = (*gpuDevice)(nil)

// gpu is the device's state for a call.
func (d *gpuDevice) gpu(call string) (*hardware.GPU, error) {
	node, err := d.library.node(call)
	if err != nil {
		return nil, err
	}
	for i := range node.GPUs {
		if node.GPUs[i].Address == d.address {
			if err := d.library.backend.Fault(d.address); err != nil {
				return nil, d.fail(call, err)
			}
			return &node.GPUs[i], nil
		}
	}
	return nil, d.fail(call, hardware.ErrGPUNotFound)
}

// fail names the call and the device in an error.
func (d *gpuDevice) fail(call string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: gpu %s: %w", call, d.address, err)
}

// answer is what read says of a GPU.
func answer[T any](d *gpuDevice, call string, read func(*hardware.GPU) (T, error)) (T, error) {
	var none T
	gpu, err := d.gpu(call)
	if err != nil {
		return none, err
	}
	value, err := read(gpu)
	if err != nil {
		return none, d.fail(call, err)
	}
	return value, nil
}

// present is an answer that a GPU need not have.
func present[T comparable](value T) (T, error) {
	var none T
	if value == none {
		return none, hardware.ErrGPUNotSupported
	}
	return value, nil
}

func (d *gpuDevice) UUID() (string, error) {
	return answer(d, "UUID", func(g *hardware.GPU) (string, error) { return g.UUID, nil })
}

func (d *gpuDevice) Name() (string, error) {
	return answer(d, "name", func(g *hardware.GPU) (string, error) { return g.ProductName, nil })
}

func (d *gpuDevice) Brand() (string, error) {
	return answer(d, "brand", func(g *hardware.GPU) (string, error) { return g.Brand, nil })
}

func (d *gpuDevice) Architecture() (string, error) {
	return answer(d, "architecture", func(g *hardware.GPU) (string, error) { return g.Architecture, nil })
}

func (d *gpuDevice) ComputeCapability() (major, minor int, err error) {
	version, err := answer(d, "compute capability", func(g *hardware.GPU) ([2]int, error) {
		var version [2]int
		if _, err := fmt.Sscanf(g.ComputeCapability, "%d.%d", &version[0], &version[1]); err != nil {
			return version, fmt.Errorf("%w: %q has no two parts", hardware.ErrGPUUnknown, g.ComputeCapability)
		}
		return version, nil
	})
	return version[0], version[1], err
}

func (d *gpuDevice) MinorNumber() (int, error) {
	return answer(d, "minor number", func(g *hardware.GPU) (int, error) { return g.Minor, nil })
}

func (d *gpuDevice) PCIAddress() (hardware.PCIAddress, error) {
	return answer(d, "PCI address", func(g *hardware.GPU) (hardware.PCIAddress, error) { return g.Address, nil })
}

func (d *gpuDevice) MemoryBytes() (uint64, error) {
	return answer(d, "memory", func(g *hardware.GPU) (uint64, error) { return g.MemoryBytes, nil })
}

func (d *gpuDevice) AddressingMode() (string, error) {
	return answer(d, "addressing mode", func(g *hardware.GPU) (string, error) { return present(g.AddressingMode) })
}

func (d *gpuDevice) ModuleID() (int, error) {
	return answer(d, "module ID", func(g *hardware.GPU) (int, error) { return present(g.ModuleID) })
}

func (d *gpuDevice) Fabric() (hardware.GPUFabric, error) {
	return answer(d, "fabric", func(g *hardware.GPU) (hardware.GPUFabric, error) {
		if g.Fabric == nil {
			return hardware.GPUFabric{}, hardware.ErrGPUNotSupported
		}
		return *g.Fabric, nil
	})
}

func (d *gpuDevice) RecoveryAction() (hardware.GPURecoveryAction, error) {
	return answer(d, "recovery action", func(*hardware.GPU) (hardware.GPURecoveryAction, error) {
		condition, err := d.library.backend.Condition(d.address)
		return condition.Recovery, err
	})
}

func (d *gpuDevice) ThermalSlowdown() (bool, error) {
	return answer(d, "thermal slowdown", func(*hardware.GPU) (bool, error) {
		condition, err := d.library.backend.Condition(d.address)
		return condition.ThermalSlowdown, err
	})
}

func (d *gpuDevice) SetComputeMode(mode hardware.ComputeMode) error {
	const call = "set compute mode"
	if _, err := d.gpu(call); err != nil {
		return err
	}
	return d.fail(call, d.library.backend.SetComputeMode(d.address, mode))
}

func (d *gpuDevice) SupportedVGPUTypes() ([]hardware.VGPUType, error) {
	return answer(d, "supported vGPU types", func(g *hardware.GPU) ([]hardware.VGPUType, error) {
		if g.VGPU == nil {
			return nil, hardware.ErrGPUNotSupported
		}
		return append([]hardware.VGPUType(nil), g.VGPU.Types...), nil
	})
}

func (d *gpuDevice) CreatableVGPUTypes() ([]int, error) {
	return answer(d, "creatable vGPU types", func(g *hardware.GPU) ([]int, error) {
		if g.VGPU == nil {
			return nil, hardware.ErrGPUNotSupported
		}
		return d.library.backend.CreatableVGPUTypes(d.address)
	})
}

func (d *gpuDevice) MixedSizeVGPUs() (bool, error) {
	return answer(d, "mixed-size vGPUs", func(g *hardware.GPU) (bool, error) {
		if g.VGPU == nil {
			return false, hardware.ErrGPUNotSupported
		}
		return g.VGPU.MixedSize, nil
	})
}

func (d *gpuDevice) SetMixedSizeVGPUs(enabled bool) error {
	const call = "set mixed-size vGPUs"
	gpu, err := d.gpu(call)
	if err != nil {
		return err
	}
	if gpu.VGPU == nil {
		return d.fail(call, hardware.ErrGPUNotSupported)
	}
	return d.fail(call, d.library.backend.SetMixedSizeVGPUs(d.address, enabled))
}

// supportedEvents is what NVML reports of data centre GPUs.
const supportedEvents = hardware.EventSingleBitECC | hardware.EventDoubleBitECC | hardware.EventXidCritical | hardware.EventClockChange |
	hardware.EventMIGConfigChange | hardware.EventSingleBitECCStorm | hardware.EventGPUUnavailable |
	hardware.EventRecoveryAction

func (d *gpuDevice) SupportedEvents() (hardware.GPUEventType, error) {
	return answer(d, "supported events", func(*hardware.GPU) (hardware.GPUEventType, error) { return supportedEvents, nil })
}

func (d *gpuDevice) RegisterEvents(types hardware.GPUEventType, set hardware.GPUEventSet) error {
	const call = "register events"
	gpu, err := d.gpu(call)
	if err != nil {
		return err
	}
	events, ok := set.(*eventSet)
	switch {
	case !ok || events.library != d.library:
		return d.fail(call, fmt.Errorf("the event set is another library's: %w", hardware.ErrGPUInvalidArgument))
	case types&^supportedEvents != 0:
		return d.fail(call, fmt.Errorf("event types %#x: %w", uint64(types&^supportedEvents), hardware.ErrGPUNotSupported))
	}
	return d.fail(call, events.register(gpu, types))
}
