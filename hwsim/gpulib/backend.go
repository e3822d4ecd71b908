package gpulib

import (
	"fmt"
	"slices"

	"github.com/dray-dev/dray/kubeletplugin/hardware"
)

// Backend is what a Library is over. Its methods may be called from any
// goroutine. Devices are named by PCI address. Errors match the values in
// hardware's gpuerror.go; the library adds the call and the device to them.
type Backend interface {
	// Node is the machine at this moment. The library changes nothing in it; the
	// backend changes nothing in a Node that it has handed out.
	Node() (*hardware.Node, error)
	// Fault is what every call for a GPU of the node fails with now, such as
	// hardware.ErrGPULost; nil for one that answers.
	Fault(gpu hardware.PCIAddress) error
	// Condition is what a GPU that answers says of its health.
	Condition(gpu hardware.PCIAddress) (Condition, error)
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
	// CreatableVGPUTypes of a GPU that is host of virtual ones: the IDs of those of
	// which one more can be made now.
	CreatableVGPUTypes(gpu hardware.PCIAddress) ([]int, error)
	// LastEvent is the number of the newest event that there has been, 0 before the
	// first.
	LastEvent() (uint64, error)
	// NextEvent is the registered event with the lowest number, if there is one.
	NextEvent(registered Registrations) (event Event, ok bool, err error)
	// Changed returns a channel that is closed after what happens next, be it an event
	// or not. Whatever happened before the call is seen by other calls after it. The
	// backend looks out for it until stop is closed. A nil channel: nothing happens.
	Changed(stop <-chan struct{}) <-chan struct{}
}

// Condition of a GPU. The zero value is that of one with which nothing is wrong.
type Condition struct {
	Recovery        hardware.GPURecoveryAction
	ThermalSlowdown bool
}

// Event is an event with its number. Numbers rise by one.
type Event struct {
	Number uint64
	hardware.GPUEvent
}

// Registrations are what an event set waits for, by the UUIDs of GPUs.
type Registrations map[string]Registration

// Registration is what an event set waits for from one GPU.
type Registration struct {
	Types hardware.GPUEventType
	// After is the number of the last event that was too early, or delivered.
	After uint64
}

// Want says whether an event is registered for.
func (r Registrations) Want(e Event) bool {
	registration := r[e.Device]
	return e.Number > registration.After && e.Type&registration.Types != 0
}

// readOnly is a Node that does not change and has no events.
type readOnly struct{ node *hardware.Node }

func (b readOnly) Node() (*hardware.Node, error) { return b.node, nil }

func (readOnly) Fault(hardware.PCIAddress) error { return nil }

func (readOnly) Condition(hardware.PCIAddress) (Condition, error) { return Condition{}, nil }

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

// CreatableVGPUTypes are those for the GPU's present mode: backed by MIG if it
// is enabled and there is an instance of the profile, else sharing by time. A
// node says nothing of virtual GPUs that exist, so none do.
func (b readOnly) CreatableVGPUTypes(gpu hardware.PCIAddress) ([]int, error) {
	var ids []int
	for i := range b.node.GPUs {
		g := &b.node.GPUs[i]
		if g.Address != gpu || g.VGPU == nil {
			continue
		}
		mig := g.MIG != nil && g.MIG.Enabled
		for _, t := range g.VGPU.Types {
			if !mig && t.MIGProfileID == -1 && (!g.VGPU.MixedSize || t.MaxMixed > 0) || mig && hasInstance(g.MIG, t.MIGProfileID) {
				ids = append(ids, t.ID)
			}
		}
	}
	return ids, nil
}

func hasInstance(mig *hardware.MIG, profileID int) bool {
	return slices.ContainsFunc(mig.Instances, func(i hardware.GPUInstanceState) bool { return i.ProfileID == profileID })
}

func (readOnly) LastEvent() (uint64, error) { return 0, nil }

func (readOnly) NextEvent(Registrations) (event Event, ok bool, err error) {
	return Event{}, false, nil
}

func (readOnly) Changed(<-chan struct{}) <-chan struct{} { return nil }
