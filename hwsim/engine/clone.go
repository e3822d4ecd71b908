package engine

import "slices"

// Clone returns a copy that shares nothing with s.
func (s *State) Clone() *State {
	c := *s
	c.Events = slices.Clone(s.Events)
	c.GPUs = slices.Clone(s.GPUs)
	for i := range c.GPUs {
		c.GPUs[i] = c.GPUs[i].clone()
	}
	return &c
}

func (g GPU) clone() GPU {
	if g.MIG != nil {
		mig := *g.MIG
		mig.Instances = slices.Clone(mig.Instances)
		for i := range mig.Instances {
			mig.Instances[i].Compute = slices.Clone(mig.Instances[i].Compute)
		}
		g.MIG = &mig
	}
	if g.VGPU != nil {
		vgpu := *g.VGPU
		vgpu.Active = slices.Clone(vgpu.Active)
		g.VGPU = &vgpu
	}
	g.Health.XIDs = slices.Clone(g.Health.XIDs)
	return g
}
