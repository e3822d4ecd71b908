package surface

import (
	"fmt"
	"path"
	"strings"

	"github.com/dray-dev/dray/kubeletplugin/hardware"
)

// kfdDir is where kfd's device is; its nodes are below.
const kfdDir = "sys/devices/virtual/kfd/kfd"

// amdGPUs writes what amdgpu and kfd make.
func (s *surface) amdGPUs() {
	if len(s.node.AMDGPUs) == 0 {
		return
	}
	s.link("sys/class/kfd/kfd", kfdDir)
	s.device("kfd", node(majorKFD, 0))
	count := 0
	kfdNode := func(properties ...string) {
		s.raw(path.Join(kfdDir, "topology/nodes", fmt.Sprint(count), "properties"), strings.Join(properties, "\n")+"\n")
		count++
	}
	for range max(1, len(s.node.NUMANodes)) {
		kfdNode("cpu_cores_count 1", "simd_count 0", "simd_per_cu 0", "num_xcc 0", "location_id 0", "domain 0")
	}
	for i := range s.node.AMDGPUs {
		gpu := &s.node.AMDGPUs[i]
		s.amdGPU(gpu)
		partitions, dies := partitionsOf(gpu)
		for p := range partitions {
			units := share(gpu.ComputeUnits, partitions, p)
			if units == 0 {
				continue
			}
			a := gpu.Address
			kfdNode("cpu_cores_count 0", fmt.Sprintf("simd_count %d", units*(gpu.SIMDUnits/gpu.ComputeUnits)),
				fmt.Sprintf("simd_per_cu %d", gpu.SIMDUnits/gpu.ComputeUnits), fmt.Sprintf("num_xcc %d", share(dies, partitions, p)),
				fmt.Sprintf("location_id %d", int(a.Bus)<<8|int(a.Device)<<3|int(a.Function)|p), fmt.Sprintf("domain %d", a.Domain),
				fmt.Sprintf("drm_render_minor %d", gpu.Render+p))
		}
	}
}

// partitionsOf is how many partitions the GPU is now, and how many it can be at
// most: the number of its compute dies, as far as the node tells.
func partitionsOf(gpu *hardware.AMDGPU) (now, dies int) {
	now, dies = 1, 1
	for _, mode := range gpu.Modes {
		if mode.Compute == gpu.Compute && mode.Memory == gpu.Memory {
			now = mode.Partitions
		}
		if mode.Compute == "CPX" {
			dies = max(dies, mode.Partitions)
		}
	}
	return now, dies
}

// share is the part i of a total that is divided as evenly as it can be.
func share(total, parts, i int) int { return (i+1)*total/parts - i*total/parts }

func (s *surface) amdGPU(gpu *hardware.AMDGPU) {
	dir := dirOf(&gpu.PCIFunction)
	s.drm(dir, fmt.Sprintf("card%d", gpu.Card), gpu.Card)
	s.drm(dir, fmt.Sprintf("renderD%d", gpu.Render), gpu.Render)
	s.line(path.Join(dir, "mem_info_vram_total"), "%d", gpu.MemoryBytes)
	s.line(path.Join(dir, "product_name"), "%s", gpu.ProductName)
	if gpu.DriverVersion != "" {
		s.line("sys/module/amdgpu/version", "%s", gpu.DriverVersion)
	}
	if gpu.Compute != "" {
		s.line(path.Join(dir, "current_compute_partition"), "%s", gpu.Compute)
	}
	if gpu.Memory != "" {
		s.line(path.Join(dir, "current_memory_partition"), "%s", gpu.Memory)
	}
	if len(gpu.Modes) == 0 {
		return
	}
	var compute, memory []string
	for _, mode := range gpu.Modes {
		compute, memory = appendNew(compute, mode.Compute), appendNew(memory, mode.Memory)
	}
	s.line(path.Join(dir, "available_compute_partition"), "%s", strings.Join(compute, ", "))
	s.line(path.Join(dir, "available_memory_partition"), "%s", strings.Join(memory, ", "))
}

// appendNew appends what the list does not have.
func appendNew(list []string, element string) []string {
	for _, known := range list {
		if known == element {
			return list
		}
	}
	return append(list, element)
}

// drm adds a card or a render node of a function.
func (s *surface) drm(dir, name string, minor int) {
	entry := path.Join(dir, "drm", name)
	s.line(path.Join(entry, "dev"), "%d:%d", majorDRM, minor)
	s.link(path.Join(entry, "device"), dir)
	s.link(path.Join("sys/class/drm", name), entry)
	s.device(path.Join("dri", name), node(majorDRM, minor))
}
