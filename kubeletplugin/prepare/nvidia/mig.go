package nvidia

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/dray-dev/dray/kubeletplugin/api"
	"github.com/dray-dev/dray/kubeletplugin/hardware"
	"github.com/dray-dev/dray/kubeletplugin/prepare"
	"github.com/dray-dev/dray/kubeletplugin/publish"
)

// migKind is partitions of GPUs.
type migKind struct{ *machine }

// migPlan is kept in checkpoints.
type migPlan struct {
	onGPU
	// Profile by name and by the hardware's ID.
	Profile       string `json:"profile"`
	ProfileID     int    `json:"profileID"`
	ComputeSlices int    `json:"computeSlices"`
	// Start and Size in memory slices.
	Start int `json:"start"`
	Size  int `json:"size"`
	// Existing partitions are used as they are: an administrator's, or with access for
	// administrators anybody's.
	Existing bool `json:"existing,omitempty"`
	// SwitchMode: the GPU was not in MIG mode before this driver made partitions of it,
	// for this claim or for another.
	SwitchMode bool `json:"switchMode,omitempty"`
}

func (p *migPlan) placement() hardware.Placement {
	return hardware.Placement{Start: p.Start, Size: p.Size}
}

// is says whether an instance is of the plan's profile, in its place.
func (p *migPlan) is(instance *hardware.GPUInstanceState) bool {
	return instance.ProfileID == p.ProfileID && instance.Placement == p.placement()
}

// migOutcome says what there is for the claim, whoever made it.
type migOutcome struct {
	// GPUInstance and ComputeInstance are IDs, nil for none.
	GPUInstance     *int `json:"gpuInstance,omitempty"`
	ComputeInstance *int `json:"computeInstance,omitempty"`
	// UUID of the partition, "MIG-…".
	UUID string `json:"uuid,omitempty"`
}

func (*migKind) Name() string { return "mig" }

func (*migKind) Match(device string) bool { return match(device, publish.NVIDIAPartition) }

func (*migKind) Lock(plan *migPlan) string { return plan.lock() }

func (*migKind) Holds(request *prepare.Request) ([]string, error) {
	found, err := find(request)
	if err != nil {
		return nil, err
	}
	var holds []string
	for slice := range found.Placement.Size {
		holds = append(holds, fmt.Sprintf("%s/%d", found.GPU.UUID, found.Placement.Start+slice))
	}
	return holds, nil
}

func (k *migKind) Plan(request *prepare.Request, others []migPlan) (*migPlan, error) {
	found, err := find(request)
	if err != nil {
		return nil, err
	}
	if _, err := api.For[api.MIG](request.Configs, request.Request); err != nil {
		return nil, err
	}
	gpu, profile := found.GPU, found.Profile
	plan := &migPlan{onGPU: on(gpu), Profile: profile.Name, ProfileID: profile.ID, ComputeSlices: profile.ComputeSlices,
		Start: found.Placement.Start, Size: found.Placement.Size, Existing: request.AdminAccess || k.options.StaticMIG}
	if plan.Existing {
		if !slices.ContainsFunc(gpu.MIG.Instances, func(i hardware.GPUInstanceState) bool { return plan.is(&i) }) {
			return nil, fmt.Errorf("there is no such partition, and none is made for the claim: %w", hardware.ErrGPUNotFound)
		}
		return plan, nil
	}
	if gpu.MIG.Enabled {
		isOurs := func(other migPlan) bool { return other.UUID == gpu.UUID && other.SwitchMode }
		plan.SwitchMode = slices.ContainsFunc(others, isOurs)
		return plan, k.isFree(plan, gpu.MIG.Instances)
	}
	if gpu.MIGModeNeedsReset() {
		return nil, fmt.Errorf("the GPU is not in MIG mode, which needs a reset to be switched on: %w", hardware.ErrGPUResetRequired)
	}
	plan.SwitchMode = true
	return plan, nil
}

// isFree is an error if something covers the place. Claims of this driver that have
// something there were found before.
func (*migKind) isFree(plan *migPlan, instances []hardware.GPUInstanceState) error {
	for _, instance := range instances {
		at := instance.Placement
		if at.Start < plan.Start+plan.Size && plan.Start < at.Start+at.Size {
			return fmt.Errorf("GPU instance %d, which this driver did not make, covers memory slices %d to %d: %w",
				instance.ID, at.Start, at.Start+at.Size-1, hardware.ErrGPUInsufficientResources)
		}
	}
	return nil
}

func (k *migKind) Apply(ctx context.Context, plan *migPlan) (outcome *migOutcome, err error) {
	outcome = &migOutcome{}
	err = k.with(plan.UUID, func(gpu hardware.GPUDevice) error {
		if plan.Existing {
			return k.existing(gpu, plan, outcome)
		}
		known, err := k.makePartition(ctx, gpu, plan, outcome)
		if !known {
			outcome = nil
		}
		return err
	})
	return outcome, err
}

