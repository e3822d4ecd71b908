package publish_test

import (
	"fmt"
	"slices"

	resourceapi "k8s.io/api/resource/v1"
	"pgregory.net/rapid"

	"github.com/dray-dev/dray/kubeletplugin/hardware"
	"github.com/dray-dev/dray/kubeletplugin/publish"
)

// random draws nodes, options and states. Everything that it draws is valid.
type random struct {
	*rapid.T
	bus int // of the last function
}

func (r *random) within(label string, least, most int) int {
	return rapid.IntRange(least, most).Draw(r.T, label)
}

func (r *random) chance(label string) bool { return rapid.Bool().Draw(r.T, label) }

func (r *random) name(label string) string {
	return rapid.StringMatching(`[A-Za-z0-9 .,()\[\]/+_-]{0,90}`).Draw(r.T, label)
}

func (r *random) function(nodes []hardware.NUMANode) hardware.PCIFunction {
	r.bus++
	f := hardware.PCIFunction{
		Address:  hardware.PCIAddress{Domain: uint16(r.bus >> 8), Bus: uint8(r.bus)},
		NUMANode: r.within("numa node", -1, len(nodes)-1),
		IDs: hardware.PCIIDs{Vendor: 0x15b3, Device: uint16(r.within("device", 0, 0xffff)), SubsystemDevice: uint16(r.within("subsystem", 0, 0xffff)),
			VendorName: r.name("vendor"), DeviceName: r.name("device name")},
	}
	if r.chance("has root") {
		f.Root = fmt.Sprintf("pci%04x:%02x", r.bus>>8, r.within("root", 0, 255))
	}
	return f
}

func (r *random) node() *hardware.Node {
	node := &hardware.Node{GPUDriver: &hardware.GPUDriver{Version: "535.104.05", CUDAVersion: 12020, IMEXChannels: r.within("channels", 0, 1) * 2048}}
	n := r.within("numa nodes", 1, 16)
	for id := range n {
		numa := hardware.NUMANode{ID: id, Socket: id * 2 / n}
		for other := range n {
			distance := 10
			if other != id {
				distance = []int{12, 12, 21, 32}[r.within("distance", 0, 3)]
			}
			numa.Distances = append(numa.Distances, distance)
		}
		node.NUMANodes = append(node.NUMANodes, numa)
	}
	models := make([]hardware.GPU, r.within("gpu models", 1, 3))
	for i := range models {
		models[i] = r.gpuModel()
	}
	gpus := r.within("gpus", 0, 18)
	for i := range gpus {
		gpu := models[r.within("model", 0, len(models)-1)]
		gpu.PCIFunction = r.function(node.NUMANodes)
		gpu.Minor = gpus - 1 - i
		gpu.UUID = fmt.Sprintf("GPU-%d", i)
		node.GPUs = append(node.GPUs, gpu)
	}
	for i := range r.within("amd gpus", 0, 10) {
		node.AMDGPUs = append(node.AMDGPUs, r.amdGPU(i, node.NUMANodes))
	}
	for range r.within("ports", 0, 4) {
		node.NICs = append(node.NICs, r.nics(node.NUMANodes)...)
	}
	for range r.within("fpgas", 0, 4) {
		node.FPGAs = append(node.FPGAs, r.fpga(node.NUMANodes))
	}
	return node
}

