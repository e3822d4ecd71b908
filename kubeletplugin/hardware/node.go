package hardware

// Node is everything that a driver can know of one machine's devices.
//
// It keeps:
//
//  1. GPUs, AMDGPUs, NICs and FPGAs are sorted by PCI address, and no two
//     functions share one; an FPGA's management function is none of them.
//  2. A function's NUMA node is one of NUMANodes, or NoNUMANode.
//  3. A virtual function's physical function is in the same list and names it
//     at its index. A physical function names no more virtual ones than it can
//     have, each once.
//  4. Bridges form a tree: no device is a bridge, and all functions behind a
//     bridge agree on the path to it.
//  5. NUMANodes are sorted by ID. No CPU is in two of them; a node without CPUs
//     has NoSocket. Either all nodes have distances to all, or none has any.
//  6. Where there are GPUs, there is a GPUDriver. Their minors and UUIDs differ.
//  7. MIG profiles are sorted by kind and differ in ID. Instances are sorted by
//     ID; each lies at a placement of its profile, and no two cover the same
//     memory slice. There are none while MIG is off. MIG devices' UUIDs differ.
//  8. vGPU types are sorted by ID, and the profile behind one is one of the GPU's.
//  9. AMD GPUs differ in card and in render node.
//  10. Interfaces, RDMA devices and uverbs numbers differ.
//  11. The regions of a card are numbered from 0, without gaps.
//
// Validate checks them. An empty list is nil or not, with the same meaning.
type Node struct {
	// NUMANodes by ID. Empty if the machine does not tell.
	NUMANodes []NUMANode
	// GPUDriver is nil where no NVIDIA driver is loaded.
	GPUDriver *GPUDriver
	GPUs      []GPU
	AMDGPUs   []AMDGPU
	NICs      []NIC
	FPGAs     []FPGA
}

// NUMANode is one memory node.
type NUMANode struct {
	ID int
	// CPUs is the list as sysfs prints it: "0-55,112-167".
	CPUs string
	// Socket is the physical package of its CPUs, or NoSocket.
	Socket int
	// Distances to all nodes, by position in Node.NUMANodes: the ACPI SLIT, 10
	// for the node itself. Empty where the machine does not tell.
	Distances []int
}

// NoNUMANode is what sysfs says of a device that belongs to no node.
const NoNUMANode = -1

// NoSocket is the socket of a NUMA node that has memory and no CPUs.
const NoSocket = -1

// GPUDriver is the NVIDIA driver of a node.
type GPUDriver struct {
	// Version is the driver's: "580.126.20".
	Version string
	// CUDAVersion is the newest CUDA that the driver supports, as NVML encodes it:
	// 1000 × major + 10 × minor.
	CUDAVersion int
	// IMEXChannels is how many channels of the driver a workload can be given; 0
	// without support for them. The driver's default is 2048.
	IMEXChannels int
}
