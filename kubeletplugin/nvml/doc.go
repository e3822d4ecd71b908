// Package nvml is NVIDIA's management library as a hardware.GPULibrary.
//
// It is the only package that knows github.com/NVIDIA/go-nvml, which is C: without a C
// compiler (CGO_ENABLED=0), or on other systems than Linux, New returns a library that
// says that there is none, so that everything builds and runs anywhere.
//
//	library.go  the library, its errors, and functions that it may lack
//	trial.go    whether the library fits the driver, before it cannot be unloaded any more
//	device.go   GPUs and MIG devices: what they are
//	mig.go      partitions
//	vgpu.go     virtual GPUs
//	other.go    no library
package nvml
