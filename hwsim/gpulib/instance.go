package gpulib

import (
	"fmt"
	"slices"

	"github.com/dray-dev/dray/hwsim/numbering"
	"github.com/dray-dev/dray/kubeletplugin/hardware"
)

// mig is the state of a GPU that can be partitioned.
func mig(g *hardware.GPU) (*hardware.MIG, error) {
	if g.MIG == nil {
		return nil, hardware.ErrGPUNotSupported
	}
	return g.MIG, nil
}

// enabled is the state of a GPU that is in MIG mode: NVML refuses questions about
// instances of one that is not.
func enabled(g *hardware.GPU) (*hardware.MIG, error) {
	m, err := mig(g)
	if err == nil && !m.Enabled {
		err = fmt.Errorf("MIG is not enabled: %w", hardware.ErrGPUNotSupported)
	}
	return m, err
}

// profile of the GPU by its hardware ID.
func profile(g *hardware.GPU, id int) (*hardware.MIGProfile, error) {
	m, err := mig(g)
	if err != nil {
		return nil, err
	}
	i := slices.IndexFunc(m.Profiles, func(p hardware.MIGProfile) bool { return p.ID == id })
	if i < 0 {
		return nil, fmt.Errorf("GPU instance profile %d: %w", id, hardware.ErrGPUInvalidArgument)
	}
	return &m.Profiles[i], nil
}

func (d *gpuDevice) MIGMode() (current, pending bool, err error) {
	modes, err := answer(d, "MIG mode", func(g *hardware.GPU) ([2]bool, error) {
		m, err := mig(g)
		if err != nil {
			return [2]bool{}, err
		}
		return [2]bool{m.Enabled, m.Pending}, nil
	})
	return modes[0], modes[1], err
}

func (d *gpuDevice) SetMIGMode(enabled bool) error {
	const call = "set MIG mode"
	if _, err := answer(d, call, mig); err != nil {
		return err
	}
	return d.fail(call, d.library.backend.SetMIGMode(d.address, enabled))
}

func (d *gpuDevice) GPUInstanceProfile(kind hardware.GPUInstanceProfileKind) (hardware.MIGProfile, error) {
	return answer(d, "GPU instance profile", func(g *hardware.GPU) (hardware.MIGProfile, error) {
		m, err := mig(g)
		if err != nil {
			return hardware.MIGProfile{}, err
		}
		if kind < 0 || kind >= hardware.GPUInstanceProfileKinds {
			return hardware.MIGProfile{}, fmt.Errorf("kind %d: %w", kind, hardware.ErrGPUInvalidArgument)
		}
		for _, p := range m.Profiles {
			if p.Kind == kind {
				p.Placements = slices.Clone(p.Placements)
				return p, nil
			}
		}
		return hardware.MIGProfile{}, fmt.Errorf("kind %d: %w", kind, hardware.ErrGPUNotSupported)
	})
}

func (d *gpuDevice) GPUInstanceRemaining(profileID int) (int, error) {
	return answer(d, "GPU instance remaining capacity", func(g *hardware.GPU) (int, error) {
		p, err := profile(g, profileID)
		if err != nil {
			return 0, err
		}
		m, err := enabled(g)
		if err != nil {
			return 0, err
		}
		return remaining(m, p), nil
	})
}

func (d *gpuDevice) CreateGPUInstance(profileID int) (hardware.GPUInstance, error) {
	return d.createInstance("create GPU instance", profileID, nil)
}

func (d *gpuDevice) CreateGPUInstanceAt(profileID int, placement hardware.Placement) (hardware.GPUInstance, error) {
	return d.createInstance("create GPU instance with placement", profileID, &placement)
}

func (d *gpuDevice) createInstance(call string, profileID int, at *hardware.Placement) (hardware.GPUInstance, error) {
	if _, err := answer(d, call, func(g *hardware.GPU) (*hardware.MIG, error) {
		if _, err := profile(g, profileID); err != nil {
			return nil, err
		}
		return enabled(g)
	}); err != nil {
		return nil, err
	}
	id, err := d.library.backend.CreateGPUInstance(d.address, profileID, at)
	if err != nil {
		return nil, d.fail(call, err)
	}
	return &gpuInstance{*d, id}, nil
}

func (d *gpuDevice) GPUInstances(profileID int) ([]hardware.GPUInstance, error) {
	return answer(d, "GPU instances", func(g *hardware.GPU) ([]hardware.GPUInstance, error) {
		if _, err := profile(g, profileID); err != nil {
			return nil, err
		}
		m, err := enabled(g)
		if err != nil {
			return nil, err
		}
		var handles []hardware.GPUInstance
		for _, instance := range m.Instances {
			if instance.ProfileID == profileID {
				handles = append(handles, &gpuInstance{*d, instance.ID})
			}
		}
		return handles, nil
	})
}

func (d *gpuDevice) GPUInstanceByID(id int) (hardware.GPUInstance, error) {
	return answer(d, "GPU instance by ID", func(g *hardware.GPU) (hardware.GPUInstance, error) {
		if _, err := enabled(g); err != nil {
			return nil, err
		}
		if _, err := findInstance(g, id); err != nil {
			return nil, err
		}
		return &gpuInstance{*d, id}, nil
	})
}

// gpuInstance is the handle of a GPU instance.
type gpuInstance struct {
	gpuDevice
	id int
}

var _ hardware.GPUInstance = (*gpuInstance)(nil)

