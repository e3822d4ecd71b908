package engine

import (
	"fmt"

	"github.com/dray-dev/dray/kubeletplugin/hardware"
)

// Reset resets a GPU that nobody uses. What is lost: GPU instances, errors since
// the last reset, the compute mode, the need for a reset. A pending MIG mode takes
// effect. A lost GPU cannot be reset.
func (e *Engine) Reset(gpu hardware.PCIAddress) error {
	return e.fault(gpu, func(c *call) error {
		if n := c.processes(); n > 0 {
			return fmt.Errorf("%d processes use it: %w", n, hardware.ErrGPUInUse)
		}
		if c.state.VGPU != nil && len(c.state.VGPU.Active) > 0 {
			return fmt.Errorf("it has %d virtual GPUs: %w", len(c.state.VGPU.Active), hardware.ErrGPUInUse)
		}
		if mig := c.state.MIG; mig != nil {
			if mig.Current != mig.Pending || len(mig.Instances) > 0 {
				c.report(Event{Type: hardware.EventMIGConfigChange, GPUInstance: nowhere, ComputeInstance: nowhere})
			}
			mig.Current, mig.Instances = mig.Pending, nil
		}
		c.state.Compute = hardware.ComputeModeDefault
		c.state.Health.ResetRequired, c.state.Health.ECC = false, ECC{}
		return nil
	})
}

// processes counts those on the GPU and on all its compute instances.
func (c *call) processes() int {
	n := c.state.Processes
	if c.state.MIG != nil {
		for _, instance := range c.state.MIG.Instances {
			for _, compute := range instance.Compute {
				n += compute.Processes
			}
		}
	}
	return n
}

// Reboot restarts the machine. It loses GPU instances, virtual GPUs, mixed sizes,
// compute modes, processes and what was broken; memory errors of the GPU's life
// stay. The MIG mode stays on Ampere, which keeps it in the GPU's own memory and
// applies a pending one, and is off afterwards on other GPUs (S: the MIG user
// guide says the first; K: the second).
func (e *Engine) Reboot() {
	for i := range e.state.GPUs {
		state, node := &e.state.GPUs[i], &e.base.GPUs[i]
		fresh := GPU{Address: state.Address, Health: Health{AggregateECC: state.Health.AggregateECC}}
		if state.MIG != nil {
			kept := needsReset(node) && state.MIG.Pending
			fresh.MIG = &MIG{Current: kept, Pending: kept}
		}
		if state.VGPU != nil {
			fresh.VGPU = &VGPU{}
		}
		*state = fresh
	}
	// Who waited for them is gone. Numbers go on, so that nobody takes a new event
	// for an old one.
	e.state.Events = nil
	e.view = nil
}
