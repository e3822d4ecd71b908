package engine

import (
	"fmt"
	"slices"
	"time"

	"github.com/dray-dev/dray/kubeletplugin/hardware"
)

// call is one call that changes a GPU. It works on a copy of the GPU's state,
// which takes the state's place once the call has succeeded.
type call struct {
	gpu    *hardware.GPU
	state  *GPU
	now    time.Time
	events []Event
}

// change makes a call that changes a GPU.
func (e *Engine) change(gpu hardware.PCIAddress, do func(*call) error) error {
	i, err := e.index(gpu)
	if err != nil {
		return err
	}
	state := e.state.GPUs[i].clone()
	c := &call{gpu: &e.base.GPUs[i], state: &state, now: e.clock.Now()}
	state.settle(c.now)
	if err := do(c); err != nil {
		return err
	}
	e.state.GPUs[i] = state
	e.happened(c.events)
	e.view = nil
	return nil
}

// command makes a call of the GPU library, which a broken GPU refuses.
func (e *Engine) command(gpu hardware.PCIAddress, do func(*call) error) error {
	return e.change(gpu, func(c *call) error {
		switch {
		case c.state.Health.Lost:
			return hardware.ErrGPULost
		case c.state.Health.ResetRequired:
			return hardware.ErrGPUResetRequired
		}
		return do(c)
	})
}

// Settle removes from the State what has fallen due, for those who read the State
// itself.
func (e *Engine) Settle() {
	now := e.clock.Now()
	for i := range e.state.GPUs {
		e.state.GPUs[i].settle(now)
	}
	e.view = nil
}

// settle removes GPU instances that are gone.
func (g *GPU) settle(now time.Time) {
	if g.MIG != nil {
		g.MIG.Instances = slices.DeleteFunc(g.MIG.Instances, func(i GPUInstance) bool { return i.gone(now) })
	}
}

// mig is the state of a GPU that can be partitioned.
func (c *call) mig() (*MIG, error) {
	if c.state.MIG == nil {
		return nil, fmt.Errorf("it cannot be partitioned: %w", hardware.ErrGPUNotSupported)
	}
	return c.state.MIG, nil
}

// partitioned is that of one in MIG mode.
func (c *call) partitioned() (*MIG, error) {
	mig, err := c.mig()
	if err == nil && !mig.Current {
		err = fmt.Errorf("MIG is off: %w", hardware.ErrGPUNotSupported)
	}
	return mig, err
}

// vgpu is the state of a host of virtual GPUs.
func (c *call) vgpu() (*VGPU, error) {
	if c.state.VGPU == nil {
		return nil, fmt.Errorf("it is no host of virtual GPUs: %w", hardware.ErrGPUNotSupported)
	}
	return c.state.VGPU, nil
}

// instance of a GPU in MIG mode that can be used.
func (c *call) instance(id int) (*GPUInstance, error) {
	mig, err := c.partitioned()
	if err != nil {
		return nil, err
	}
	instance := mig.find(id)
	switch {
	case instance == nil:
		return nil, fmt.Errorf("GPU instance %d: %w", id, hardware.ErrGPUNotFound)
	case !instance.GoneAt.IsZero():
		return nil, fmt.Errorf("GPU instance %d is being destroyed: %w", id, hardware.ErrGPUInUse)
	case c.state.VGPU != nil && c.state.VGPU.backedBy(id):
		return nil, fmt.Errorf("GPU instance %d backs a virtual GPU: %w", id, hardware.ErrGPUInUse)
	}
	return instance, nil
}

// find a GPU instance by ID, or nil.
func (m *MIG) find(id int) *GPUInstance {
	i := slices.IndexFunc(m.Instances, func(g GPUInstance) bool { return g.ID == id })
	if i < 0 {
		return nil
	}
	return &m.Instances[i]
}
