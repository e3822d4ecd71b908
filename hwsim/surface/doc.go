// Package surface writes a simulated node as the files that a driver reads, and
// opens such a folder as a hardware.Host.
//
//	node ── Write ──► folder ── Open ──► hardware.Host ── hardware.Discover ──► node
//
// The folder is laid out as a machine's root is, and other readers of sysfs can
// be pointed at it: Kubernetes' deviceattribute at <folder>/sys, NVIDIA's nvpci at
// <folder>/sys/bus/pci/devices, a container toolkit at the folder as driver root.
//
//	sys/devices/pci0000:15/…   a directory for each function, below its bridges
//	sys/bus/pci, sys/class     relative links to them
//	sys/devices/system         NUMA nodes, CPUs
//	proc/devices               majors
//	proc/driver/nvidia         version, GPUs, MIG capabilities
//	dev                        device nodes
//	usr                        PCI IDs; the NVIDIA driver's libraries, empty
//
// A device node is a text file, "c 195:0", because making real ones needs root.
// All links are relative and stay in the folder, so that it can be moved, and
// mounted into a container.
//
// Write reads back what it wrote before anyone sees it: a value that a kernel's
// files cannot express, such as an MTU of a function that has no interface, is an
// error that names the device and the field, and nothing is written.
//
// # What is where
//
//	write.go      Write: the whole, into its place at once; Stage: up to that step
//	running.go    Build: what a machine that runs has besides
//	sync.go       Sync: a folder step by step from one state to the next
//	work.go       the folder beside it in which it is made, and what killed writers
//	              left; lock_linux.go, lock_other.go what they need of a system
//	open.go       Open: the folder as a Host
//	tree.go       files and links before they are on disk
//	pci.go        functions, bridges, virtual functions
//	system.go     NUMA nodes, CPUs, PCI IDs, proc/devices
//	nvidia.go     the NVIDIA driver's procfs, device nodes and libraries
//	amdgpu.go, nic.go, fpga.go   what these drivers add to their functions
//	difference.go where two nodes differ
package surface
