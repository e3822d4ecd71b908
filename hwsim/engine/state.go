package engine

import (
	"time"

	"github.com/dray-dev/dray/kubeletplugin/hardware"
)

// Version is that of a State's encoding. It grows with every change that a
// program which knows the older one would misread.
const Version = 1

// State is all that changes of a machine's GPUs. With the machine's node it
// keeps:
//
//  1. Version is Version. GPUs are the node's, in its order. MIG is there for those
//     that can be partitioned, VGPU for those that can be hosts of virtual GPUs,
//     and for no others.
//  2. Current and Pending differ only on a GPU that needs a reset to change
//     its mode (Ampere).
//  3. There are GPU instances only while Current. They are sorted by ID, an ID is
//     below 15, each lies at a placement of its profile, and no two cover the same
//     memory slice. Of no profile there are more than its MaxInstances; of compute
//     slices, multiprocessors, engines and memory they have together no more than
//     the whole GPU, which has as much of each as its largest profile.
//  4. Compute instances are sorted by ID, an ID is below 8, and together they have no
//     more compute slices than their GPU instance. No two have one UUID. An instance
//     that is being destroyed (GoneAt) has none.
//  5. Virtual GPUs are sorted by virtual function. One that shares the GPU by time
//     is there only while MIG is not Current, one that MIG backs only together
//     with a GPU instance of its type's profile, which backs no other.
//  6. Virtual GPUs that share a GPU by time and of which it can have m take
//     1/m of it, all together no more than the whole. Unless MixedSize, they have
//     one size, and m is MaxInstances. If MixedSize, m is MaxMixed; one lies at a
//     Slot, the whole GPU being m slots, and no two overlap.
//  7. Events are numbered without gaps, the last one is LastEvent, and there are at
//     most 256.
//  8. Compute is a mode that there is, and nowhere are fewer than no processes.
//
// What falls due with time (a GPU instance that is gone at GoneAt) stays in the
// State until the next change; an Engine does not show it.
type State struct {
	Version int   `json:"version"`
	GPUs    []GPU `json:"gpus"`
	// Events are the last ones, the oldest first.
	Events []Event `json:"events,omitempty"`
	// LastEvent is the number of the newest event that there has been, 0 before the
	// first.
	LastEvent uint64 `json:"lastEvent"`
}

// GPU is what changes of one GPU.
type GPU struct {
	Address hardware.PCIAddress  `json:"address"`
	MIG     *MIG                 `json:"mig,omitempty"`
	VGPU    *VGPU                `json:"vgpu,omitempty"`
	Compute hardware.ComputeMode `json:"computeMode,omitempty"`
	// Processes is how many have the whole GPU open.
	Processes int    `json:"processes,omitempty"`
	Health    Health `json:"health,omitzero"`
}

// MIG is what changes of a GPU that can be partitioned.
type MIG struct {
	// Current is the mode, Pending the one after the next reset.
	Current   bool          `json:"current"`
	Pending   bool          `json:"pending"`
	Instances []GPUInstance `json:"instances,omitempty"`
}

// GPUInstance is a GPU instance.
type GPUInstance struct {
	ID      int `json:"id"`
	Profile int `json:"profile"` // the hardware's ID
	// Start and Size are its memory slices.
	Start   int               `json:"start"`
	Size    int               `json:"size"`
	Compute []ComputeInstance `json:"compute,omitempty"`
	// BusyUntil is when the hardware has done with a compute instance that was
	// destroyed. The instance cannot be destroyed before.
	BusyUntil time.Time `json:"busyUntil,omitzero"`
	// GoneAt is when its destruction, which has begun, is over: until then it is
	// in use, afterwards not there.
	GoneAt time.Time `json:"goneAt,omitzero"`
}

// ComputeInstance is a compute instance: with its GPU instance, a MIG device.
type ComputeInstance struct {
	ID      int    `json:"id"`
	Profile int    `json:"profile"`
	UUID    string `json:"uuid"`
	// Processes is how many run on it.
	Processes int `json:"processes,omitempty"`
}

// VGPU is what changes of a host of virtual GPUs.
type VGPU struct {
	MixedSize bool         `json:"mixedSize"`
	Active    []VirtualGPU `json:"active,omitempty"`
}

// VirtualGPU is a virtual GPU.
type VirtualGPU struct {
	// VF is the number of the virtual function that is it, from 0.
	VF   int `json:"vf"`
	Type int `json:"type"`
	// Slot is where it lies on a GPU of mixed sizes, counted in its own size, else 0.
	Slot int `json:"slot,omitempty"`
	// GPUInstance is the ID of the one that backs it, or -1.
	GPUInstance int `json:"gpuInstance"`
}

// Health is what is wrong with a GPU.
type Health struct {
	// Lost: it has fallen off the bus and answers nothing until the next boot.
	Lost bool `json:"lost,omitempty"`
	// ResetRequired: it answers questions, and refuses changes until a reset.
	ResetRequired bool `json:"resetRequired,omitempty"`
	// Slowdown: the clocks are down because it is too hot.
	Slowdown bool `json:"slowdown,omitempty"`
	// ECC are errors since the last reset, AggregateECC those of its life.
	ECC          ECC `json:"ecc,omitzero"`
	AggregateECC ECC `json:"aggregateECC,omitzero"`
	// XIDs since the last boot, by code.
	XIDs []XIDCount `json:"xids,omitempty"`
}

// ECC counts memory errors.
type ECC struct {
	SingleBit uint64 `json:"singleBit,omitempty"`
	DoubleBit uint64 `json:"doubleBit,omitempty"`
}

// XIDCount is how often an XID was reported.
type XIDCount struct {
	XID   int       `json:"xid"`
	Count int       `json:"count"`
	Last  time.Time `json:"last"`
}

// Event is something that the GPU library reports to who has registered for it.
type Event struct {
	Number uint64 `json:"number"`
	// Time is when it happened.
	Time time.Time             `json:"time"`
	GPU  hardware.PCIAddress   `json:"gpu"`
	Type hardware.GPUEventType `json:"type"`
	// Data is the XID of a critical error.
	Data uint64 `json:"data,omitempty"`
	// GPUInstance and ComputeInstance are where it happened, or -1.
	GPUInstance     int `json:"gpuInstance"`
	ComputeInstance int `json:"computeInstance"`
}

// maxEvents is how many are kept.
const maxEvents = 256

// New is the State of a machine as it is delivered: what its file says of MIG,
// its instances and mixed sizes.
func New(node *hardware.Node) *State {
	s := &State{Version: Version, GPUs: make([]GPU, len(node.GPUs))}
	for i := range node.GPUs {
		gpu := &node.GPUs[i]
		s.GPUs[i].Address = gpu.Address
		if gpu.MIG != nil {
			s.GPUs[i].MIG = newMIG(gpu.MIG)
		}
		if gpu.VGPU != nil {
			s.GPUs[i].VGPU = &VGPU{MixedSize: gpu.VGPU.MixedSize}
		}
	}
	return s
}

func newMIG(mig *hardware.MIG) *MIG {
	m := &MIG{Current: mig.Enabled, Pending: mig.Pending}
	for _, instance := range mig.Instances {
		g := GPUInstance{ID: instance.ID, Profile: instance.ProfileID, Start: instance.Placement.Start, Size: instance.Placement.Size}
		for _, compute := range instance.ComputeInstances {
			g.Compute = append(g.Compute, ComputeInstance{ID: compute.ID, Profile: compute.ProfileID, UUID: compute.UUID})
		}
		m.Instances = append(m.Instances, g)
	}
	return m
}
