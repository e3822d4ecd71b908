package machine

import "github.com/dray-dev/dray/kubeletplugin/hardware"

// Kind says what a machine file describes.
type Kind string

// The kinds.
const (
	// NodeKind is one computer.
	NodeKind Kind = "node"
	// RackKind is several, which share an NVLink fabric.
	RackKind Kind = "rack"
	// PoolKind is a chassis of devices that a fabric attaches to nodes on demand.
	PoolKind Kind = "pool"
)

// File is the content of a machine file. Its fields stand in the file under the
// names of their json tags.
type File struct {
	// Name of the machine: "dgx-h100". Lower-case letters, digits and dashes.
	Name string `json:"name"`
	Kind Kind   `json:"kind"`
	// Description is one line.
	Description string `json:"description,omitempty"`
	// Evidence for the layout: addresses, roots, NUMA nodes. Models have their own.
	Evidence []Evidence `json:"evidence,omitempty"`

	NodeFile `json:",inline"`
	RackFile `json:",inline"`
	PoolFile `json:",inline"`

	// Models that the machine uses beside the embedded ones, which they hide by
	// their names.
	Models *Models `json:"models,omitempty"`
}

// NodeFile is the part of a file of kind node.
type NodeFile struct {
	// Architecture of the CPUs as Kubernetes names it: "amd64", which is the
	// default, or "arm64".
	Architecture string `json:"architecture,omitempty"`
	// NUMA nodes, by ID from 0 up. Empty for a machine that does not tell.
	NUMA []NUMAFile `json:"numa,omitempty"`
	// MemoryGiB is what the node has in all; 0 if that is not known.
	MemoryGiB int `json:"memoryGiB,omitempty"`
	// IOMMU gives every function an IOMMU group of its own.
	IOMMU bool `json:"iommu,omitempty"`
	// NVIDIA is the driver of NVIDIA's GPUs; needed where there are any.
	NVIDIA *NVIDIAFile `json:"nvidia,omitempty"`
	// AMD is the driver of AMD's accelerators; needed where there are any.
	AMD *AMDFile `json:"amd,omitempty"`
	// Roots are the PCIe root complexes that have devices.
	Roots []RootFile `json:"roots,omitempty"`
}

// NUMAFile is a memory node.
type NUMAFile struct {
	ID int `json:"id"`
	// CPUs is a list as Linux writes it, "0-55,112-167"; empty for memory alone.
	CPUs string `json:"cpus,omitempty"`
	// Socket is the physical package of the CPUs; a node without CPUs has none.
	Socket int `json:"socket,omitempty"`
	// Distances to the nodes in their order (ACPI's SLIT): 10 for the node itself,
	// more for others. Without them all others are 20 away, as Linux assumes.
	Distances []int `json:"distances,omitempty"`
}

// NVIDIAFile is NVIDIA's driver and what is set for all of its GPUs.
type NVIDIAFile struct {
	// Version is the driver's, "580.126.20", and CUDA the newest that it runs, "13.0".
	Version string `json:"version"`
	CUDA    string `json:"cuda"`
	// IMEXChannels is how many a workload can be given; 0 without IMEX.
	IMEXChannels int `json:"imexChannels,omitempty"`
	// Clique of the NVLink fabric that the GPUs have joined, from 1 up. 0 for GPUs
	// outside of such a fabric. In a rack, the rack's file can say otherwise.
	Clique int `json:"clique,omitempty"`
	// Addressing is what the driver says of all GPUs whose model does not: "HMM",
	// "ATS", "None", or empty if it says nothing.
	Addressing string `json:"addressing,omitempty"`
	// MIG switches partitioning on for all GPUs that can be partitioned.
	MIG bool `json:"mig,omitempty"`
	// VGPU makes the node a host of virtual GPUs.
	VGPU *VGPUFile `json:"vgpu,omitempty"`
}

// VGPUFile is how a node hosts virtual GPUs.
type VGPUFile struct {
	// MixedSize admits virtual GPUs of different sizes on one GPU, where the model
	// can do that.
	MixedSize bool `json:"mixedSize,omitempty"`
}

// AMDFile is AMD's driver and what is set for all of its accelerators.
type AMDFile struct {
	// Version is the amdgpu module's.
	Version string `json:"version"`
	// Compute and Memory are the partition modes, "SPX" and "NPS1". Without them
	// each accelerator is in the first mode of its model.
	Compute string `json:"compute,omitempty"`
	Memory  string `json:"memory,omitempty"`
}

// RootFile is a root complex with the functions below it.
type RootFile struct {
	// Root is "pci0000:15"; empty for a virtual bus without one, as some cloud
	// machines have.
	Root string `json:"root,omitempty"`
	// NUMA is the node of all functions that do not say otherwise; without it they
	// belong to none.
	NUMA *int `json:"numa,omitempty"`
	// Bridges lead from the root to all of the functions: a root port and the
	// upstream port of a switch.
	Bridges   []hardware.PCIAddress `json:"bridges,omitempty"`
	Functions []FunctionFile        `json:"functions"`
}