func (r *random) gpuModel() hardware.GPU {
	gpu := hardware.GPU{ProductName: fmt.Sprintf("NVIDIA X%d", r.within("product", 0, 1)), Brand: "Nvidia",
		Architecture: []string{"Ampere", "Hopper"}[r.within("architecture", 0, 1)], ComputeCapability: "9.0",
		MemoryBytes: 80 << 30}
	if r.chance("can be partitioned") {
		gpu.MIG = &hardware.MIG{Enabled: r.chance("mig mode")}
		size := []int{4, 8}[r.within("memory slices", 0, 1)]
		for id := range r.within("profiles", 1, 5) {
			gpu.MIG.Profiles = append(gpu.MIG.Profiles, r.profile(id, size))
		}
		if gpu.MIG.Enabled {
			profile := &gpu.MIG.Profiles[0]
			gpu.MIG.Instances = []hardware.GPUInstanceState{{ID: 1, ProfileID: profile.ID, Placement: profile.Placements[0],
				ComputeInstances: []hardware.ComputeInstanceState{{ProfileID: 0, UUID: "MIG-1"}}}}
		}
	}
	if r.chance("hosts virtual gpus") {
		gpu.VGPU = &hardware.VGPU{MixedSize: r.chance("mixed size")}
		for id := range r.within("types", 1, 4) {
			most := r.within("max instances", 1, 12)
			gpu.VGPU.Types = append(gpu.VGPU.Types, hardware.VGPUType{ID: id, Name: fmt.Sprintf("NVIDIA X-%dC", id), FramebufferBytes: uint64(id+1) << 32,
				MaxInstances: most, MaxMixed: r.within("max mixed", 0, most), MIGProfileID: r.within("backed by", -1, 2)})
		}
	}
	return gpu
}

func (r *random) profile(id, slices int) hardware.MIGProfile {
	size := r.within("size", 1, slices)
	profile := hardware.MIGProfile{Name: fmt.Sprintf("%dg.%dgb+me", 1+id%7, id), ID: id, ComputeSlices: 1, MemorySlices: size,
		Resources: hardware.MIGResources{MemoryBytes: uint64(size) << 33, Multiprocessors: r.within("sm", 1, 148), CopyEngines: r.within("ce", 0, 8),
			Decoders: r.within("dec", 0, 7), Encoders: r.within("enc", 0, 4), JPEGEngines: r.within("jpeg", 0, 7), OFAEngines: r.within("ofa", 0, 1)}}
	for start := 0; start+size <= slices; start += r.within("stride", 1, size) {
		profile.Placements = append(profile.Placements, hardware.Placement{Start: start, Size: size})
	}
	return profile
}

func (r *random) amdGPU(index int, nodes []hardware.NUMANode) hardware.AMDGPU {
	gpu := hardware.AMDGPU{PCIFunction: r.function(nodes), Card: 8 * index, Render: 128 + 8*index, ProductName: "Instinct MI300X",
		DriverVersion: "6.12.12", MemoryBytes: 192 << 30, ComputeUnits: 304, SIMDUnits: 1216}
	if r.chance("has modes") {
		gpu.Modes = []hardware.AMDPartitionMode{{Compute: "SPX", Memory: "NPS1", Partitions: 1}, {Compute: "CPX", Memory: "NPS4", Partitions: 8}}
		mode := gpu.Modes[r.within("mode", 0, 1)]
		gpu.Compute, gpu.Memory = mode.Compute, mode.Memory
	}
	return gpu
}

func (r *random) nics(nodes []hardware.NUMANode) []hardware.NIC {
	pf := hardware.NIC{PCIFunction: r.function(nodes), Link: hardware.LinkEthernet, SpeedMbps: []int{0, 10, 1000, 400000}[r.within("speed", 0, 3)]}
	if r.chance("has interface") {
		pf.Interface = fmt.Sprintf("ens%d", r.bus)
	}
	result := []hardware.NIC{pf}
	if r.chance("virtual functions") {
		address := pf.Address
		pf.SRIOV = &hardware.SRIOV{TotalVFs: 127}
		for i := range []int{0, 1, 16, 64, 127}[r.within("vfs", 0, 4)] {
			vf := hardware.NIC{PCIFunction: r.functionOf(pf.PCIFunction)}
			vf.SRIOV = &hardware.SRIOV{PhysicalFunction: &address, Index: i}
			pf.SRIOV.VFs = append(pf.SRIOV.VFs, vf.Address)
			result = append(result, vf)
		}
		result[0] = pf
	}
	return result
}

