// Package gpulib is NVIDIA's management library over a simulated node: it
// implements hardware.GPULibrary, so that a driver enumerates, partitions and
// watches GPUs that are data.
//
// The library is two things that are kept apart:
//
//	Library   the calls and handles: what NVML answers to a question about a Node
//	Backend   where the Node comes from, and what becomes of a wish to change it
//
// New gives a library over one Node that refuses every change with
// hardware.ErrGPUNoPermission, as NVML does to a user who may only look. A
// backend that keeps state, makes faults and reports events brings its own, and
// NewLibrary. Of questions it answers few besides Node: which events there are,
// which virtual GPUs fit, and whether a GPU answers at all.
//
// # What is where
//
//	library.go    Library: start and stop, enumeration, clock
//	backend.go    Backend, and the one that refuses
//	device.go     handles of GPUs, and of MIG devices in migdevice.go
//	instance.go   handles of GPU and compute instances
//	capacity.go   how many more instances fit
//	events.go     event sets
package gpulib
