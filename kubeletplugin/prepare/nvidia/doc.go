// Package nvidia prepares NVIDIA GPUs and their partitions.
//
//	kinds := nvidia.Kinds(nvidia.Options{Library: library, Host: host})
//
// # Whole GPUs
//
// A claim for a whole GPU changes nothing unless its configuration says so
// (compute mode), or the GPU is in MIG mode without partitions: then the mode is
// switched off, and on again when the last share of the GPU is given back.
//
// # Partitions
//
// A claim for a partition has a GPU instance made at the placement that the
// device's name says, and a compute instance that is all of it. If the GPU is not
// in MIG mode, the mode is switched on, and off again when the last partition has
// gone, whichever claim that is of.
//
//  1. A plan names a placement that nothing covered when it was made. So until the
//     outcome is written down, an instance of that profile exactly there is ours.
//  2. An outcome names the instances by ID and the partition by UUID. From then on
//     only what has all of these is ours.
//  3. Other partitions are an administrator's. They are in the way, and an error
//     names them; they are neither used nor destroyed. With Options.StaticMIG it is
//     the reverse: all are, and they are used and neither made nor destroyed.
//  4. A reboot takes partitions with it, so that after one none is destroyed.
//
// A GPU that is lost, or is no more there, has nothing left to undo: its partitions
// do not survive the reset that it needs.
//
// # Containers
//
// Containers get the device nodes of the GPU, of the partition's capabilities, and
// those that all GPUs need; and NVIDIA_VISIBLE_DEVICES=void, as from NVIDIA's
// driver, so that a container runtime with a hook of its own adds no others. They
// also get the libraries of the host's driver and the programs that come with it. No
// more of what NVIDIA's container toolkit does for containers is done: nothing for
// graphics beside the libraries, no sockets, no firmware.
package nvidia
