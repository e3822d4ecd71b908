package surface_test

import (
	"fmt"
	"slices"

	"github.com/dray-dev/dray/kubeletplugin/hardware"
	"pgregory.net/rapid"
)

// generator draws a valid node that a machine's files can express.
type generator struct {
	*rapid.T
	node  *hardware.Node
	count int // what must differ is made of it
}

func randomNode(t *rapid.T) *hardware.Node {
	g := &generator{T: t, node: &hardware.Node{}}
	g.numaNodes()
	for range g.upTo(4) {
		g.gpu()
	}
	if g.node.GPUs != nil || g.bool() {
		g.node.GPUDriver = &hardware.GPUDriver{Version: "580.126.20", CUDAVersion: 13000,
			IMEXChannels: rapid.SampledFrom([]int{0, 16, 2048}).Draw(t, "channels")}
	}
	version := rapid.SampledFrom([]string{"", "6.14.14"}).Draw(t, "amdgpu version")
	for range g.upTo(3) {
		g.amdGPU(version)
	}
	for range g.upTo(3) {
		g.nics()
	}
	for range g.upTo(3) {
		g.fpga()
	}
	slices.SortFunc(g.node.GPUs, func(a, b hardware.GPU) int { return a.Address.Compare(b.Address) })
	slices.SortFunc(g.node.AMDGPUs, func(a, b hardware.AMDGPU) int { return a.Address.Compare(b.Address) })
	slices.SortFunc(g.node.NICs, func(a, b hardware.NIC) int { return a.Address.Compare(b.Address) })
	slices.SortFunc(g.node.FPGAs, func(a, b hardware.FPGA) int { return a.Address.Compare(b.Address) })
	return g.node
}

func (g *generator) bool() bool        { return rapid.Bool().Draw(g.T, "bool") }
func (g *generator) upTo(most int) int { return rapid.IntRange(0, most).Draw(g.T, "number") }
func (g *generator) next() int         { g.count++; return g.count }
func (g *generator) uuid(prefix string) string {
	return fmt.Sprintf("%s-%08x-0000-4000-8000-000000000000", prefix, g.next())
}
func (g *generator) hex32() string { return fmt.Sprintf("%032x", 0xce48969398<<16|int64(g.next())) }

func (g *generator) numaNodes() {
	count := rapid.SampledFrom([]int{0, 1, 2, 8}).Draw(g.T, "numa nodes")
	distances, step := g.bool(), 1+g.upTo(1)
	for i := range count {
		node := hardware.NUMANode{ID: i * step, CPUs: fmt.Sprintf("%d-%d,%d", 8*i, 8*i+3, 8*i+6), Socket: 2 * i / count}
		if i > 0 && g.bool() {
			node.CPUs, node.Socket = "", hardware.NoSocket
		}
		for to := range count {
			if distances {
				node.Distances = append(node.Distances, 10+2*min(1, max(i-to, to-i))+20*((2*i/count+2*to/count)%2))
			}
		}
		g.node.NUMANodes = append(g.node.NUMANodes, node)
	}
}

// function is one at a place of its own. Each root has a domain; below it are
// bridges 1 to 3 and below bridge k the bridges of bus k.
func (g *generator) function(ids hardware.PCIIDs, class uint32, driver string) hardware.PCIFunction {
	f := hardware.PCIFunction{IDs: ids, Class: class, Driver: driver, IOMMUGroup: g.upTo(40) - 1, NUMANode: hardware.NoNUMANode}
	if n := g.upTo(len(g.node.NUMANodes)); n > 0 {
		f.NUMANode = g.node.NUMANodes[n-1].ID
	}
	if g.upTo(4) == 0 { // without a root
		f.Address = hardware.PCIAddress{Domain: uint16(0x100 + g.next())}
		return f
	}
	domain, bridge := uint16(g.upTo(2)), uint8(1+g.upTo(2))
	f.Root = fmt.Sprintf("pci%04x:00", domain)
	path := []hardware.PCIAddress{{Domain: domain, Device: bridge}, {Domain: domain, Bus: bridge, Device: uint8(g.upTo(1))}}
	f.Bridges = path[:g.upTo(2)]
	f.Address = hardware.PCIAddress{Domain: domain, Bus: uint8(16 + g.next()%200), Device: uint8(g.count / 200)}
	return f
}

