// Package hardware is the driver's view of a node: which devices it has, where
// they sit, and what they can be divided into.
//
// The view is one value, Node. It holds what hardware is, not what the cluster
// makes of it: names of pools, slices and classes are package publish's.
// Discover fills it from the two narrow interfaces through which the driver
// touches a machine at all:
//
//	Host        files: sysfs, procfs, device nodes; reads and writes
//	GPULibrary  what NVIDIA's NVML answers, in plain Go types
//
// On a host these are its root directory (HostDir) and an adapter of go-nvml.
// Simulated, they are a folder and a library over the same Node that a machine's
// description gives: writing a Node's surfaces and discovering them returns the
// Node. So a simulated machine differs from a real one only below these two
// interfaces, and the driver cannot tell which it runs on.
//
// # What is where
//
//	node.go        Node, the NUMA nodes
//	pci.go         addresses and functions on the PCI bus
//	gpu.go         NVIDIA GPUs, MIG profiles and instances, vGPU types
//	amdgpu.go      AMD accelerators and their partition modes
//	nic.go         network functions, RDMA, SR-IOV
//	fpga.go        FPGA cards and their regions
//	fabric.go      pools of devices that are attached on demand
//	host.go        Host and the host's own files; bootid.go which boot it is
//	gpulibrary.go  GPULibrary and its handles; gpuerror.go its errors
//	discover*.go   the interfaces → Node: discover.go has the order, the others
//	               one source each; pciids.go and cpulist.go read formats
//	validate*.go   the invariants of a Node; deviceerror.go names what breaks one
//	gpuparts.go    what the library tells of a GPU, and what it does not
//	clone.go       copies
//
// A Node is data: it may be compared with ==-like tools (go-cmp), copied by
// Clone and encoded. All its lists are sorted by PCI address, or by the number
// that names the element.
package hardware
