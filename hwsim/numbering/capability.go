package numbering

import (
	"fmt"

	"github.com/dray-dev/dray/kubeletplugin/hardware"
)

// Capability is a right to use MIG: a file of the driver's says which device node
// grants it.
type Capability struct {
	// Path is that of the file below /proc/driver/nvidia/capabilities.
	Path string
	// Minor is N of /dev/nvidia-caps/nvidia-capN.
	Minor int
	// Mode is the node's permissions.
	Mode int
}

// The minors are fixed: two for all GPUs, then for each GPU by minor one for each
// GPU instance that it can have, with those of its compute instances behind it.
const (
	minorMIGConfig  = 1
	minorMIGMonitor = 2
	minorMIGFirst   = 3
)

// Capabilities of a node's GPUs: those for all of them, if one can be partitioned,
// and those of the instances that there are, in the order of minors of a sorted node.
// It fails for IDs that have none.
func Capabilities(gpus []hardware.GPU) ([]Capability, error) {
	var all []Capability
	for i := range gpus {
		g := &gpus[i]
		if g.MIG == nil {
			continue
		}
		if all == nil {
			all = []Capability{{"mig/config", minorMIGConfig, 0o400}, {"mig/monitor", minorMIGMonitor, 0o400}}
		}
		for j := range g.MIG.Instances {
			own, err := instanceCapabilities(g.Minor, &g.MIG.Instances[j])
			if err != nil {
				return nil, &hardware.DeviceError{Device: "gpu " + g.Address.String(), Field: "MIG.Instances", Err: err}
			}
			all = append(all, own...)
		}
	}
	return all, nil
}

func instanceCapabilities(gpuMinor int, instance *hardware.GPUInstanceState) ([]Capability, error) {
	if instance.ID >= GPUInstancesPerGPU {
		return nil, fmt.Errorf("the driver has capabilities for the IDs below %d, not for %d", GPUInstancesPerGPU, instance.ID)
	}
	minor := minorMIGFirst + (gpuMinor*GPUInstancesPerGPU+instance.ID)*(1+ComputeInstancesPerGPUInstance)
	dir := fmt.Sprintf("gpu%d/mig/gi%d", gpuMinor, instance.ID)
	all := []Capability{{dir + "/access", minor, 0o444}}
	for _, compute := range instance.ComputeInstances {
		if compute.ID >= ComputeInstancesPerGPUInstance {
			return nil, fmt.Errorf("the driver has capabilities for compute instances below %d, not for %d",
				ComputeInstancesPerGPUInstance, compute.ID)
		}
		all = append(all, Capability{fmt.Sprintf("%s/ci%d/access", dir, compute.ID), minor + 1 + compute.ID, 0o444})
	}
	return all, nil
}