// withVFs makes f a physical function, and returns its virtual ones.
func (g *generator) withVFs(f *hardware.PCIFunction) []hardware.PCIFunction {
	f.SRIOV = &hardware.SRIOV{TotalVFs: 4}
	var vfs []hardware.PCIFunction
	pf := f.Address
	for i := range g.upTo(3) {
		vf := *f
		vf.Address.Function = uint8(2 + i)
		vf.IDs.Device++
		vf.IDs.DeviceName = ""
		vf.Driver = rapid.SampledFrom([]string{"", "mlx5_core", "vfio-pci"}).Draw(g.T, "driver")
		vf.SRIOV = &hardware.SRIOV{PhysicalFunction: &pf, Index: i}
		f.SRIOV.VFs = append(f.SRIOV.VFs, vf.Address)
		vfs = append(vfs, vf)
	}
	return vfs
}

func (g *generator) gpu() {
	ids := hardware.PCIIDs{Vendor: 0x10de, Device: 0x20b0, SubsystemVendor: 0x10de, SubsystemDevice: 0x134f,
		VendorName: "NVIDIA Corporation", DeviceName: "GA100 [A100 SXM4 40GB]"}
	gpu := hardware.GPU{
		PCIFunction: g.function(ids, 0x030200, "nvidia"), Minor: g.next(), UUID: g.uuid("GPU"),
		ProductName: "NVIDIA A100-SXM4-40GB", Brand: "Nvidia", Architecture: "Ampere", ComputeCapability: "8.0",
		AddressingMode: rapid.SampledFrom([]string{"", "HMM", "ATS", "None"}).Draw(g.T, "addressing"),
		MemoryBytes:    40 << 30, ModuleID: g.upTo(8),
	}
	if g.bool() {
		gpu.Fabric = &hardware.GPUFabric{ClusterUUID: g.uuid("C"), CliqueID: g.upTo(9), State: hardware.FabricCompleted}
	}
	if g.bool() {
		g.withVFs(&gpu.PCIFunction) // they are no devices of the node
	}
	if g.bool() {
		gpu.MIG = g.mig()
	}
	if g.bool() {
		gpu.VGPU = &hardware.VGPU{MixedSize: g.bool(), Types: []hardware.VGPUType{
			{ID: 468, Name: "NVIDIA A100-4C", FramebufferBytes: 4 << 30, MaxInstances: 10, MaxMixed: 8, MIGProfileID: -1}}}
		if gpu.MIG != nil {
			gpu.VGPU.Types = append(gpu.VGPU.Types, hardware.VGPUType{ID: 474, Name: "NVIDIA A100-1-5C", MaxInstances: 7, MIGProfileID: 19})
		}
	}
	g.node.GPUs = append(g.node.GPUs, gpu)
}

func placements(size int, starts ...int) []hardware.Placement {
	var list []hardware.Placement
	for _, start := range starts {
		list = append(list, hardware.Placement{Start: start, Size: size})
	}
	return list
}

// a100 are the profiles of an A100 with 40 GB.
func a100() []hardware.MIGProfile {
	resources := func(mib uint64, multiprocessors, copies, decoders, others int) hardware.MIGResources {
		return hardware.MIGResources{MemoryBytes: mib << 20, Multiprocessors: multiprocessors, CopyEngines: copies,
			Decoders: decoders, JPEGEngines: others, OFAEngines: others}
	}
	profile := func(name string, kind hardware.GPUInstanceProfileKind, id, most, compute, memory int,
		resources hardware.MIGResources, placements []hardware.Placement) hardware.MIGProfile {
		return hardware.MIGProfile{Name: name, Kind: kind, ID: id, MaxInstances: most, ComputeSlices: compute,
			MemorySlices: memory, Resources: resources, Placements: placements}
	}
	return []hardware.MIGProfile{
		profile("1g.5gb", hardware.GPUInstance1Slice, 19, 7, 1, 1, resources(4864, 14, 1, 0, 0), placements(1, 0, 1, 2, 3, 4, 5, 6)),
		profile("2g.10gb", hardware.GPUInstance2Slice, 14, 3, 2, 2, resources(9856, 28, 2, 1, 0), placements(2, 0, 2, 4)),
		profile("3g.20gb", hardware.GPUInstance3Slice, 9, 2, 3, 4, resources(19968, 42, 3, 2, 0), placements(4, 0, 4)),
		profile("4g.20gb", hardware.GPUInstance4Slice, 5, 1, 4, 4, resources(19968, 56, 4, 2, 0), placements(4, 0)),
		profile("7g.40gb", hardware.GPUInstance7Slice, 0, 1, 7, 8, resources(40192, 98, 7, 5, 1), placements(8, 0)),
		profile("1g.5gb+me", hardware.GPUInstance1SliceRev1, 20, 1, 1, 1, resources(4864, 14, 1, 1, 1), placements(1, 0, 1, 2, 3, 4, 5, 6)),
		profile("1g.10gb", hardware.GPUInstance1SliceRev2, 15, 4, 1, 2, resources(9856, 14, 1, 1, 0), placements(2, 0, 2, 4, 6)),
	}
}

