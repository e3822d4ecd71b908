package surface_test

import (
	"fmt"
	"strings"

	"github.com/dray-dev/dray/hwsim/surface"
	"github.com/dray-dev/dray/kubeletplugin/hardware"
)

func init() {
	surface.FixedNodes = func(name string) *surface.FileTree { return surface.Tree(fixedNodes()[name]) }
}

func address(text string) hardware.PCIAddress {
	a, err := hardware.ParsePCIAddress(text)
	if err != nil {
		panic(err)
	}
	return a
}

// at is a function below a root and bridges, on no NUMA node.
func at(place, driver string, class uint32, ids hardware.PCIIDs) hardware.PCIFunction {
	elements := strings.Split(place, "/")
	f := hardware.PCIFunction{Root: elements[0], IDs: ids, Class: class, Driver: driver, NUMANode: hardware.NoNUMANode, IOMMUGroup: -1}
	for _, bridge := range elements[1 : len(elements)-1] {
		f.Bridges = append(f.Bridges, address(bridge))
	}
	f.Address = address(elements[len(elements)-1])
	return f
}

var (
	idsA100      = hardware.PCIIDs{Vendor: 0x10de, Device: 0x20b0, SubsystemVendor: 0x10de, SubsystemDevice: 0x134f, VendorName: "NVIDIA Corporation", DeviceName: "GA100 [A100 SXM4 40GB]"}
	idsGB200     = hardware.PCIIDs{Vendor: 0x10de, Device: 0x2941, VendorName: "NVIDIA Corporation"}
	idsConnectX7 = hardware.PCIIDs{Vendor: 0x15b3, Device: 0x1021, VendorName: "Mellanox Technologies", DeviceName: "MT2910 Family [ConnectX-7]"}
	idsVF        = hardware.PCIIDs{Vendor: 0x15b3, Device: 0x101e, VendorName: "Mellanox Technologies", DeviceName: "ConnectX Family mlx5Gen Virtual Function"}
	idsMI300X    = hardware.PCIIDs{Vendor: 0x1002, Device: 0x74a1, VendorName: "Advanced Micro Devices, Inc. [AMD/ATI]"}
	idsArria10   = hardware.PCIIDs{Vendor: 0x8086, Device: 0x09c4, VendorName: "Intel Corporation"}
	idsU55C      = hardware.PCIIDs{Vendor: 0x10ee, Device: 0x505d, VendorName: "Xilinx Corporation"}
	idsV80       = hardware.PCIIDs{Vendor: 0x10ee, Device: 0x50b5, VendorName: "Xilinx Corporation"}
)

// fixedNodes are small nodes of the kinds of machines that there are.
func fixedNodes() map[string]*hardware.Node {
	return map[string]*hardware.Node{
		"empty":        {},
		"driver-alone": {GPUDriver: &hardware.GPUDriver{Version: "580.126.20", CUDAVersion: 13000}},
		"mig":          migNode(),
		"gb200":        gb200Node(),
		"azure-vf":     {NICs: []hardware.NIC{{PCIFunction: at("/0101:00:00.0", "mlx5_core", 0x020700, idsVF), Link: hardware.LinkInfiniBand, Up: true, SpeedMbps: 400000, RDMA: &hardware.RDMA{Device: "mlx5_0"}}}},
		"sriov":        sriovNode(),
		"mi300x-cpx":   mi300xNode(),
		"fpga":         fpgaNode(),
	}
}

func migNode() *hardware.Node {
	node := &hardware.Node{GPUDriver: &hardware.GPUDriver{Version: "580.126.20", CUDAVersion: 13000}}
	for i := range 2 {
		gpu := hardware.GPU{
			PCIFunction: at(fmt.Sprintf("pci0000:15/0000:15:01.0/0000:1%d:00.0", 6+i), "nvidia", 0x030200, idsA100),
			Minor:       i, UUID: fmt.Sprintf("GPU-%d", i), ProductName: "NVIDIA A100-SXM4-40GB", Brand: "Nvidia", Architecture: "Ampere",
			ComputeCapability: "8.0", MemoryBytes: 40 << 30, MIG: &hardware.MIG{Enabled: true, Pending: true, Profiles: a100()},
		}
		gpu.MIG.Instances = []hardware.GPUInstanceState{{ID: i, ProfileID: 19, Placement: hardware.Placement{Start: 2, Size: 1},
			ComputeInstances: []hardware.ComputeInstanceState{{UUID: fmt.Sprintf("MIG-%d", i)}}}}
		node.GPUs = append(node.GPUs, gpu)
	}
	return node
}

