package gpulib

import (
	"fmt"

	"github.com/dray-dev/dray/kubeletplugin/hardware"
)

// Backend is what a Library is over. Its methods may be called from any
// goroutine. Devices are named by PCI address. Errors match the values in
// hardware's gpuerror.go; the library adds the call and the device to them.
type Backend interface {
	// Node is the machine at this moment. The library changes nothing in it; the
	// backend changes nothing in a Node that it has handed out.
	Node() (*hardware.Node, error)
	SetMIGMode(gpu hardware.PCIAddress, enabled bool) error
	// CreateGPUInstance returns the ID of the new instance. Without a placement the
	// backend chooses one.
	CreateGPUInstance(gpu hardware.PCIAddress, profileID int, placement *hardware.Placement) (int, error)
	DestroyGPUInstance(gpu hardware.PCIAddress, instance int) error
	// CreateComputeInstance returns the ID of the new instance.
	CreateComputeInstance(gpu hardware.PCIAddress, instance, profileID int) (int, error)
	DestroyComputeInstance(gpu hardware.PCIAddress, instance, compute int) error
	SetComputeMode(gpu hardware.PCIAddress, mode hardware.ComputeMode) error
	SetMixedSizeVGPUs(gpu hardware.PCIAddress, enabled bool) error
	// Events of the devices, by UUID, of the types that are registered for each. The
	// channel is unbuffered and the caller's until stop is closed; an event that was
	// not received by then waits for the next call. A nil channel has none.
	Events(registered map[string]hardware.GPUEventType, stop <-chan struct{}) <-chan hardware.GPUEvent
}

// readOnly is a Node that does not change and has no events.
type readOnly struct{ node *hardware.Node }

func (b readOnly) Node() (*hardware.Node, error) { return b.node, nil }

// errReadOnly says why, beside which.
var errReadOnly = fmt.Errorf("the simulated GPUs can only be read: %w", hardware.ErrGPUNoPermission)

func (readOnly) SetMIGMode(hardware.PCIAddress, bool) error { return errReadOnly }

func (readOnly) CreateGPUInstance(hardware.PCIAddress, int, *hardware.Placement) (int, error) {
	return 0, errReadOnly
}

func (readOnly) DestroyGPUInstance(hardware.PCIAddress, int) error { return errReadOnly }

func (readOnly) CreateComputeInstance(hardware.PCIAddress, int, int) (int, error) {
	return 0, errReadOnly
}

func (readOnly) DestroyComputeInstance(hardware.PCIAddress, int, int) error { return errReadOnly }

func (readOnly) SetComputeMode(hardware.PCIAddress, hardware.ComputeMode) error { return errReadOnly }

func (readOnly) SetMixedSizeVGPUs(hardware.PCIAddress, bool) error { return errReadOnly }

func (readOnly) Events(map[string]hardware.GPUEventType, <-chan struct{}) <-chan hardware.GPUEvent {
	return nil
}
