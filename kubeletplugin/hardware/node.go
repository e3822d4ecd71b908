package hardware

// Node is everything that a driver can know of one machine's devices.
//
// It keeps:
//
//  1. GPUs, AMDGPUs, NICs and FPGAs are sorted by PCI address, and no two
//     functions share one.
//  2. A function's NUMA node is one of NUMANodes, or NoNUMANode.
//  3. A virtual function's physical function is in the same list.
//
// Validate checks them.
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
	// Socket is the physical package of its CPUs.
	Socket int
	// Distances to all nodes, by position in Node.NUMANodes: the ACPI SLIT, 10
	// for the node itself.
	Distances []int
}

// NoNUMANode is what sysfs says of a device that belongs to no node.
const NoNUMANode = -1

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
