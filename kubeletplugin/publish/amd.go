package publish

import (
	"errors"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"

	resourceapi "k8s.io/api/resource/v1"

	"github.com/dray-dev/dray/kubeletplugin/hardware"
)

// AMD GPUs as AMD's driver publishes them. Either their present partitions are
// devices, or every partition mode of a GPU is one device that as many claims
// share as it has partitions; one mode at a time, which a counter set with a
// single counter of 1 ensures. Beside AMD's own numaNode there is the standard
// attribute, so that GPUs can be aligned with devices of other drivers.

func (p *Publisher) amdGPUs(node *hardware.Node) ([]group, error) {
	var all group
	var errs []error
	for i := range node.AMDGPUs {
		gpu := &node.AMDGPUs[i]
		common, err := p.amdAttributes(gpu, i, node)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		if p.options.AMDPartitions && len(gpu.Modes) > 0 {
			set, devices := amdModes(gpu, i, common)
			all.sets = append(all.sets, set)
			all.devices = append(all.devices, devices...)
		} else {
			devices, err := amdPartitions(gpu, i, common)
			if err != nil {
				errs = append(errs, err)
				continue
			}
			all.devices = append(all.devices, devices...)
		}
	}
	if len(all.devices) == 0 {
		return nil, errors.Join(errs...)
	}
	return []group{all}, errors.Join(errs...)
}

func (p *Publisher) amdAttributes(gpu *hardware.AMDGPU, index int, node *hardware.Node) (attributes, error) {
	a := attributes{
		"deviceID":    text(fmt.Sprintf("0x%04x", gpu.IDs.Device)),
		"productName": description(strings.ReplaceAll(gpu.ProductName, " ", "_")),
	}
	if gpu.DriverVersion != "" {
		v, err := version(gpu.DriverVersion)
		if err != nil {
			return nil, fieldError(fmt.Sprintf("gpu-%d", index), "attributes[driverVersion]", "%w", err)
		}
		a["driverVersion"] = resourceapi.DeviceAttribute{VersionValue: &v}
	}
	if gpu.NUMANode >= 0 {
		a["numaNode"] = number(gpu.NUMANode)
	}
	p.topology(a, &gpu.PCIFunction, node)
	return p.mark(a), nil
}

// amdPartitions are the GPU or its present partitions, which are alike. The
// kernel numbers them from the GPU's own card and render node on.
func amdPartitions(gpu *hardware.AMDGPU, index int, common attributes) ([]resourceapi.Device, error) {
	n, kind := 1, "amdgpu"
	if gpu.Compute != "" {
		for _, mode := range gpu.Modes {
			if mode.Compute == gpu.Compute && mode.Memory == gpu.Memory {
				n = mode.Partitions
			}
		}
		common["partitionProfile"] = text(strings.ToLower(gpu.Compute + "_" + gpu.Memory))
	}
	if n < 1 {
		return nil, fieldError(fmt.Sprintf("gpu-%d", index), "modes", "mode %s/%s has %d partitions", gpu.Compute, gpu.Memory, n)
	}
	if n > 1 {
		kind = "amdgpu-partition"
	}
	common["type"] = text(kind)
	capacity := amdCapacity(gpu, n)
	devices := make([]resourceapi.Device, n)
	for i := range devices {
		devices[i] = resourceapi.Device{Name: fmt.Sprintf("gpu-%d-%d", gpu.Card+i, gpu.Render+i), Attributes: common, Capacity: capacity}
	}
	return devices, nil
}

func amdCapacity(gpu *hardware.AMDGPU, partitions int) capacities {
	return capacities{
		"memory":       bytes(gpu.MemoryBytes / uint64(partitions)),
		"computeUnits": amount(gpu.ComputeUnits / partitions),
		"simdUnits":    amount(gpu.SIMDUnits / partitions),
	}
}

// amdModes are the GPU's partition modes, in the order of the model.
func amdModes(gpu *hardware.AMDGPU, index int, common attributes) (resourceapi.CounterSet, []resourceapi.Device) {
	common["gpuIndex"] = number(index)
	common["pciAddr"] = text(gpu.Address.String())
	if gpu.DriverVersion != "" {
		common["driverVersionFull"] = text(gpu.DriverVersion)
	}
	set := resourceapi.CounterSet{Name: fmt.Sprintf("gpu-%d-mutex", index), Counters: counters{"partition-mode": count(1)}}
	consumes := []resourceapi.DeviceCounterConsumption{{CounterSet: set.Name, Counters: set.Counters}}
	one := resource.NewQuantity(1, resource.BinarySI)
	var devices []resourceapi.Device
	for _, mode := range gpu.Modes {
		partitions := max(mode.Partitions, 1)
		compute, memory := strings.ToLower(mode.Compute), strings.ToLower(mode.Memory)
		a := extended(common, 3)
		a["computePartition"] = text(compute)
		a["memoryPartition"] = text(memory)
		a["type"] = text("amdgpu")
		if partitions > 1 {
			a["type"] = text("amdgpu-partition")
		}
		capacity := amdCapacity(gpu, partitions)
		shares := amount(partitions)
		shares.RequestPolicy = &resourceapi.CapacityRequestPolicy{Default: one}
		capacity["partitions"] = shares
		devices = append(devices, resourceapi.Device{Name: fmt.Sprintf("gpu-%d-%s-%s", index, label(compute), label(memory)),
			Attributes: a, Capacity: capacity, ConsumesCounters: consumes, AllowMultipleAllocations: &yes})
	}
	return set, devices
}
