package engine

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/dray-dev/dray/hwsim/gpulib"
	"github.com/dray-dev/dray/kubeletplugin/hardware"
)

// Fault is what every call of the GPU library for a GPU fails with, or nil.
func (e *Engine) Fault(gpu hardware.PCIAddress) error {
	i, err := e.index(gpu)
	if err != nil {
		return err
	}
	if e.state.GPUs[i].Health.Lost {
		return hardware.ErrGPULost
	}
	return nil
}

// Condition is what the library says of the health of a GPU that answers.
func (e *Engine) Condition(gpu hardware.PCIAddress) (gpulib.Condition, error) {
	i, err := e.index(gpu)
	if err != nil {
		return gpulib.Condition{}, err
	}
	health := &e.state.GPUs[i].Health
	condition := gpulib.Condition{ThermalSlowdown: health.Slowdown}
	if health.ResetRequired {
		condition.Recovery = hardware.RecoveryGPUReset
	}
	return condition, nil
}

// fault is something that breaks on a GPU, which a lost one cannot show any more.
func (e *Engine) fault(gpu hardware.PCIAddress, do func(*call) error) error {
	return e.change(gpu, func(c *call) error {
		if c.state.Health.Lost {
			return hardware.ErrGPULost
		}
		return do(c)
	})
}

// Where is the instance on which something happens; Everywhere, or -1 for
// either, is the whole GPU.
type Where struct{ GPUInstance, ComputeInstance int }

// Everywhere is the whole GPU.
var Everywhere = Where{nowhere, nowhere}

// checkWhere fails for instances that there are not.
func (c *call) checkWhere(where Where) error {
	if where.GPUInstance == nowhere && where.ComputeInstance == nowhere {
		return nil
	}
	mig, err := c.partitioned()
	if err != nil {
		return err
	}
	instance := mig.find(where.GPUInstance)
	if instance == nil {
		return fmt.Errorf("GPU instance %d: %w", where.GPUInstance, hardware.ErrGPUNotFound)
	}
	if where.ComputeInstance != nowhere && !slices.ContainsFunc(instance.Compute, func(c ComputeInstance) bool { return c.ID == where.ComputeInstance }) {
		return fmt.Errorf("compute instance %d of GPU instance %d: %w", where.ComputeInstance, where.GPUInstance, hardware.ErrGPUNotFound)
	}
	return nil
}

// InjectXID makes the driver report an XID, with what follows from it: after one
// that wants a reset the GPU refuses changes until then, and after 79 it is lost.
func (e *Engine) InjectXID(gpu hardware.PCIAddress, xid int, where Where) error {
	return e.fault(gpu, func(c *call) error {
		if xid < 1 {
			return fmt.Errorf("XID %d: %w", xid, hardware.ErrGPUInvalidArgument)
		}
		if err := c.checkWhere(where); err != nil {
			return err
		}
		c.xid(xid, where)
		return nil
	})
}

func (c *call) xid(xid int, where Where) {
	health := &c.state.Health
	i, found := slices.BinarySearchFunc(health.XIDs, xid, func(x XIDCount, code int) int { return cmp.Compare(x.XID, code) })
	if !found {
		health.XIDs = slices.Insert(health.XIDs, i, XIDCount{XID: xid})
	}
	health.XIDs[i].Count++
	health.XIDs[i].Last = c.now
	c.report(Event{Type: hardware.EventXidCritical, Data: uint64(xid), GPUInstance: where.GPUInstance, ComputeInstance: where.ComputeInstance})
	switch ActionOf(xid) {
	case ActionReset:
		if !health.ResetRequired {
			health.ResetRequired = true
			c.report(Event{Type: hardware.EventRecoveryAction, GPUInstance: nowhere, ComputeInstance: nowhere})
		}
	case ActionReboot:
		c.lose()
	}
}

func (c *call) lose() {
	c.state.Health.Lost = true
	c.report(Event{Type: hardware.EventGPUUnavailable, GPUInstance: nowhere, ComputeInstance: nowhere})
}

// Lose takes a GPU off the bus without an XID.
func (e *Engine) Lose(gpu hardware.PCIAddress) error {
	return e.fault(gpu, func(c *call) error {
		c.lose()
		return nil
	})
}

// InjectECC makes memory errors: those of a single bit are corrected, those of two
// come with XID 48.
func (e *Engine) InjectECC(gpu hardware.PCIAddress, errors ECC) error {
	return e.fault(gpu, func(c *call) error {
		health := &c.state.Health
		for _, count := range []*ECC{&health.ECC, &health.AggregateECC} {
			count.SingleBit += errors.SingleBit
			count.DoubleBit += errors.DoubleBit
		}
		if errors.SingleBit > 0 {
			c.report(Event{Type: hardware.EventSingleBitECC, GPUInstance: nowhere, ComputeInstance: nowhere})
		}
		if errors.DoubleBit > 0 {
			c.report(Event{Type: hardware.EventDoubleBitECC, GPUInstance: nowhere, ComputeInstance: nowhere})
			c.xid(xidDoubleBitECC, Everywhere)
		}
		return nil
	})
}

// SetSlowdown says whether the GPU is too hot to run at its clocks.
func (e *Engine) SetSlowdown(gpu hardware.PCIAddress, on bool) error {
	return e.fault(gpu, func(c *call) error {
		if c.state.Health.Slowdown != on {
			c.report(Event{Type: hardware.EventClockChange, GPUInstance: nowhere, ComputeInstance: nowhere})
		}
		c.state.Health.Slowdown = on
		return nil
	})
}