// FunctionFile is a device with its place. What kind of device it is follows from
// its model; a field that the kind does not have is an error.
type FunctionFile struct {
	// Model is the name of one of the models.
	Model   string              `json:"model"`
	Address hardware.PCIAddress `json:"address"`
	// Bridges lead on from those of the root: the downstream port of a switch.
	Bridges []hardware.PCIAddress `json:"bridges,omitempty"`
	// NUMA is the function's own node, -1 for none.
	NUMA *int `json:"numa,omitempty"`
	// Driver that the function is bound to instead of the model's: "vfio-pci".
	Driver string `json:"driver,omitempty"`

	// Of NVIDIA's GPUs.

	// Minor is N of /dev/nvidiaN; by default GPUs count by PCI address.
	Minor *int `json:"minor,omitempty"`
	// Module is the place on the baseboard, from 1.
	Module int `json:"module,omitempty"`
	// MIG is how this GPU is partitioned.
	MIG *MIGFile `json:"mig,omitempty"`

	// Of network functions.

	// Interface is the network interface, "ibp24s0"; without it there is none.
	Interface string `json:"interface,omitempty"`
	// RDMA is the RDMA device, "mlx5_0"; without it there is none. Their character
	// devices uverbsN count by PCI address.
	RDMA string `json:"rdma,omitempty"`
	// Down takes the link down.
	Down bool `json:"down,omitempty"`
	// Eswitch is "legacy" or "switchdev", for a function with virtual ones.
	Eswitch string `json:"eswitch,omitempty"`
	// VFs are the virtual functions, for a model that has them.
	VFs *VFsFile `json:"vfs,omitempty"`

	// Of FPGAs.

	// Management is the address of a card's other function.
	Management *hardware.PCIAddress `json:"management,omitempty"`
	// Regions, by ID from 0 up; without them, those of the model.
	Regions []RegionFile `json:"regions,omitempty"`
}

// MIGFile is how one GPU is partitioned when the machine starts.
type MIGFile struct {
	Enabled bool `json:"enabled"`
	// Instances that exist already, each with one compute instance that fills it.
	Instances []MIGInstanceFile `json:"instances,omitempty"`
}

// MIGInstanceFile is a GPU instance.
type MIGInstanceFile struct {
	// Profile is one of the model's: "1g.10gb".
	Profile string `json:"profile"`
	// Start is its first memory slice.
	Start int `json:"start"`
}

// VFsFile is the virtual functions of a network function.
type VFsFile struct {
	// Total is how many there can be (sriov_totalvfs); 0 means as many as the model
	// can have.
	Total int `json:"total,omitempty"`
	// Present is how many there are.
	Present int `json:"present,omitempty"`
	// First is the address of number 0. The others follow Stride functions apart,
	// over the ends of devices and buses; 0 means 1.
	First  *hardware.PCIAddress `json:"first,omitempty"`
	Stride int                  `json:"stride,omitempty"`
	// Interface and RDMA name what each has. "{vf}" stands for its number and
	// "{vf+2}" for that plus 2: "ens1f0v{vf}", "mlx5_{vf+2}".
	Interface string `json:"interface,omitempty"`
	RDMA      string `json:"rdma,omitempty"`
	// VFIO lists the numbers of those that are bound to vfio-pci: they have neither
	// interface nor RDMA device.
	VFIO []int `json:"vfio,omitempty"`
}

// RegionFile is a region of an FPGA.
type RegionFile struct {
	// Interface is the ID that bitstreams are built for, 32 hexadecimal digits.
	Interface string `json:"interface"`
	// Function is the ID of the accelerator function that is loaded, likewise.
	Function string `json:"function,omitempty"`
	// Port is the kernel's name of its port; needed for a function to be reached.
	// "{n}" stands for the port's number on the machine: "dfl-port.{n}".
	Port string `json:"port,omitempty"`
}

// RackFile is the part of a file of kind rack.
type RackFile struct {
	// Members in the order of their places.
	Members []MemberFile `json:"members,omitempty"`
	// Machines are those that the members are, where they are not embedded.
	Machines []File `json:"machines,omitempty"`
}

// MemberFile is a number of equal nodes of a rack.
type MemberFile struct {
	// Machine is the name of one of kind node.
	Machine string `json:"machine"`
	Count   int    `json:"count"`
	// Clique of their GPUs in the rack's fabric; 0 leaves the machine's own.
	Clique int `json:"clique,omitempty"`
	// NodeName names the nodes. "{rack}" stands for the rack's name, "{place}" for
	// the place in it, from 0, with the digits of the last place and at least two;
	// without it, "{rack}-{place}".
	NodeName string `json:"nodeName,omitempty"`
}

// PoolFile is the part of a file of kind pool.
type PoolFile struct {
	// NodeLabels are on every node that the fabric reaches. "{pool}" in a value
	// stands for the pool's name.
	NodeLabels map[string]string `json:"nodeLabels,omitempty"`
	Devices    []PoolDeviceFile  `json:"devices,omitempty"`
}

// PoolDeviceFile is a number of equal devices of a pool.
type PoolDeviceFile struct {
	// Model is the name of one of the models.
	Model string `json:"model"`
	Count int    `json:"count"`
	// Name of each; "{n}" stands for its number, from 0. Without it, the model's
	// name and the number.
	Name string `json:"name,omitempty"`
}
