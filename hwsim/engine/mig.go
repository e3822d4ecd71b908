package engine

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/dray-dev/dray/hwsim/gpulib"
	"github.com/dray-dev/dray/hwsim/numbering"
	"github.com/dray-dev/dray/kubeletplugin/hardware"
)

const (
	// destroyTime is what destroying a GPU instance takes: about a second, as is
	// reported of real ones (S).
	destroyTime = time.Second
	// releaseTime is how long a GPU instance stays in use after a compute instance
	// in it was destroyed. That it does is reported (S), the time is made up (?).
	releaseTime = 200 * time.Millisecond
)

// SetMIGMode changes the mode at once, or on Ampere makes it pending until the
// next reset.
func (e *Engine) SetMIGMode(gpu hardware.PCIAddress, enabled bool) error {
	return e.command(gpu, func(c *call) error {
		mig, err := c.mig()
		if err != nil {
			return err
		}
		if mig.Current == enabled && mig.Pending == enabled {
			return nil
		}
		switch {
		case c.state.Processes > 0:
			return fmt.Errorf("%d processes have it open: %w", c.state.Processes, hardware.ErrGPUInUse)
		case !enabled && len(mig.Instances) > 0:
			return fmt.Errorf("it has %d GPU instances: %w", len(mig.Instances), hardware.ErrGPUInUse)
		case enabled && c.state.VGPU != nil && len(c.state.VGPU.Active) > 0:
			return fmt.Errorf("it has %d virtual GPUs: %w", len(c.state.VGPU.Active), hardware.ErrGPUInUse)
		}
		mig.Pending = enabled
		if !needsReset(c.gpu) {
			mig.Current = enabled
		}
		c.report(Event{Type: hardware.EventMIGConfigChange, GPUInstance: nowhere, ComputeInstance: nowhere})
		return nil
	})
}

// CreateGPUInstance makes an instance of a profile, by its hardware ID, at a
// placement, or for nil where the fewest other placements are lost by it. It
// returns the instance's ID.
func (e *Engine) CreateGPUInstance(gpu hardware.PCIAddress, profileID int, placement *hardware.Placement) (id int, err error) {
	err = e.command(gpu, func(c *call) error {
		mig, err := c.partitioned()
		if err != nil {
			return err
		}
		profile := profileByID(c.gpu, profileID)
		if profile == nil {
			return fmt.Errorf("profile %d: %w", profileID, hardware.ErrGPUInvalidArgument)
		}
		at, err := c.place(profile, placement)
		if err != nil {
			return fmt.Errorf("%s: %w", profile.Name, err)
		}
		if id, err = mig.freeID(c.gpu.MIG.Profiles, at); err != nil {
			return fmt.Errorf("%s: %w", profile.Name, err)
		}
		mig.Instances = append(mig.Instances, GPUInstance{ID: id, Profile: profileID, Start: at.Start, Size: at.Size})
		slices.SortFunc(mig.Instances, func(a, b GPUInstance) int { return cmp.Compare(a.ID, b.ID) })
		c.report(Event{Type: hardware.EventMIGConfigChange, GPUInstance: id, ComputeInstance: nowhere})
		return nil
	})
	return id, err
}

// place finds where an instance goes.
func (c *call) place(profile *hardware.MIGProfile, wanted *hardware.Placement) (hardware.Placement, error) {
	if wanted != nil && !slices.Contains(profile.Placements, *wanted) {
		return *wanted, fmt.Errorf("there is no placement at %d with %d memory slices: %w", wanted.Start, wanted.Size, hardware.ErrGPUInvalidArgument)
	}
	made := c.made()
	free := gpulib.FreePlacements(made, profile)
	switch {
	case wanted != nil && slices.Contains(free, *wanted):
		return *wanted, nil
	case wanted == nil && len(free) > 0:
		return roomiest(made, profile, free), nil
	}
	candidates := profile.Placements
	if wanted != nil {
		candidates = []hardware.Placement{*wanted}
	}
	for _, at := range candidates {
		if !slices.ContainsFunc(made.Instances, func(i hardware.GPUInstanceState) bool { return overlaps(i.Placement, at) }) {
			return at, fmt.Errorf("memory slices are free at %d, but too little of the GPU's engines: %w", at.Start, hardware.ErrGPUInsufficientResources)
		}
	}
	return hardware.Placement{}, fmt.Errorf("memory slices of other instances are where it could be: %w", hardware.ErrGPUInsufficientResources)
}

// overlaps says whether two placements have a memory slice in common.
func overlaps(a, b hardware.Placement) bool {
	return a.Start < b.Start+b.Size && b.Start < a.Start+a.Size
}

// made is what there is on the GPU, as a node has it.
func (c *call) made() *hardware.MIG {
	made := &hardware.MIG{Enabled: true, Profiles: c.gpu.MIG.Profiles}
	for i := range c.state.MIG.Instances {
		made.Instances = append(made.Instances, c.state.MIG.Instances[i].hardware())
	}
	return made
}