// gb200Node has NUMA nodes for the memory of GPUs, and GPUs without a bridge.
func gb200Node() *hardware.Node {
	gpu := hardware.GPU{PCIFunction: at("pci0008:00/0008:06:00.0", "nvidia", 0x030200, idsGB200), UUID: "GPU-0", ProductName: "NVIDIA GB200",
		ComputeCapability: "10.0", AddressingMode: "ATS", MemoryBytes: 189471 << 20, ModuleID: 1,
		Fabric: &hardware.GPUFabric{ClusterUUID: "c1", CliqueID: 32766, State: hardware.FabricCompleted}}
	gpu.NUMANode = 0
	return &hardware.Node{
		NUMANodes: []hardware.NUMANode{
			{ID: 0, CPUs: "0-1", Socket: 0, Distances: []int{10, 40, 80}}, {ID: 1, CPUs: "2-3", Socket: 1, Distances: []int{40, 10, 120}},
			{ID: 2, Socket: hardware.NoSocket, Distances: []int{80, 120, 10}}},
		GPUDriver: &hardware.GPUDriver{Version: "580.126.20", CUDAVersion: 13000, IMEXChannels: 2048},
		GPUs:      []hardware.GPU{gpu},
	}
}

func sriovNode() *hardware.Node {
	pf := at("pci0000:3a/0000:3a:00.0/0000:3b:00.0", "mlx5_core", 0x020000, idsConnectX7)
	vf := at("pci0000:3a/0000:3a:00.0/0000:3b:00.2", "vfio-pci", 0x020000, idsVF)
	pf.IOMMUGroup, vf.IOMMUGroup = 12, 41
	pf.SRIOV = &hardware.SRIOV{TotalVFs: 16, VFs: []hardware.PCIAddress{vf.Address}}
	vf.SRIOV = &hardware.SRIOV{PhysicalFunction: &pf.Address}
	return &hardware.Node{NICs: []hardware.NIC{
		{PCIFunction: pf, Interface: "ens1f0np0", MAC: "b8:3f:d2:00:00:01", Link: hardware.LinkEthernet, MTU: 9000, Up: true,
			SpeedMbps: 400000, RDMA: &hardware.RDMA{Device: "mlx5_0"}, Eswitch: "switchdev"},
		{PCIFunction: vf, Link: hardware.LinkEthernet}}}
}

func mi300xNode() *hardware.Node {
	return &hardware.Node{AMDGPUs: []hardware.AMDGPU{{PCIFunction: at("pci0000:00/0000:05:00.0", "amdgpu", 0x120000, idsMI300X),
		Render: 128, ProductName: "Instinct MI300X", DriverVersion: "6.14.14", MemoryBytes: 196592 << 20, ComputeUnits: 304, SIMDUnits: 1216,
		Compute: "CPX", Memory: "NPS4", Modes: []hardware.AMDPartitionMode{{Compute: "SPX", Memory: "NPS1", Partitions: 1},
			{Compute: "CPX", Memory: "NPS1", Partitions: 8}, {Compute: "CPX", Memory: "NPS4", Partitions: 8}}}}}
}

func fpgaNode() *hardware.Node {
	u55c, v80 := address("0000:3b:00.0"), address("0000:86:00.0")
	return &hardware.Node{FPGAs: []hardware.FPGA{
		{PCIFunction: at("pci0000:3a/0000:3a:00.0/0000:3b:00.1", "xocl", 0x120000, idsU55C), Management: &u55c, Model: "Alveo U55C",
			Shell: "xilinx_u55c_gen3x16_xdma_base_3", Serial: "XFL1", MemoryBytes: 16 << 30},
		{PCIFunction: at("pci0000:4e/0000:4e:00.0/0000:4f:00.0", "dfl-pci", 0x120000, idsArria10), Model: "Intel PAC with Arria 10 GX", MemoryBytes: 8 << 30,
			Regions: []hardware.FPGARegion{{Interface: "69528db6eb31577a8c3668f9faa081f6", Function: "d8424dc4a4a3c413f89e433683f9040b", Port: "dfl-port.0"}}},
		{PCIFunction: at("pci0000:85/0000:86:00.1", "", 0x120000, idsV80), Management: &v80, Model: "Alveo V80", MemoryBytes: 68 << 30},
	}}
}
