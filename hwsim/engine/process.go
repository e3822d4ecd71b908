package engine

import (
	"fmt"
	"slices"

	"github.com/dray-dev/dray/kubeletplugin/hardware"
)

// SetProcesses says how many processes have the whole GPU open.
func (e *Engine) SetProcesses(gpu hardware.PCIAddress, count int) error {
	return e.change(gpu, func(c *call) error {
		if count < 0 {
			return fmt.Errorf("%d processes: %w", count, hardware.ErrGPUInvalidArgument)
		}
		c.state.Processes = count
		return nil
	})
}

// SetMIGProcesses says how many processes run on a compute instance.
func (e *Engine) SetMIGProcesses(gpu hardware.PCIAddress, instance, compute, count int) error {
	return e.change(gpu, func(c *call) error {
		if count < 0 {
			return fmt.Errorf("%d processes: %w", count, hardware.ErrGPUInvalidArgument)
		}
		in, err := c.instance(instance)
		if err != nil {
			return err
		}
		i := slices.IndexFunc(in.Compute, func(c ComputeInstance) bool { return c.ID == compute })
		if i < 0 {
			return fmt.Errorf("compute instance %d of GPU instance %d: %w", compute, instance, hardware.ErrGPUNotFound)
		}
		in.Compute[i].Processes = count
		return nil
	})
}

// SetComputeMode says who may run on a GPU.
func (e *Engine) SetComputeMode(gpu hardware.PCIAddress, mode hardware.ComputeMode) error {
	return e.command(gpu, func(c *call) error {
		if !isComputeMode(mode) {
			return fmt.Errorf("compute mode %d: %w", mode, hardware.ErrGPUInvalidArgument)
		}
		c.state.Compute = mode
		return nil
	})
}

func isComputeMode(mode hardware.ComputeMode) bool {
	return mode == hardware.ComputeModeDefault || mode == hardware.ComputeModeProhibited || mode == hardware.ComputeModeExclusiveProcess
}