// mig is one with as many instances as a few attempts place.
func (g *generator) mig() *hardware.MIG {
	mig := &hardware.MIG{Enabled: g.bool(), Pending: g.bool(), Profiles: a100()}
	free := [8]bool{true, true, true, true, true, true, true, true}
	for attempts := g.upTo(6); mig.Enabled && attempts > 0; attempts-- {
		profile := rapid.SampledFrom(mig.Profiles).Draw(g.T, "profile")
		at := rapid.SampledFrom(profile.Placements).Draw(g.T, "placement")
		covered := free[at.Start : at.Start+at.Size]
		if slices.Contains(covered, false) {
			continue
		}
		clear(covered)
		instance := hardware.GPUInstanceState{ID: len(mig.Instances) * 2, ProfileID: profile.ID, Placement: at}
		for slice := range g.upTo(profile.ComputeSlices) {
			instance.ComputeInstances = append(instance.ComputeInstances,
				hardware.ComputeInstanceState{ID: slice, ProfileID: 0, UUID: g.uuid("MIG")})
		}
		if len(instance.ComputeInstances) == 1 && profile.ComputeSlices > 1 {
			instance.ComputeInstances[0].ProfileID = int(hardware.ComputeInstance2Slice)
		}
		mig.Instances = append(mig.Instances, instance)
	}
	return mig
}

func (g *generator) amdGPU(version string) {
	ids := hardware.PCIIDs{Vendor: 0x1002, Device: 0x74a1, VendorName: "Advanced Micro Devices, Inc. [AMD/ATI]", DeviceName: "Aqua Vanjaram [Instinct MI300X]"}
	gpu := hardware.AMDGPU{
		PCIFunction: g.function(ids, 0x120000, "amdgpu"), Card: g.next(), Render: 128 + g.count,
		ProductName: "Instinct MI300X", DriverVersion: version, MemoryBytes: 192 << 30, ComputeUnits: 304, SIMDUnits: 1216,
		Modes: rapid.SampledFrom([][]hardware.AMDPartitionMode{
			nil,
			{{Compute: "SPX", Memory: "NPS1", Partitions: 1}},
			{{Compute: "SPX", Memory: "NPS1", Partitions: 1}, {Compute: "CPX", Memory: "NPS1", Partitions: 8}, {Compute: "CPX", Memory: "NPS4", Partitions: 8}},
			{{Compute: "SPX", Memory: "NPS1", Partitions: 1}, {Compute: "DPX", Memory: "NPS2", Partitions: 2},
				{Compute: "CPX", Memory: "NPS1", Partitions: 8}, {Compute: "CPX", Memory: "NPS4", Partitions: 8}},
			{{Compute: "SPX", Memory: "NPS1", Partitions: 1}, {Compute: "TPX", Memory: "NPS1", Partitions: 3}, {Compute: "CPX", Memory: "NPS1", Partitions: 6}},
		}).Draw(g.T, "modes"),
	}
	gpu.Address.Function = 0 // what kfd says of partitions is by slot
	if len(gpu.Modes) > 0 {
		mode := rapid.SampledFrom(gpu.Modes).Draw(g.T, "mode")
		gpu.Compute, gpu.Memory = mode.Compute, mode.Memory
	}
	g.node.AMDGPUs = append(g.node.AMDGPUs, gpu)
}

