package engine

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/dray-dev/dray/kubeletplugin/hardware"
)

// timeShared is the MIGProfileID of a type that shares the GPU by time, and the
// GPUInstance of a virtual GPU of such a type.
const timeShared = -1

// canMixSizes says whether virtual GPUs of different sizes can be on the GPU.
func canMixSizes(gpu *hardware.GPU) bool {
	return slices.ContainsFunc(gpu.VGPU.Types, func(t hardware.VGPUType) bool { return t.MaxMixed > 0 })
}

// admits says why a virtual GPU of a type cannot be beside those that there are:
// invariants 5 and 6 of State.
func (g *GPU) admits(gpu *hardware.GPU, kind *hardware.VGPUType, new VirtualGPU) error {
	partitioned := g.MIG != nil && g.MIG.Current
	switch {
	case kind.MIGProfileID != timeShared && !partitioned:
		return fmt.Errorf("MIG is off: %w", hardware.ErrGPUNotSupported)
	case kind.MIGProfileID != timeShared:
		return g.admitsBacked(kind, new)
	case partitioned:
		return fmt.Errorf("MIG is on: %w", hardware.ErrGPUNotSupported)
	case new.GPUInstance != timeShared:
		return fmt.Errorf("it shares the GPU by time, and no GPU instance: %w", hardware.ErrGPUInvalidArgument)
	case g.VGPU.MixedSize:
		return g.admitsMixed(gpu, kind, new)
	}
	return g.admitsEqual(gpu, kind, new)
}

// admitsBacked: the GPU instance is of the profile, and backs no other.
func (g *GPU) admitsBacked(kind *hardware.VGPUType, new VirtualGPU) error {
	instance := g.MIG.find(new.GPUInstance)
	switch {
	case instance == nil || instance.Profile != kind.MIGProfileID || !instance.GoneAt.IsZero():
		return fmt.Errorf("no GPU instance of profile %d is free: %w", kind.MIGProfileID, hardware.ErrGPUInsufficientResources)
	case g.VGPU.backedBy(new.GPUInstance):
		return fmt.Errorf("every GPU instance of profile %d is taken: %w", kind.MIGProfileID, hardware.ErrGPUInsufficientResources)
	case new.Slot != 0:
		return fmt.Errorf("slot %d: one that MIG backs has none: %w", new.Slot, hardware.ErrGPUInvalidArgument)
	}
	return nil
}

// backedBy says whether a GPU instance backs a virtual GPU.
func (v *VGPU) backedBy(instance int) bool {
	return slices.ContainsFunc(v.Active, func(a VirtualGPU) bool { return a.GPUInstance == instance })
}

// admitsEqual: all have one size, and their parts of the GPU are no more than 1.
// The parts are compared as fractions of the product of all maxima, which are small.
func (g *GPU) admitsEqual(gpu *hardware.GPU, kind *hardware.VGPUType, new VirtualGPU) error {
	if new.Slot != 0 {
		return fmt.Errorf("slot %d: virtual GPUs of equal size have none: %w", new.Slot, hardware.ErrGPUInvalidArgument)
	}
	if kind.MaxInstances < 1 {
		return fmt.Errorf("%s cannot be made: %w", kind.Name, hardware.ErrGPUNotSupported)
	}
	whole, used := kind.MaxInstances, 1 // used/whole
	for _, active := range g.VGPU.Active {
		other := typeByID(gpu, active.Type)
		if other == nil {
			continue // the State is not valid
		}
		if other.FramebufferBytes != kind.FramebufferBytes {
			return fmt.Errorf("there are virtual GPUs of another size (%s): %w", other.Name, hardware.ErrGPUInsufficientResources)
		}
		used, whole = addFractions(used, whole, 1, other.MaxInstances)
	}
	if used > whole {
		return fmt.Errorf("the GPU is full: %w", hardware.ErrGPUInsufficientResources)
	}
	return nil
}

// addFractions is a/b + c/d in lowest terms.
func addFractions(a, b, c, d int) (numerator, denominator int) {
	numerator, denominator = a*d+c*b, b*d
	x, y := numerator, denominator
	for y != 0 {
		x, y = y, x%y
	}
	return numerator / x, denominator / x
}

// admitsMixed: it lies at a slot of its size, and overlaps no other.
func (g *GPU) admitsMixed(gpu *hardware.GPU, kind *hardware.VGPUType, new VirtualGPU) error {
	if kind.MaxMixed < 1 {
		return fmt.Errorf("%s cannot be mixed with other sizes: %w", kind.Name, hardware.ErrGPUNotSupported)
	}
	if new.Slot < 0 || new.Slot >= kind.MaxMixed {
		return fmt.Errorf("slot %d of the %d of %s: %w", new.Slot, kind.MaxMixed, kind.Name, hardware.ErrGPUInvalidArgument)
	}
	for _, active := range g.VGPU.Active {
		other := typeByID(gpu, active.Type)
		if other != nil && overlap(new.Slot, kind.MaxMixed, active.Slot, other.MaxMixed) {
			return fmt.Errorf("slot %d of %s is taken by %s on virtual function %d: %w",
				new.Slot, kind.Name, other.Name, active.VF, hardware.ErrGPUInsufficientResources)
		}
	}
	return nil
}

// overlap says whether part i of m parts of the GPU and part j of n have some of it
// in common.
func overlap(i, m, j, n int) bool { return i*n < (j+1)*m && j*m < (i+1)*n }

// AnySlot lets the engine choose where a virtual GPU lies.
const AnySlot = -1