// roomiest of the free placements is the one beside which most placements of all
// profiles stay free, and of several the first. The driver's own choice is not
// documented; this one agrees with what public transcripts of nvidia-smi mig -cgi
// show of an A100 (D).
func roomiest(made *hardware.MIG, profile *hardware.MIGProfile, free []hardware.Placement) hardware.Placement {
	best, most := free[0], -1
	for _, at := range free {
		with := *made
		with.Instances = append(slices.Clip(made.Instances), hardware.GPUInstanceState{ProfileID: profile.ID, Placement: at})
		left := 0
		for i := range made.Profiles {
			left += len(gpulib.FreePlacements(&with, &made.Profiles[i]))
		}
		if left > most {
			best, most = at, left
		}
	}
	return best
}

// freeID is the ID of an instance at a placement.
func (m *MIG) freeID(profiles []hardware.MIGProfile, at hardware.Placement) (int, error) {
	id := numbering.GPUInstanceID(numbering.MemorySlices(profiles), at)
	if id < numbering.GPUInstancesPerGPU && m.find(id) == nil {
		return id, nil
	}
	// Sizes that are no powers of two can have one ID for two placements.
	for id := range numbering.GPUInstancesPerGPU {
		if m.find(id) == nil {
			return id, nil
		}
	}
	return 0, fmt.Errorf("there are %d instances: %w", len(m.Instances), hardware.ErrGPUInsufficientResources)
}

// DestroyGPUInstance begins to destroy an instance. It is there, and in use, until
// the time that is returned.
func (e *Engine) DestroyGPUInstance(gpu hardware.PCIAddress, id int) (gone time.Time, err error) {
	err = e.command(gpu, func(c *call) error {
		instance, err := c.instance(id)
		if err != nil {
			return err
		}
		switch {
		case len(instance.Compute) > 0:
			return fmt.Errorf("GPU instance %d has %d compute instances: %w", id, len(instance.Compute), hardware.ErrGPUInUse)
		case c.now.Before(instance.BusyUntil):
			return fmt.Errorf("GPU instance %d has just lost a compute instance, try again: %w", id, hardware.ErrGPUInUse)
		}
		gone = c.now.Add(destroyTime)
		instance.BusyUntil, instance.GoneAt = time.Time{}, gone
		c.report(Event{Type: hardware.EventMIGConfigChange, GPUInstance: id, ComputeInstance: nowhere})
		return nil
	})
	return gone, err
}

// CreateComputeInstance makes a compute instance in a GPU instance, and returns its
// ID. Which of the instance's compute slices it gets is not modelled: any that are
// free will do.
func (e *Engine) CreateComputeInstance(gpu hardware.PCIAddress, instance, profileID int) (id int, err error) {
	err = e.command(gpu, func(c *call) error {
		in, err := c.instance(instance)
		if err != nil {
			return err
		}
		need, ok := numbering.ComputeSlices(profileID)
		left := profileByID(c.gpu, in.Profile).ComputeSlices
		if !ok || need > left {
			return fmt.Errorf("compute instance profile %d in GPU instance %d: %w", profileID, instance, hardware.ErrGPUNotSupported)
		}
		id = 0
		for i, other := range in.Compute {
			used, _ := numbering.ComputeSlices(other.Profile)
			left -= used
			if other.ID == i {
				id = i + 1
			}
		}
		if need > left || id >= numbering.ComputeInstancesPerGPUInstance {
			return fmt.Errorf("%d compute slices of GPU instance %d are free: %w", left, instance, hardware.ErrGPUInsufficientResources)
		}
		in.Compute = append(in.Compute, ComputeInstance{ID: id, Profile: profileID, UUID: numbering.MIGUUID(c.gpu.UUID, instance, id)})
		slices.SortFunc(in.Compute, func(a, b ComputeInstance) int { return cmp.Compare(a.ID, b.ID) })
		c.report(Event{Type: hardware.EventMIGConfigChange, GPUInstance: instance, ComputeInstance: id})
		return nil
	})
	return id, err
}

// DestroyComputeInstance destroys a compute instance that no process is on. For a
// moment its GPU instance stays in use.
func (e *Engine) DestroyComputeInstance(gpu hardware.PCIAddress, instance, id int) error {
	return e.command(gpu, func(c *call) error {
		in, err := c.instance(instance)
		if err != nil {
			return err
		}
		i := slices.IndexFunc(in.Compute, func(c ComputeInstance) bool { return c.ID == id })
		if i < 0 {
			return fmt.Errorf("compute instance %d of GPU instance %d: %w", id, instance, hardware.ErrGPUNotFound)
		}
		if n := in.Compute[i].Processes; n > 0 {
			return fmt.Errorf("%d processes are on compute instance %d of GPU instance %d: %w", n, id, instance, hardware.ErrGPUInUse)
		}
		in.Compute = slices.Delete(in.Compute, i, i+1)
		in.BusyUntil = c.now.Add(releaseTime)
		c.report(Event{Type: hardware.EventMIGConfigChange, GPUInstance: instance, ComputeInstance: id})
		return nil
	})
}
