package engine

import (
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
		return fmt.Errorf("there is no GPU instance %d of profile %d: %w", new.GPUInstance, kind.MIGProfileID, hardware.ErrGPUInsufficientResources)
	case g.VGPU.backedBy(new.GPUInstance):
		return fmt.Errorf("GPU instance %d backs a virtual GPU already: %w", new.GPUInstance, hardware.ErrGPUInsufficientResources)
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