// functionOf is a function like another one, at the next address.
func (r *random) functionOf(f hardware.PCIFunction) hardware.PCIFunction {
	r.bus++
	f.Address = hardware.PCIAddress{Domain: uint16(r.bus >> 8), Bus: uint8(r.bus)}
	return f
}

func (r *random) fpga(nodes []hardware.NUMANode) hardware.FPGA {
	card := hardware.FPGA{PCIFunction: r.function(nodes), Model: "Intel PAC D5005", Serial: "S1", MemoryBytes: 32 << 30}
	for id := range r.within("regions", 0, 20) {
		card.Regions = append(card.Regions, hardware.FPGARegion{ID: id, Interface: interfaces[r.within("interface", 0, 1)]})
	}
	return card
}

var interfaces = []string{"69528db6eb31577a8c3668f9faa081f6", "ce48969398f05f33946d560708be108a"}

func (r *random) options() publish.Options {
	minor := r.within("minor", publish.OldestMinor, publish.NewestMinor)
	o := publish.Options{Minor: minor, Simulated: r.chance("simulated"), HostManagedIMEX: r.chance("host imex"),
		Features: publish.Features{PartitionableDevices: r.chance("partitions"), DeviceTaints: r.chance("taints"), BindingConditions: true,
			ConsumableCapacity: r.chance("capacity"), ListAttributes: minor >= 36 && r.chance("lists")}}
	o.Features.CompatibilityGroups = minor >= 37 && o.Features.PartitionableDevices && r.chance("groups")
	o.NUMANodeList = o.Features.ListAttributes && r.chance("numa list")
	o.MIG = publish.MIGMode(r.within("mig", 0, 1))
	if o.Features.PartitionableDevices && r.chance("dynamic") {
		o.MIG = publish.MIGDynamic
	}
	o.VGPU = o.Features.CompatibilityGroups && o.MIG != publish.MIGStatic && r.chance("vgpu")
	o.AMDPartitions = o.Features.PartitionableDevices && o.Features.ConsumableCapacity && r.chance("amd partitions")
	o.NICs = publish.NICModel(r.within("nics", 0, 1))
	if o.Features.ConsumableCapacity && r.chance("shared bandwidth") {
		o.NICs = publish.NICSharedBandwidth
	}
	for i := range r.within("bitstreams", 0, 3) {
		o.Bitstreams = append(o.Bitstreams, publish.Bitstream{Name: fmt.Sprintf("b%d", i), Model: "Intel PAC D5005",
			Interface: interfaces[r.within("interface", 0, 1)], Function: interfaces[0]})
	}
	return o
}

// state taints and withdraws some of the devices.
func (r *random) state(devices map[publish.DeviceID]bool) publish.State {
	s := publish.State{Generations: map[string]int64{"gpu.dray.dev": int64(r.within("generation", 0, 5))},
		Taints: map[publish.DeviceID][]resourceapi.DeviceTaint{}, Withdrawn: map[publish.DeviceID]bool{}}
	var ids []publish.DeviceID
	for id := range devices {
		ids = append(ids, id)
	}
	slices.SortFunc(ids, func(a, b publish.DeviceID) int {
		if a.Driver+"/"+a.Device < b.Driver+"/"+b.Device {
			return -1
		}
		return 1
	})
	for _, id := range ids {
		switch r.within("fate", 0, 9) {
		case 0:
			s.Withdrawn[id] = true
		case 1:
			s.Taints[id] = []resourceapi.DeviceTaint{{Key: "dray.dev/broken", Effect: resourceapi.DeviceTaintEffectNoExecute}}
		case 2:
			s.Taints[id] = []resourceapi.DeviceTaint{{Key: "dray.dev/note", Effect: resourceapi.DeviceTaintEffectNone}}
		}
	}
	return s
}
