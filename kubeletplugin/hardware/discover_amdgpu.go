package hardware

import (
	"path"
	"slices"
	"strconv"
	"strings"
)

const (
	amdVendor = 0x1002
	kfdNodes  = "sys/class/kfd/kfd/topology/nodes"
)

// amdModes are the combinations that AMD documents for MI300 accelerators and
// offers in its own driver for Kubernetes, by partitions; amdgpu would accept a
// few more. A GPU has the ones of which it lists both parts as available.
// Partitions is 0 where it is the number of compute dies.
var amdModes = []AMDPartitionMode{
	{"SPX", "NPS1", 1}, {"DPX", "NPS2", 2}, {"TPX", "NPS1", 3}, {"CPX", "NPS1", 0}, {"CPX", "NPS4", 0},
}

// readAMDGPUs reads the GPUs that amdgpu has given a card. The cards of
// partitions hang on platform devices, not on the function, and are none of
// their own.
func (d *discovery) readAMDGPUs() {
	cards, renders := map[PCIAddress]int{}, map[PCIAddress]int{}
	for _, entry := range d.class("drm") {
		if len(entry.within) != 2 || entry.within[0] != "drm" {
			continue
		}
		if n, ok := suffixNumber(entry.name, "card"); ok {
			cards[entry.function] = n
		} else if n, ok := suffixNumber(entry.name, "renderD"); ok {
			renders[entry.function] = n
		}
	}
	units := d.kfdUnits()
	for _, address := range d.bus {
		dir := d.paths[address]
		card, hasCard := cards[address]
		render, hasRender := renders[address]
		if !hasCard || !hasRender || d.used[address] {
			continue
		}
		driver, driverErr := d.driver(dir)
		vendor, vendorErr := d.number(path.Join(dir, "vendor"), 16, nil)
		if driverErr == nil && driver != "amdgpu" || vendorErr == nil && vendor != amdVendor {
			continue // of one that cannot be told, reading it says why
		}
		gpu, err := d.amdGPU(address, units[slotOf(address)])
		if err != nil {
			d.report(at("amd gpu", address), "", err)
			continue
		}
		gpu.Card, gpu.Render = card, render
		d.used[address] = true
		d.node.AMDGPUs = append(d.node.AMDGPUs, gpu)
	}
}

func (d *discovery) amdGPU(address PCIAddress, units kfdUnits) (AMDGPU, error) {
	function, err := d.function(address)
	if err != nil {
		return AMDGPU{}, err
	}
	dir := d.paths[address]
	gpu := AMDGPU{
		PCIFunction:   function,
		ProductName:   d.optional(path.Join(dir, "product_name")),
		DriverVersion: d.optional("sys/module/amdgpu/version"),
		ComputeUnits:  units.compute,
		SIMDUnits:     units.simd,
		Compute:       d.optional(path.Join(dir, "current_compute_partition")),
		Memory:        d.optional(path.Join(dir, "current_memory_partition")),
	}
	if gpu.ProductName == "" {
		gpu.ProductName = function.IDs.DeviceName
	}
	if gpu.MemoryBytes, err = d.number(path.Join(dir, "mem_info_vram_total"), 64, nil); err != nil {
		return AMDGPU{}, err
	}
	compute := strings.Split(d.optional(path.Join(dir, "available_compute_partition")), ", ")
	memory := strings.Split(d.optional(path.Join(dir, "available_memory_partition")), ", ")
	if memory[0] == "" { // kernels before 6.13
		memory = []string{gpu.Memory}
	}
	for _, mode := range amdModes {
		if mode.Partitions == 0 {
			mode.Partitions = units.dies
		}
		if slices.Contains(compute, mode.Compute) && slices.Contains(memory, mode.Memory) && mode.Partitions > 0 {
			gpu.Modes = append(gpu.Modes, mode)
		}
	}
	return gpu, nil
}

// kfdUnits is what a GPU has, over all its partitions.
type kfdUnits struct{ compute, simd, dies int }

// slotOf drops the function: kfd counts the partitions of a GPU there.
func slotOf(address PCIAddress) PCIAddress {
	address.Function = 0
	return address
}

// kfdUnits reads kfd's topology, by slot. Each partition of a GPU is a node in
// it; CPUs are nodes as well, without SIMD units.
func (d *discovery) kfdUnits() map[PCIAddress]kfdUnits {
	units := map[PCIAddress]kfdUnits{}
	for _, node := range d.list(kfdNodes) {
		properties := map[string]uint64{}
		for line := range strings.Lines(d.optional(path.Join(kfdNodes, node, "properties"))) {
			if fields := strings.Fields(line); len(fields) == 2 {
				if n, err := strconv.ParseUint(fields[1], 10, 31); err == nil {
					properties[fields[0]] = n
				}
			}
		}
		simd, perUnit := properties["simd_count"], properties["simd_per_cu"]
		if simd == 0 || perUnit == 0 {
			continue
		}
		location := properties["location_id"]
		slot := PCIAddress{Domain: uint16(properties["domain"]), Bus: uint8(location >> 8), Device: uint8(location) >> 3}
		sum := units[slot]
		sum.compute += int(simd / perUnit)
		sum.simd += int(simd)
		sum.dies += int(properties["num_xcc"])
		units[slot] = sum
	}
	return units
}
