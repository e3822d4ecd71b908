package engine

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/dray-dev/dray/hwsim/gpulib"
	"github.com/dray-dev/dray/hwsim/numbering"
	"github.com/dray-dev/dray/kubeletplugin/hardware"
)

// Validate reports where the State breaks what it keeps with the node, by the
// numbers in State's comment. The node is valid.
func (s *State) Validate(node *hardware.Node) error {
	if s.Version != Version {
		return fmt.Errorf("gpu state: version %d: this program knows version %d", s.Version, Version)
	}
	if len(s.GPUs) != len(node.GPUs) {
		return fmt.Errorf("gpu state: there are %d GPUs in it, and %d in the machine", len(s.GPUs), len(node.GPUs))
	}
	v := validator{uuids: map[string]string{}}
	for i := range s.GPUs {
		v.gpu(&node.GPUs[i], &s.GPUs[i])
	}
	if len(s.Events) > maxEvents {
		v.fail("events", "there are %d, more than %d", len(s.Events), maxEvents)
	}
	for i := range s.Events {
		if want := s.LastEvent - uint64(len(s.Events)-1-i); s.Events[i].Number != want || want == 0 {
			v.fail("events", "event %d of %d has number %d: the last one must be %d", i, len(s.Events), s.Events[i].Number, s.LastEvent)
			break
		}
	}
	return errors.Join(v.errs...)
}

type validator struct {
	errs  []error
	uuids map[string]string // to the GPU that has it
}

func (v *validator) fail(where, format string, args ...any) {
	v.errs = append(v.errs, fmt.Errorf("gpu state: %s: %w", where, fmt.Errorf(format, args...)))
}

func (v *validator) gpu(gpu *hardware.GPU, state *GPU) {
	where := "gpu " + state.Address.String()
	switch {
	case state.Address != gpu.Address:
		v.fail(where, "the machine has gpu %s in this place", gpu.Address)
		return
	case (state.MIG == nil) != (gpu.MIG == nil):
		v.fail(where, "mig: it is there for GPUs that can be partitioned, and for no others")
		return
	case (state.VGPU == nil) != (gpu.VGPU == nil):
		v.fail(where, "vgpu: it is there for hosts of virtual GPUs, and for no others")
		return
	case state.Processes < 0:
		v.fail(where, "processes: there are %d", state.Processes)
	case !isComputeMode(state.Compute):
		v.fail(where, "computeMode: there is no mode %d", state.Compute)
	}
	if state.MIG != nil {
		v.mig(where, gpu, state.MIG)
	}
	if state.VGPU != nil {
		v.vgpu(where, gpu, state)
	}
}

func (v *validator) mig(where string, gpu *hardware.GPU, mig *MIG) {
	if mig.Current != mig.Pending && !needsReset(gpu) {
		v.fail(where, "mig: a GPU of architecture %s changes its mode at once, but another one is pending", gpu.Architecture)
	}
	if !mig.Current && len(mig.Instances) > 0 {
		v.fail(where, "mig: there are %d instances while MIG is off", len(mig.Instances))
	}
	made := hardware.MIG{Enabled: true, Profiles: gpu.MIG.Profiles}
	for i := range mig.Instances {
		instance := &mig.Instances[i]
		where := fmt.Sprintf("%s: mig: instance %d", where, instance.ID)
		if instance.ID < 0 || instance.ID >= numbering.GPUInstancesPerGPU || i > 0 && instance.ID <= mig.Instances[i-1].ID {
			v.fail(where, "IDs must ascend, from 0 to %d", numbering.GPUInstancesPerGPU-1)
		}
		profile := profileByID(gpu, instance.Profile)
		if profile == nil {
			v.fail(where, "the GPU has no profile %d", instance.Profile)
			continue
		}
		if !slices.Contains(gpulib.FreePlacements(&made, profile), instance.placement()) {
			v.fail(where, "%s does not fit at %d, with %d memory slices, beside the instances before it",
				profile.Name, instance.Start, instance.Size)
		}
		made.Instances = append(made.Instances, instance.hardware())
		v.compute(where, profile, instance)
	}
}

func (v *validator) compute(where string, profile *hardware.MIGProfile, instance *GPUInstance) {
	if len(instance.Compute) > 0 && !instance.GoneAt.IsZero() {
		v.fail(where, "it is being destroyed, and has compute instances")
	}
	used := 0
	for i, c := range instance.Compute {
		if c.ID < 0 || c.ID >= numbering.ComputeInstancesPerGPUInstance || i > 0 && c.ID <= instance.Compute[i-1].ID {
			v.fail(where, "compute instance %d: IDs must ascend, from 0 to %d", c.ID, numbering.ComputeInstancesPerGPUInstance-1)
		}
		count, ok := numbering.ComputeSlices(c.Profile)
		if !ok {
			v.fail(where, "compute instance %d: there is no profile %d", c.ID, c.Profile)
		}
		used += count
		if other, taken := v.uuids[c.UUID]; taken || !strings.HasPrefix(c.UUID, "MIG-") {
			v.fail(where, "compute instance %d: UUID %q must begin with MIG- and be no other's (%s)", c.ID, c.UUID, other)
		}
		v.uuids[c.UUID] = where
		if c.Processes < 0 {
			v.fail(where, "compute instance %d: processes: there are %d", c.ID, c.Processes)
		}
	}
	if used > profile.ComputeSlices {
		v.fail(where, "compute instances have %d compute slices of the %d of %s", used, profile.ComputeSlices, profile.Name)
	}
}

func (v *validator) vgpu(where string, gpu *hardware.GPU, state *GPU) {
	before := GPU{MIG: state.MIG, VGPU: &VGPU{MixedSize: state.VGPU.MixedSize}}
	if state.VGPU.MixedSize && !canMixSizes(gpu) {
		v.fail(where, "vgpu: it cannot mix sizes")
	}
	for i, active := range state.VGPU.Active {
		where := fmt.Sprintf("%s: vgpu: virtual function %d", where, active.VF)
		if active.VF < 0 || i > 0 && active.VF <= state.VGPU.Active[i-1].VF {
			v.fail(where, "virtual functions must ascend, from 0")
		}
		kind := typeByID(gpu, active.Type)
		if kind == nil {
			v.fail(where, "the GPU has no type %d", active.Type)
			continue
		}
		if err := before.admits(gpu, kind, active); err != nil {
			v.fail(where, "%s beside the virtual GPUs before it: %w", kind.Name, err)
		}
		before.VGPU.Active = append(before.VGPU.Active, active)
	}
}

// profileByID is the GPU's profile by its hardware ID, or nil.
func profileByID(gpu *hardware.GPU, id int) *hardware.MIGProfile {
	i := slices.IndexFunc(gpu.MIG.Profiles, func(p hardware.MIGProfile) bool { return p.ID == id })
	if i < 0 {
		return nil
	}
	return &gpu.MIG.Profiles[i]
}

// typeByID is the GPU's type of virtual GPU, or nil.
func typeByID(gpu *hardware.GPU, id int) *hardware.VGPUType {
	i := slices.IndexFunc(gpu.VGPU.Types, func(t hardware.VGPUType) bool { return t.ID == id })
	if i < 0 {
		return nil
	}
	return &gpu.VGPU.Types[i]
}

// needsReset says whether a GPU changes its MIG mode only when it is reset.
func needsReset(gpu *hardware.GPU) bool { return gpu.Architecture == "Ampere" }
