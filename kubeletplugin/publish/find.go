package publish

import (
	"strings"

	"github.com/dray-dev/dray/kubeletplugin/hardware"
)

// NVIDIADevice is what the name of a published NVIDIA device stands for.
type NVIDIADevice struct {
	// GPU that it is, or is a part of: an element of the node.
	GPU *hardware.GPU
	// Profile is nil for the whole GPU; with one, Placement is where the partition
	// lies, or would lie if there were one.
	Profile   *hardware.MIGProfile
	Placement hardware.Placement
}

// FindNVIDIA is the reverse of the names under which whole GPUs and their
// partitions are published, whether or not the options of a Publisher would
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
		if gpu.MIG == nil {
			continue
		}
		for j := range gpu.MIG.Profiles {
			profile := &gpu.MIG.Profiles[j]
			for _, placement := range profile.Placements {
				if suffix == migSuffix(profile, placement) {
					return NVIDIADevice{GPU: gpu, Profile: profile, Placement: placement}, true
				}
			}
		}
	}
	return NVIDIADevice{}, false
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

// NVIDIAName tells from a name alone whether it is one that FindNVIDIA could find
// on some node: the name of the whole GPU, and whether it is a partition of it.
func NVIDIAName(device string) (gpu string, partition, ok bool) {
	gpu, _, partition = strings.Cut(device, migMark)
	minor, ok := strings.CutPrefix(gpu, fullNamePrefix)
	if !ok || minor == "" || strings.Trim(minor, "0123456789") != "" {
		return "", false, false
	}
	return gpu, partition, true
}
