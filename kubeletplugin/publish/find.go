package publish

import (
	"strconv"
	"strings"

	"github.com/dray-dev/dray/kubeletplugin/hardware"
)

// NVIDIADevice is what the name of a published NVIDIA device stands for.
type NVIDIADevice struct {
	// GPU that it is, or is a part of: an element of the node.
	GPU *hardware.GPU
	// Profile of a partition, and of the one that backs a virtual GPU; nil for the
	// whole GPU and for a virtual GPU that shares it by time. Placement is where the
	// partition lies, or would lie if there were one.
	Profile   *hardware.MIGProfile
	Placement hardware.Placement
	// VGPU is the type of a virtual GPU, nil for everything else. Slot tells those of
	// one type apart that share the GPU by time: from 0, and on a host of mixed sizes
	// where it lies, counted in its own size.
	VGPU *hardware.VGPUType
	Slot int
}

// FindNVIDIA is the reverse of the names under which whole GPUs, their partitions
// and virtual GPUs are published, whether or not the options of a Publisher would
// publish the device now. It is false for names of other devices.
func FindNVIDIA(node *hardware.Node, device string) (NVIDIADevice, bool) {
	for i := range node.GPUs {
		gpu := &node.GPUs[i]
		suffix, ok := strings.CutPrefix(device, fullName(gpu.Minor))
		if !ok {
			continue
		}
		if suffix == "" {
			return NVIDIADevice{GPU: gpu}, true
		}
		if found, ok := findPartition(gpu, suffix); ok {
			return found, true
		}
		if found, ok := findVGPU(gpu, suffix); ok {
			return found, true
		}
	}
	return NVIDIADevice{}, false
}

func findPartition(gpu *hardware.GPU, suffix string) (NVIDIADevice, bool) {
	if gpu.MIG == nil {
		return NVIDIADevice{}, false
	}
	for i := range gpu.MIG.Profiles {
		profile := &gpu.MIG.Profiles[i]
		for _, placement := range profile.Placements {
			if suffix == migSuffix(profile, placement) {
				return NVIDIADevice{GPU: gpu, Profile: profile, Placement: placement}, true
			}
		}
	}
	return NVIDIADevice{}, false
}

func findVGPU(gpu *hardware.GPU, suffix string) (NVIDIADevice, bool) {
	if gpu.VGPU == nil {
		return NVIDIADevice{}, false
	}
	for i := range gpu.VGPU.Types {
		t := &gpu.VGPU.Types[i]
		n, ok := vgpuNumber(suffix, t)
		if !ok {
			continue
		}
		if t.MIGProfileID < 0 {
			if n < mostVGPUs(gpu.VGPU, t) {
				return NVIDIADevice{GPU: gpu, VGPU: t, Slot: n}, true
			}
		} else if profile := backing(gpu.MIG, t); profile != nil {
			for _, placement := range profile.Placements {
				if placement.Start == n {
					return NVIDIADevice{GPU: gpu, Profile: profile, Placement: placement, VGPU: t}, true
				}
			}
		}
	}
	return NVIDIADevice{}, false
}

// vgpuNumber is the number at the end of what vgpuSuffix makes.
func vgpuNumber(suffix string, t *hardware.VGPUType) (n int, ok bool) {
	n, err := strconv.Atoi(suffix[strings.LastIndexByte(suffix, '-')+1:])
	return n, err == nil && n >= 0 && suffix == vgpuSuffix(t, n)
}

// NVIDIAGPUName is the name under which a whole GPU is published. Those of its parts
// begin with it and a hyphen.
func NVIDIAGPUName(minor int) string { return fullName(minor) }

// NVIDIAPartitionName is the name under which an instance of a GPU is published, or
// empty if it is of no profile of the GPU's.
func NVIDIAPartitionName(gpu *hardware.GPU, instance *hardware.GPUInstanceState) string {
	if gpu.MIG == nil {
		return ""
	}
	for i := range gpu.MIG.Profiles {
		if profile := &gpu.MIG.Profiles[i]; profile.ID == instance.ProfileID {
			return fullName(gpu.Minor) + migSuffix(profile, instance.Placement)
		}
	}
	return ""
}

// NVIDIAKind is what a name of a NVIDIA device says that it is.
type NVIDIAKind int

// The kinds.
const (
	NVIDIAGPU NVIDIAKind = iota
	NVIDIAPartition
	NVIDIAVGPU
)

// NVIDIAName tells from a name alone whether it is one that FindNVIDIA could find
// on some node: the name of the whole GPU, and what of it the device is.
func NVIDIAName(device string) (gpu string, kind NVIDIAKind, ok bool) {
	gpu = device
	for _, part := range []struct {
		mark string
		kind NVIDIAKind
	}{{migMark, NVIDIAPartition}, {vgpuMark, NVIDIAVGPU}} {
		// The mark that comes first follows the GPU; a type could have the other in it.
		if whole, _, found := strings.Cut(device, part.mark); found && len(whole) < len(gpu) {
			gpu, kind = whole, part.kind
		}
	}
	minor, ok := strings.CutPrefix(gpu, fullNamePrefix)
	if !ok || minor == "" || strings.Trim(minor, "0123456789") != "" {
		return "", NVIDIAGPU, false
	}
	return gpu, kind, true
}
