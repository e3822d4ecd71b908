package nvidia

import (
	"context"
	"fmt"
	"slices"

	"github.com/dray-dev/dray/kubeletplugin/api"
	"github.com/dray-dev/dray/kubeletplugin/hardware"
	"github.com/dray-dev/dray/kubeletplugin/prepare"
	"github.com/dray-dev/dray/kubeletplugin/publish"
)

// gpuKind is whole GPUs.
type gpuKind struct{ *machine }

// gpuPlan is kept in checkpoints.
type gpuPlan struct {
	onGPU
	// AdminAccess changes nothing.
	AdminAccess bool `json:"adminAccess,omitempty"`
	// ExclusiveProcess is the compute mode while the claim has the GPU.
	ExclusiveProcess bool `json:"exclusiveProcess,omitempty"`
	// WithoutMIG: the GPU was in MIG mode, for this claim or for another that has a
	// share of it, and is again after the last of them.
	WithoutMIG bool `json:"withoutMIG,omitempty"`
}

// gpuOutcome: all that can be undone is in the plan, and can be undone twice.
type gpuOutcome struct{}

func (*gpuKind) Name() string { return "gpu" }

func (*gpuKind) Match(device string) bool { return match(device, publish.NVIDIAGPU) }

func (*gpuKind) Lock(plan *gpuPlan) string { return plan.lock() }

func (*gpuKind) Holds(request *prepare.Request) ([]string, error) {
	found, err := find(request)
	if err != nil {
		return nil, err
	}
	return []string{found.GPU.UUID}, nil
}

func (*gpuKind) Plan(request *prepare.Request, others []gpuPlan) (*gpuPlan, error) {
	found, err := find(request)
	if err != nil {
		return nil, err
	}
	config, err := api.For[api.GPU](request.Configs, request.Request)
	if err != nil {
		return nil, err
	}
	gpu := found.GPU
	plan := &gpuPlan{onGPU: on(gpu), AdminAccess: request.AdminAccess, ExclusiveProcess: config.ExclusiveProcess}
	if config.ExclusiveProcess {
		const field = "computeMode"
		switch {
		case request.AdminAccess:
			return nil, &api.Error{Field: field, Err: fmt.Errorf("access for administrators does not change it: %w", api.ErrRefused)}
		case request.ShareID != nil:
			return nil, &api.Error{Field: field, Err: fmt.Errorf("the claim has a share of the GPU, and others may have one: %w", api.ErrRefused)}
		}
	}
	if request.AdminAccess {
		return plan, nil
	}
	sharesHaveIt := func(other gpuPlan) bool { return other.UUID == gpu.UUID && other.WithoutMIG && !other.AdminAccess }
	plan.WithoutMIG = slices.ContainsFunc(others, sharesHaveIt)
	if gpu.MIG == nil || !gpu.MIG.Enabled {
		return plan, nil
	}
	if len(gpu.MIG.Instances) > 0 {
		return nil, errHasInstances(gpu.MIG.Instances)
	}
	if gpu.MIGModeNeedsReset() {
		return nil, fmt.Errorf("the GPU is in MIG mode, which needs a reset to be switched off: %w", hardware.ErrGPUResetRequired)
	}
	plan.WithoutMIG = true
	return plan, nil
}

func errHasInstances(instances []hardware.GPUInstanceState) error {
	var ids []int
	for _, instance := range instances {
		ids = append(ids, instance.ID)
	}
	return fmt.Errorf("the GPU has GPU instances that this driver did not make, by ID %v: %w", ids, hardware.ErrGPUInUse)
}

func (k *gpuKind) Apply(ctx context.Context, plan *gpuPlan) (*gpuOutcome, error) {
	return &gpuOutcome{}, k.with(plan.UUID, func(gpu hardware.GPUDevice) error {
		if plan.AdminAccess {
			return nil
		}
		if plan.WithoutMIG {
			there, err := instances(gpu)
			if err == nil && len(there) > 0 {
				err = errHasInstances(there)
			}
			if err == nil {
				err = k.setMIGMode(ctx, gpu, false)
			}
			if err != nil {
				return err
			}
		}
		return k.setComputeMode(gpu, plan, hardware.ComputeModeExclusiveProcess)
	})
}

// setComputeMode changes it if the claim wants to have it changed.
func (k *gpuKind) setComputeMode(gpu hardware.GPUDevice, plan *gpuPlan, mode hardware.ComputeMode) error {
	if !plan.ExclusiveProcess {
		return nil
	}
	k.step("set the compute mode to %s", map[hardware.ComputeMode]string{
		hardware.ComputeModeExclusiveProcess: "exclusive process", hardware.ComputeModeDefault: "default"}[mode])
	if err := gpu.SetComputeMode(mode); err != nil {
		return fmt.Errorf("compute mode: %w", err)
	}
	return nil
}

// Verify sets the compute mode again, because the library does not tell it.
func (k *gpuKind) Verify(_ context.Context, plan *gpuPlan, _ *gpuOutcome) error {
	return k.verify(plan.UUID, func(gpu hardware.GPUDevice) error {
		if plan.AdminAccess {
			return nil
		}
		on, err := isPartitioned(gpu)
		if err != nil {
			return err
		}
		if on {
			return fmt.Errorf("the GPU is in MIG mode: %w", prepare.ErrNotAsLeft)
		}
		return k.setComputeMode(gpu, plan, hardware.ComputeModeExclusiveProcess)
	})
}

// Undo has nothing to do after a reboot, which takes both modes back to what they
// are at a boot.
func (k *gpuKind) Undo(ctx context.Context, plan *gpuPlan, _ *gpuOutcome, rebooted bool, others []gpuPlan) error {
	if rebooted || plan.AdminAccess || !plan.ExclusiveProcess && !plan.WithoutMIG {
		return nil
	}
	return k.undo(plan.UUID, func(gpu hardware.GPUDevice) error {
		if err := k.setComputeMode(gpu, plan, hardware.ComputeModeDefault); err != nil {
			return err
		}
		isShare := func(other gpuPlan) bool { return other.UUID == plan.UUID && !other.AdminAccess }
		if !plan.WithoutMIG || slices.ContainsFunc(others, isShare) {
			return nil
		}
		return k.giveBackMIGMode(ctx, gpu, true)
	})
}
