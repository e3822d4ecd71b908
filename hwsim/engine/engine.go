package engine

import (
	"fmt"
	"slices"
	"time"

	"github.com/dray-dev/dray/kubeletplugin/hardware"
)

// Clock tells the time.
type Clock interface {
	Now() time.Time
}

// Engine makes calls on a machine's GPUs. See the package comment for what it
// promises.
type Engine struct {
	base  *hardware.Node
	state *State
	clock Clock

	// view is the node as it is now, or nil after a change; until viewUntil, if
	// that is set, nothing falls due.
	view      *hardware.Node
	viewUntil time.Time
}

// Open returns an engine over a state of the node's GPUs, which is the engine's
// from now on. The node is valid; what it says of the things that change is what
// they were in the beginning, and is not looked at. It fails for a State that
// is not valid or belongs to another node.
func Open(node *hardware.Node, state *State, clock Clock) (*Engine, error) {
	if err := state.Validate(node); err != nil {
		return nil, err
	}
	return &Engine{base: node, state: state, clock: clock}, nil
}

// State is the engine's, to be read.
func (e *Engine) State() *State { return e.state }

// Node is the machine as it is now. It shares what never changes with the node of
// Open, and does not change when the engine does.
func (e *Engine) Node() *hardware.Node {
	now := e.clock.Now()
	if e.view != nil && (e.viewUntil.IsZero() || now.Before(e.viewUntil)) {
		return e.view
	}
	node := *e.base
	node.GPUs = slices.Clone(node.GPUs)
	e.viewUntil = time.Time{}
	for i := range node.GPUs {
		e.show(&node.GPUs[i], &e.state.GPUs[i], now)
	}
	e.view = &node
	return e.view
}

// show puts the state of a GPU into the node.
func (e *Engine) show(gpu *hardware.GPU, state *GPU, now time.Time) {
	if state.MIG != nil {
		mig := hardware.MIG{Enabled: state.MIG.Current, Pending: state.MIG.Pending, Profiles: gpu.MIG.Profiles}
		for i := range state.MIG.Instances {
			instance := &state.MIG.Instances[i]
			if instance.gone(now) {
				continue
			}
			if at := instance.GoneAt; !at.IsZero() && (e.viewUntil.IsZero() || at.Before(e.viewUntil)) {
				e.viewUntil = at
			}
			mig.Instances = append(mig.Instances, instance.hardware())
		}
		gpu.MIG = &mig
	}
	if state.VGPU != nil {
		gpu.VGPU = &hardware.VGPU{MixedSize: state.VGPU.MixedSize, Types: gpu.VGPU.Types}
	}
}

// gone says whether the instance's destruction is over.
func (i *GPUInstance) gone(now time.Time) bool { return !i.GoneAt.IsZero() && !now.Before(i.GoneAt) }

func (i *GPUInstance) placement() hardware.Placement {
	return hardware.Placement{Start: i.Start, Size: i.Size}
}

func (i *GPUInstance) hardware() hardware.GPUInstanceState {
	state := hardware.GPUInstanceState{ID: i.ID, ProfileID: i.Profile, Placement: i.placement()}
	for _, c := range i.Compute {
		state.ComputeInstances = append(state.ComputeInstances, hardware.ComputeInstanceState{ID: c.ID, ProfileID: c.Profile, UUID: c.UUID})
	}
	return state
}

// index of a GPU in the lists of node and state.
func (e *Engine) index(gpu hardware.PCIAddress) (int, error) {
	i, ok := slices.BinarySearchFunc(e.state.GPUs, gpu, func(g GPU, a hardware.PCIAddress) int { return g.Address.Compare(a) })
	if !ok {
		return 0, fmt.Errorf("gpu %s: %w", gpu, hardware.ErrGPUNotFound)
	}
	return i, nil
}
