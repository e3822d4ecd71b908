// Package numbering is how NVIDIA's driver numbers what is made of a GPU: GPU
// instances, compute instances, MIG devices, and the device nodes that grant the
// use of them. All of it follows from what the thing is and where it lies, so
// that the same partition always has the same numbers.
//
// How sure: the IDs of GPU instances agree with public dumps of nvidia-smi mig
// -lgi, A100 and H100 (S); IDs of compute profiles are NVML's (S); minors are those of
// the driver's list of them, /proc/driver/nvidia-caps/mig-minors (K); that a MIG
// device's UUID stays the same is known in general (K), the way to derive it is
// ours.
package numbering

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"

	"github.com/dray-dev/dray/kubeletplugin/hardware"
)

// GPUInstancesPerGPU and ComputeInstancesPerGPUInstance are how many IDs there
// are, from 0.
const (
	GPUInstancesPerGPU             = 15
	ComputeInstancesPerGPUInstance = 8
)

// GPUInstanceID is the ID of an instance by its place among total memory slices:
// the whole GPU is 0, its halves 1 and 2, its quarters 3 to 6, and so on.
func GPUInstanceID(total int, at hardware.Placement) int {
	return total/at.Size - 1 + at.Start/at.Size
}

// MemorySlices is how many slices the profiles divide a GPU into.
func MemorySlices(profiles []hardware.MIGProfile) int {
	total := 0
	for i := range profiles {
		for _, at := range profiles[i].Placements {
			total = max(total, at.Start+at.Size)
		}
	}
	return total
}

// computeSlices by the ID of a compute profile, which is also NVML's kind of it.
// The one with media engines of its own (REV1) is not among them.
var computeSlices = [...]int{
	hardware.ComputeInstance1Slice: 1, hardware.ComputeInstance2Slice: 2, hardware.ComputeInstance3Slice: 3,
	hardware.ComputeInstance4Slice: 4, hardware.ComputeInstance7Slice: 7, hardware.ComputeInstance8Slice: 8,
	hardware.ComputeInstance6Slice: 6,
}

// ComputeSlices is how many compute slices an instance of the profile has.
func ComputeSlices(profileID int) (count int, ok bool) {
	if profileID < 0 || profileID >= len(computeSlices) {
		return 0, false
	}
	return computeSlices[profileID], true
}

// ComputeProfileID is the ID of the profile with as many compute slices.
func ComputeProfileID(slices int) (id int, ok bool) {
	for id, count := range computeSlices {
		if count == slices {
			return id, true
		}
	}
	return 0, false
}

// MIGUUID is the UUID of a MIG device, by that of its GPU and the IDs of its
// instances, in the form of a derived one (version 5), as the driver's are.
func MIGUUID(gpuUUID string, gpuInstance, computeInstance int) string {
	var ids [16]byte
	binary.BigEndian.PutUint64(ids[:8], uint64(gpuInstance))
	binary.BigEndian.PutUint64(ids[8:], uint64(computeInstance))
	sum := sha256.Sum256(append(ids[:], gpuUUID...))
	sum[6] = sum[6]&0x0f | 0x50
	sum[8] = sum[8]&0x3f | 0x80
	return fmt.Sprintf("MIG-%x-%x-%x-%x-%x", sum[0:4], sum[4:6], sum[6:8], sum[8:10], sum[10:16])
}