// makePartition makes the instances and puts them into the outcome. Not known is what
// was made where it does not say so: it is there, and all that is known of it is where.
func (k *migKind) makePartition(ctx context.Context, gpu hardware.GPUDevice, plan *migPlan, outcome *migOutcome) (known bool, err error) {
	if err := k.setMIGMode(ctx, gpu, true); err != nil {
		return true, err
	}
	// The switch may have reset the GPU, and with it what the handle stands for.
	if gpu, err = k.options.Library.DeviceByUUID(plan.UUID); err != nil {
		return true, err
	}
	k.step("make the GPU instance")
	instance, err := gpu.CreateGPUInstanceAt(plan.ProfileID, plan.placement())
	if err != nil {
		return true, fmt.Errorf("GPU instance of profile %s at %d: %w", plan.Profile, plan.Start, err)
	}
	state, err := instance.Info()
	if err != nil {
		return false, err
	}
	outcome.GPUInstance = &state.ID
	compute, err := k.createCompute(instance, plan.ComputeSlices)
	if err != nil {
		return true, fmt.Errorf("compute instance: %w", err)
	}
	made, err := compute.Info()
	if err != nil {
		return false, err
	}
	outcome.ComputeInstance, outcome.UUID = &made.ID, made.UUID
	return true, nil
}

// createCompute makes a compute instance of the whole GPU instance.
func (k *migKind) createCompute(instance hardware.GPUInstance, computeSlices int) (hardware.ComputeInstance, error) {
	kind, ok := wholeCompute[computeSlices]
	if !ok {
		return nil, fmt.Errorf("none has %d slices: %w", computeSlices, hardware.ErrGPUNotSupported)
	}
	profile, err := instance.ComputeInstanceProfile(kind)
	if err != nil {
		return nil, err
	}
	k.step("make the compute instance")
	return instance.CreateComputeInstance(profile.ID)
}

// wholeCompute is the kind of compute instance with all slices of a GPU instance.
var wholeCompute = map[int]hardware.ComputeInstanceProfileKind{
	1: hardware.ComputeInstance1Slice, 2: hardware.ComputeInstance2Slice, 3: hardware.ComputeInstance3Slice,
	4: hardware.ComputeInstance4Slice, 6: hardware.ComputeInstance6Slice, 7: hardware.ComputeInstance7Slice, 8: hardware.ComputeInstance8Slice,
}

// existing finds a partition that somebody has made.
func (k *migKind) existing(gpu hardware.GPUDevice, plan *migPlan, outcome *migOutcome) error {
	there, err := instances(gpu)
	if err != nil {
		return err
	}
	i := slices.IndexFunc(there, func(i hardware.GPUInstanceState) bool { return plan.is(&i) })
	if i < 0 {
		return fmt.Errorf("the partition has gone: %w", hardware.ErrGPUNotFound)
	}
	instance, err := gpu.GPUInstanceByID(there[i].ID)
	if err != nil {
		return err
	}
	computes, err := computeInstances(instance)
	if err != nil {
		return err
	}
	if len(computes) != 1 {
		return fmt.Errorf("GPU instance %d has %d compute instances, not one: %w", there[i].ID, len(computes), hardware.ErrGPUNotSupported)
	}
	*outcome = migOutcome{GPUInstance: &there[i].ID, ComputeInstance: &computes[0].ID, UUID: computes[0].UUID}
	return nil
}

func computeInstances(instance hardware.GPUInstance) ([]hardware.ComputeInstanceState, error) {
	var all []hardware.ComputeInstanceState
	for kind := range hardware.ComputeInstanceProfileKinds {
		profile, err := instance.ComputeInstanceProfile(kind)
		if errors.Is(err, hardware.ErrGPUNotSupported) || errors.Is(err, hardware.ErrGPUInvalidArgument) {
			continue
		}
		if err != nil {
			return nil, err
		}
		handles, err := instance.ComputeInstances(profile.ID)
		if err != nil {
			return nil, err
		}
		for _, handle := range handles {
			state, err := handle.Info()
			if errors.Is(err, hardware.ErrGPUNotFound) {
				continue
			}
			if err != nil {
				return nil, err
			}
			all = append(all, state)
		}
	}
	return all, nil
}

// Verify finds the partition with the UUID in its place.
func (k *migKind) Verify(_ context.Context, plan *migPlan, outcome *migOutcome) error {
	return k.verify(plan.UUID, func(gpu hardware.GPUDevice) error {
		if outcome == nil || outcome.GPUInstance == nil {
			return fmt.Errorf("nobody knows its GPU instance: %w", prepare.ErrNotAsLeft)
		}
		there, err := instances(gpu)
		if err != nil {
			return err
		}
		isIt := func(i hardware.GPUInstanceState) bool { return i.ID == *outcome.GPUInstance && plan.is(&i) }
		if !slices.ContainsFunc(there, isIt) {
			return fmt.Errorf("GPU instance %d has gone: %w", *outcome.GPUInstance, prepare.ErrNotAsLeft)
		}
		instance, err := gpu.GPUInstanceByID(*outcome.GPUInstance)
		if err != nil {
			return err
		}
		computes, err := computeInstances(instance)
		if err != nil {
			return err
		}
		if !slices.ContainsFunc(computes, func(c hardware.ComputeInstanceState) bool { return c.UUID == outcome.UUID }) {
			return fmt.Errorf("partition %s has gone: %w", outcome.UUID, prepare.ErrNotAsLeft)
		}
		return nil
	})
}