// CreateVGPU makes a virtual GPU of a type on a virtual function that is none
// yet. On a GPU of mixed sizes it lies at a slot, counted in its own size, or the
// first that is free. One that MIG backs gets a GPU instance of its profile that
// backs no other and has no processes, if there is one without compute instances
// that, and else the one with the lowest ID; how the driver chooses is not known (?).
func (e *Engine) CreateVGPU(gpu hardware.PCIAddress, vf, typeID, slot int) error {
	return e.command(gpu, func(c *call) error {
		vgpu, err := c.vgpu()
		if err != nil {
			return err
		}
		kind := typeByID(c.gpu, typeID)
		switch {
		case kind == nil || vf < 0:
			return fmt.Errorf("vGPU type %d on virtual function %d: %w", typeID, vf, hardware.ErrGPUInvalidArgument)
		case slot != AnySlot && (slot < 0 || slot > 0 && (kind.MIGProfileID != timeShared || !vgpu.MixedSize)):
			return fmt.Errorf("%s: slot %d: those that share a GPU of mixed sizes by time have slots, from 0: %w", kind.Name, slot, hardware.ErrGPUInvalidArgument)
		}
		if slices.ContainsFunc(vgpu.Active, func(a VirtualGPU) bool { return a.VF == vf }) {
			return fmt.Errorf("virtual function %d is a virtual GPU already: %w", vf, hardware.ErrGPUInUse)
		}
		found, err := c.state.placeVGPU(c.gpu, kind, slot)
		if err != nil {
			return fmt.Errorf("%s: %w", kind.Name, err)
		}
		found.VF = vf
		vgpu.Active = append(vgpu.Active, found)
		slices.SortFunc(vgpu.Active, func(a, b VirtualGPU) int { return cmp.Compare(a.VF, b.VF) })
		return nil
	})
}

// placeVGPU finds where a virtual GPU goes, or says why there is no place.
func (g *GPU) placeVGPU(gpu *hardware.GPU, kind *hardware.VGPUType, slot int) (VirtualGPU, error) {
	var err error
	for _, candidate := range g.candidates(kind, slot) {
		if err = g.admits(gpu, kind, candidate); err == nil {
			return candidate, nil
		}
	}
	return VirtualGPU{}, err
}

// candidates are where a virtual GPU might go, best first. There is at least one,
// if only to say why it is none.
func (g *GPU) candidates(kind *hardware.VGPUType, slot int) []VirtualGPU {
	first := VirtualGPU{Type: kind.ID, Slot: max(slot, 0), GPUInstance: timeShared}
	candidates := []VirtualGPU{first}
	switch {
	case kind.MIGProfileID != timeShared && g.MIG != nil:
		var used []VirtualGPU
		for _, instance := range g.MIG.Instances {
			first.GPUInstance = instance.ID
			switch {
			case instance.Profile != kind.MIGProfileID || slices.ContainsFunc(instance.Compute, func(c ComputeInstance) bool { return c.Processes > 0 }):
			case len(instance.Compute) > 0:
				used = append(used, first)
			default:
				candidates = append(candidates, first)
			}
		}
		candidates = append(candidates, used...)
	case slot == AnySlot && g.VGPU.MixedSize:
		for first.Slot = 1; first.Slot < kind.MaxMixed; first.Slot++ {
			candidates = append(candidates, first)
		}
	}
	return candidates
}

// DestroyVGPU makes a virtual function be no virtual GPU any more.
func (e *Engine) DestroyVGPU(gpu hardware.PCIAddress, vf int) error {
	return e.command(gpu, func(c *call) error {
		vgpu, err := c.vgpu()
		if err != nil {
			return err
		}
		i := slices.IndexFunc(vgpu.Active, func(a VirtualGPU) bool { return a.VF == vf })
		if i < 0 {
			return fmt.Errorf("virtual function %d is no virtual GPU: %w", vf, hardware.ErrGPUNotFound)
		}
		vgpu.Active = slices.Delete(vgpu.Active, i, i+1)
		return nil
	})
}

// CreatableVGPUTypes are the IDs of the types of which one more can be made now.
func (e *Engine) CreatableVGPUTypes(gpu hardware.PCIAddress) (ids []int, err error) {
	i, err := e.index(gpu)
	if err != nil {
		return nil, err
	}
	node, state := &e.base.GPUs[i], e.state.GPUs[i].clone()
	if node.VGPU == nil {
		return nil, fmt.Errorf("gpu %s: it is no host of virtual GPUs: %w", gpu, hardware.ErrGPUNotSupported)
	}
	for t := range node.VGPU.Types {
		kind := &node.VGPU.Types[t]
		if _, err := state.placeVGPU(node, kind, AnySlot); err == nil {
			ids = append(ids, kind.ID)
		}
	}
	return ids, nil
}

// SetMixedSizeVGPUs lets virtual GPUs of different sizes be on the GPU at a time,
// or not. It is for a GPU that has none yet and is not in MIG mode.
func (e *Engine) SetMixedSizeVGPUs(gpu hardware.PCIAddress, enabled bool) error {
	return e.command(gpu, func(c *call) error {
		vgpu, err := c.vgpu()
		switch {
		case err != nil:
			return err
		case enabled && !canMixSizes(c.gpu):
			return fmt.Errorf("%s cannot mix sizes: %w", c.gpu.ProductName, hardware.ErrGPUNotSupported)
		case c.state.MIG != nil && c.state.MIG.Current:
			return fmt.Errorf("MIG is on: %w", hardware.ErrGPUNotSupported)
		case len(vgpu.Active) > 0:
			return fmt.Errorf("there are %d virtual GPUs: %w", len(vgpu.Active), hardware.ErrGPUInUse)
		}
		vgpu.MixedSize = enabled
		return nil
	})
}