func findInstance(g *hardware.GPU, id int) (hardware.GPUInstanceState, error) {
	if g.MIG != nil {
		for _, instance := range g.MIG.Instances {
			if instance.ID == id {
				return instance, nil
			}
		}
	}
	return hardware.GPUInstanceState{}, fmt.Errorf("GPU instance %d: %w", id, hardware.ErrGPUNotFound)
}

func (i *gpuInstance) state(call string) (hardware.GPUInstanceState, error) {
	return answer(&i.gpuDevice, call, func(g *hardware.GPU) (hardware.GPUInstanceState, error) { return findInstance(g, i.id) })
}

func (i *gpuInstance) Info() (hardware.GPUInstanceState, error) {
	state, err := i.state("GPU instance info")
	state.ComputeInstances = nil
	return state, err
}

// computeProfile is the profile of a kind in an instance: it must fit, and have
// the shared engines that the interface asks for, so there is no +me.
func computeProfile(g *hardware.GPU, instance int, kind hardware.ComputeInstanceProfileKind) (hardware.ComputeInstanceProfile, error) {
	state, err := findInstance(g, instance)
	if err != nil {
		return hardware.ComputeInstanceProfile{}, err
	}
	p, err := profile(g, state.ProfileID)
	if err != nil {
		return hardware.ComputeInstanceProfile{}, err
	}
	slices, ok := numbering.ComputeSlices(int(kind)) // the kind is also the hardware's ID
	if !ok || slices > p.ComputeSlices {
		return hardware.ComputeInstanceProfile{}, fmt.Errorf("compute instance kind %d in %s: %w", kind, p.Name, hardware.ErrGPUNotSupported)
	}
	return hardware.ComputeInstanceProfile{Kind: kind, ID: int(kind), ComputeSlices: slices, MaxInstances: p.ComputeSlices / slices}, nil
}

func (i *gpuInstance) ComputeInstanceProfile(kind hardware.ComputeInstanceProfileKind) (hardware.ComputeInstanceProfile, error) {
	return answer(&i.gpuDevice, "compute instance profile", func(g *hardware.GPU) (hardware.ComputeInstanceProfile, error) {
		return computeProfile(g, i.id, kind)
	})
}

func (i *gpuInstance) CreateComputeInstance(profileID int) (hardware.ComputeInstance, error) {
	const call = "create compute instance"
	if _, err := answer(&i.gpuDevice, call, func(g *hardware.GPU) (hardware.ComputeInstanceProfile, error) {
		return computeProfile(g, i.id, hardware.ComputeInstanceProfileKind(profileID))
	}); err != nil {
		return nil, err
	}
	id, err := i.library.backend.CreateComputeInstance(i.address, i.id, profileID)
	if err != nil {
		return nil, i.fail(call, fmt.Errorf("in GPU instance %d: %w", i.id, err))
	}
	return &computeInstance{*i, id}, nil
}

func (i *gpuInstance) ComputeInstances(profileID int) ([]hardware.ComputeInstance, error) {
	return answer(&i.gpuDevice, "compute instances", func(g *hardware.GPU) ([]hardware.ComputeInstance, error) {
		if _, err := computeProfile(g, i.id, hardware.ComputeInstanceProfileKind(profileID)); err != nil {
			return nil, err
		}
		state, err := findInstance(g, i.id)
		if err != nil {
			return nil, err
		}
		var handles []hardware.ComputeInstance
		for _, compute := range state.ComputeInstances {
			if compute.ProfileID == profileID {
				handles = append(handles, &computeInstance{*i, compute.ID})
			}
		}
		return handles, nil
	})
}

func (i *gpuInstance) ComputeInstanceByID(id int) (hardware.ComputeInstance, error) {
	compute := &computeInstance{*i, id}
	if _, err := compute.state("compute instance by ID"); err != nil {
		return nil, err
	}
	return compute, nil
}

func (i *gpuInstance) Destroy() error {
	const call = "destroy GPU instance"
	if _, err := i.state(call); err != nil {
		return err
	}
	if err := i.library.backend.DestroyGPUInstance(i.address, i.id); err != nil {
		return i.fail(call, fmt.Errorf("GPU instance %d: %w", i.id, err))
	}
	return nil
}

// computeInstance is the handle of a compute instance.
type computeInstance struct {
	gpuInstance
	compute int
}

var _ hardware.ComputeInstance = (*computeInstance)(nil)

func findCompute(g *hardware.GPU, instance, id int) (hardware.ComputeInstanceState, error) {
	state, err := findInstance(g, instance)
	if err != nil {
		return hardware.ComputeInstanceState{}, err
	}
	for _, compute := range state.ComputeInstances {
		if compute.ID == id {
			return compute, nil
		}
	}
	return hardware.ComputeInstanceState{}, fmt.Errorf("compute instance %d of GPU instance %d: %w", id, instance, hardware.ErrGPUNotFound)
}

func (c *computeInstance) state(call string) (hardware.ComputeInstanceState, error) {
	return answer(&c.gpuDevice, call, func(g *hardware.GPU) (hardware.ComputeInstanceState, error) {
		return findCompute(g, c.id, c.compute)
	})
}

func (c *computeInstance) Info() (hardware.ComputeInstanceState, error) {
	return c.state("compute instance info")
}

func (c *computeInstance) Destroy() error {
	const call = "destroy compute instance"
	if _, err := c.state(call); err != nil {
		return err
	}
	if err := c.library.backend.DestroyComputeInstance(c.address, c.id, c.compute); err != nil {
		return c.fail(call, fmt.Errorf("compute instance %d of GPU instance %d: %w", c.compute, c.id, err))
	}
	return nil
}
