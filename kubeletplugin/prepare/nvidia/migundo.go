package nvidia

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/dray-dev/dray/kubeletplugin/hardware"
)

// Undo destroys the partition if it is ours, and switches MIG mode off after the
// last one.
func (k *migKind) Undo(ctx context.Context, plan *migPlan, outcome *migOutcome, rebooted bool, _ []migPlan) error {
	if plan.Existing {
		return nil
	}
	return k.undo(plan.UUID, func(gpu hardware.GPUDevice) error { return k.undoOn(ctx, gpu, plan, outcome, rebooted) })
}

func (k *migKind) undoOn(ctx context.Context, gpu hardware.GPUDevice, plan *migPlan, outcome *migOutcome, rebooted bool) error {
	if !rebooted {
		ours, err := k.findOurs(gpu, plan, outcome)
		if err != nil {
			return err
		}
		if ours != nil {
			if err := k.destroy(ctx, ours); err != nil {
				return err
			}
		}
	}
	if !plan.SwitchMode {
		return nil
	}
	left, err := instances(gpu)
	if err != nil || len(left) > 0 { // of other claims, or an administrator's, who has the mode now
		return err
	}
	return k.giveBackMIGMode(ctx, gpu, false)
}

// findOurs returns the GPU instance that was made for the claim, or nil.
func (k *migKind) findOurs(gpu hardware.GPUDevice, plan *migPlan, outcome *migOutcome) (hardware.GPUInstance, error) {
	if outcome != nil && outcome.GPUInstance == nil {
		return nil, nil // none was made
	}
	there, err := instances(gpu)
	if err != nil {
		return nil, err
	}
	i := slices.IndexFunc(there, func(i hardware.GPUInstanceState) bool {
		return plan.is(&i) && (outcome == nil || i.ID == *outcome.GPUInstance)
	})
	if i < 0 {
		return nil, nil
	}
	instance, err := gpu.GPUInstanceByID(there[i].ID)
	if err != nil || outcome == nil || outcome.ComputeInstance == nil {
		return instance, err
	}
	computes, err := computeInstances(instance)
	if err != nil {
		return nil, err
	}
	isIt := func(c hardware.ComputeInstanceState) bool { return c.UUID == outcome.UUID }
	if len(computes) > 0 && !slices.ContainsFunc(computes, isIt) {
		return nil, nil // ours has gone, and somebody made another in its place
	}
	return instance, nil
}

// destroy destroys an instance of ours with the compute instances in it.
func (k *migKind) destroy(ctx context.Context, instance hardware.GPUInstance) error {
	computes, err := computeInstances(instance)
	if err != nil {
		return err
	}
	for _, state := range computes {
		compute, err := instance.ComputeInstanceByID(state.ID)
		if err == nil {
			k.step("destroy the compute instance")
			err = k.whileInUse(ctx, compute.Destroy)
		}
		if err != nil && !errors.Is(err, hardware.ErrGPUNotFound) {
			return fmt.Errorf("compute instance %d: %w", state.ID, err)
		}
	}
	k.step("destroy the GPU instance")
	if err := k.whileInUse(ctx, instance.Destroy); err != nil && !errors.Is(err, hardware.ErrGPUNotFound) {
		return fmt.Errorf("GPU instance: %w", err)
	}
	return nil
}
