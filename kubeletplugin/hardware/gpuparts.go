package hardware

import (
	"fmt"
	"slices"
)

// UnreadMIG is the name in GPU.Unread of whether and how the GPU is partitioned.
const UnreadMIG = "MIG"

const unreadVGPU = "virtual GPUs"

// gpuPart is something that the library tells of a GPU beside which one it is.
type gpuPart struct {
	name string
	// read asks the library for it, and changes nothing of the GPU if that fails.
	read func(g *GPU, device GPUDevice) error
	// keep takes it from what was read before.
	keep func(g, before *GPU)
}

// gpuParts in the order in which they are asked for.
var gpuParts = []gpuPart{
	valuePart("product name", GPUDevice.Name, func(g *GPU) *string { return &g.ProductName }),
	valuePart("brand", GPUDevice.Brand, func(g *GPU) *string { return &g.Brand }),
	valuePart("architecture", GPUDevice.Architecture, func(g *GPU) *string { return &g.Architecture }),
	valuePart("compute capability", func(device GPUDevice) (string, error) {
		major, minor, err := device.ComputeCapability()
		return fmt.Sprintf("%d.%d", major, minor), err
	}, func(g *GPU) *string { return &g.ComputeCapability }),
	valuePart("memory", GPUDevice.MemoryBytes, func(g *GPU) *uint64 { return &g.MemoryBytes }),
	valuePart("addressing mode", GPUDevice.AddressingMode, func(g *GPU) *string { return &g.AddressingMode }),
	valuePart("module ID", GPUDevice.ModuleID, func(g *GPU) *int { return &g.ModuleID }),
	valuePart("fabric", func(device GPUDevice) (*GPUFabric, error) {
		fabric, err := device.Fabric()
		return &fabric, err
	}, func(g *GPU) **GPUFabric { return &g.Fabric }),
	valuePart(UnreadMIG, readMIG, func(g *GPU) **MIG { return &g.MIG }),
	valuePart(unreadVGPU, readVGPU, func(g *GPU) **VGPU { return &g.VGPU }),
}

func valuePart[T any](name string, ask func(GPUDevice) (T, error), field func(*GPU) *T) gpuPart {
	return gpuPart{
		name: name,
		read: func(g *GPU, device GPUDevice) error {
			value, err := ask(device)
			if err == nil {
				*field(g) = value
			}
			return err
		},
		keep: func(g, before *GPU) { *field(g) = *field(before) },
	}
}

// KeepUnread returns the GPU with what could not be read as it was before. It shares
// memory with both. What was not read before either is Unread still.
func (g *GPU) KeepUnread(before *GPU) GPU {
	kept := *g
	kept.Unread = nil
	for i := range gpuParts {
		part := &gpuParts[i]
		switch {
		case !slices.Contains(g.Unread, part.name):
		case slices.Contains(before.Unread, part.name):
			kept.Unread = append(kept.Unread, part.name)
		default:
			part.keep(&kept, before)
		}
	}
	return kept
}

func readVGPU(device GPUDevice) (*VGPU, error) {
	types, err := device.SupportedVGPUTypes()
	if err != nil {
		return nil, unlessNotSupported(err)
	}
	mixed, err := device.MixedSizeVGPUs()
	if unlessNotSupported(err) != nil {
		return nil, err
	}
	types = slices.Clone(types)
	slices.SortFunc(types, func(a, b VGPUType) int { return a.ID - b.ID })
	return &VGPU{MixedSize: mixed, Types: types}, nil
}