// nics adds a port and its virtual functions.
func (g *generator) nics() {
	ids := hardware.PCIIDs{Vendor: 0x15b3, Device: 0x1021, SubsystemVendor: 0x15b3, SubsystemDevice: 0x0041,
		VendorName: "Mellanox Technologies", DeviceName: "MT2910 Family [ConnectX-7]"}
	class := rapid.SampledFrom([]uint32{0x020000, 0x020700}).Draw(g.T, "class")
	f := g.function(ids, class, rapid.SampledFrom([]string{"", "mlx5_core", "vfio-pci"}).Draw(g.T, "driver"))
	functions := []hardware.PCIFunction{f}
	if g.bool() {
		vfs := g.withVFs(&functions[0])
		functions = append(functions, vfs...)
	}
	for _, f := range functions {
		nic := hardware.NIC{PCIFunction: f, Link: hardware.LinkEthernet}
		if class == 0x020700 {
			nic.Link = hardware.LinkInfiniBand
		}
		if f.Driver == "mlx5_core" && g.bool() {
			nic.RDMA = &hardware.RDMA{Device: fmt.Sprintf("mlx5_%d", g.next()), Uverbs: g.count}
		}
		if f.Driver == "mlx5_core" && g.bool() {
			nic.Interface, nic.MTU = fmt.Sprintf("ens%dnp0", g.next()), 1500+g.upTo(8000)
			nic.MAC = fmt.Sprintf("b8:3f:d2:00:%02x:%02x", g.count>>8, g.count&0xff)
			nic.Eswitch = rapid.SampledFrom([]string{"", "legacy", "switchdev"}).Draw(g.T, "eswitch")
		}
		if nic.RDMA != nil || nic.Interface != "" {
			nic.Up = g.bool()
			nic.SpeedMbps = rapid.SampledFrom([]int{0, 2500, 100000, 400000, 800000}).Draw(g.T, "speed")
			nic.Link = rapid.SampledFrom([]hardware.LinkType{hardware.LinkEthernet, hardware.LinkInfiniBand}).Draw(g.T, "link")
		}
		g.node.NICs = append(g.node.NICs, nic)
	}
}

func (g *generator) fpga() {
	switch g.upTo(2) {
	case 0:
		g.dflCard()
	case 1:
		g.alveo("xocl", "xilinx_u55c_gen3x16_xdma_base_3", hardware.PCIIDs{Vendor: 0x10ee, Device: 0x505d, VendorName: "Xilinx Corporation"}, 16<<30)
	case 2:
		g.alveo("", "", hardware.PCIIDs{Vendor: 0x10ee, Device: 0x50b5, VendorName: "Xilinx Corporation"}, 68<<30)
	}
}

func (g *generator) dflCard() {
	ids := hardware.PCIIDs{Vendor: 0x8086, Device: 0x0b2b, VendorName: "Intel Corporation", DeviceName: "Intel FPGA PAC D5005"}
	card := hardware.FPGA{PCIFunction: g.function(ids, 0x120000, "dfl-pci"), Model: ids.DeviceName, MemoryBytes: 32 << 30}
	for i := range g.upTo(2) {
		region := hardware.FPGARegion{ID: i, Interface: g.hex32()}
		if g.bool() {
			region.Port = fmt.Sprintf("dfl-port.%d", g.next())
			if g.bool() {
				region.Function = g.hex32()
			}
		}
		card.Regions = append(card.Regions, region)
	}
	var vfs []hardware.PCIFunction
	if g.bool() {
		vfs = g.withVFs(&card.PCIFunction)
	}
	g.node.FPGAs = append(g.node.FPGAs, card)
	for _, vf := range vfs {
		g.node.FPGAs = append(g.node.FPGAs, hardware.FPGA{PCIFunction: vf, Model: card.Model, MemoryBytes: 32 << 30})
	}
}

func (g *generator) alveo(driver, shell string, ids hardware.PCIIDs, memory uint64) {
	card := hardware.FPGA{PCIFunction: g.function(ids, 0x120000, driver), Model: "ALVEO CARD", Shell: shell,
		Serial: rapid.SampledFrom([]string{"", "XFL1ABCDEF2G"}).Draw(g.T, "serial"), MemoryBytes: memory}
	card.Address.Function = 1
	if shell == "" || g.bool() {
		management := card.Address
		management.Function = 0
		card.Management = &management
	}
	g.node.FPGAs = append(g.node.FPGAs, card)
}
