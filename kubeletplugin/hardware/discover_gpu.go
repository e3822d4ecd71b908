package hardware

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// defaultIMEXChannels is how many channels the driver makes if it is not told.
const defaultIMEXChannels = 2048

// readGPUs reads NVIDIA's GPUs.
func (d *discovery) readGPUs(library GPULibrary) {
	if library == nil {
		return
	}
	if err := library.Init(); err != nil {
		if !errors.Is(err, ErrGPULibraryNotFound) && !errors.Is(err, ErrGPUDriverNotLoaded) {
			d.report("gpu library", "", err)
		}
		return
	}
	defer library.Shutdown()
	driver, count, err := d.gpuDriver(library)
	if err != nil {
		d.report("gpu driver", "", err)
		return
	}
	d.node.GPUDriver = driver
	for index := range count {
		gpu, err := d.gpu(library, index)
		if err != nil {
			d.report(fmt.Sprintf("gpu with index %d", index), "", err)
			continue
		}
		d.used[gpu.Address] = true
		d.node.GPUs = append(d.node.GPUs, gpu)
	}
}

func (d *discovery) gpuDriver(library GPULibrary) (*GPUDriver, int, error) {
	version, err := library.DriverVersion()
	if err != nil {
		return nil, 0, err
	}
	cuda, err := library.CUDADriverVersion()
	if err != nil {
		return nil, 0, err
	}
	count, err := library.DeviceCount()
	return &GPUDriver{Version: version, CUDAVersion: cuda, IMEXChannels: d.imexChannels()}, count, err
}

// imexChannels is how many channels the driver was told to make, if it makes
// any: then it has a major number for them.
func (d *discovery) imexChannels() int {
	if _, ok := d.major("nvidia-caps-imex-channels"); !ok {
		return 0
	}
	for line := range strings.Lines(d.optional("proc/driver/nvidia/params")) {
		if key, value, _ := strings.Cut(line, ":"); key == "ImexChannelCount" {
			if n, ok := suffixNumber(strings.TrimSpace(value), ""); ok {
				return n
			}
		}
	}
	return defaultIMEXChannels
}

// major finds the number of a character device's driver in proc/devices.
func (d *discovery) major(driver string) (number int, ok bool) {
	for line := range strings.Lines(d.optional("proc/devices")) {
		if strings.HasPrefix(line, "Block") {
			break
		}
		if fields := strings.Fields(line); len(fields) == 2 && fields[1] == driver {
			return suffixNumber(fields[0], "")
		}
	}
	return 0, false
}

// gpu reads one GPU. An error is about a GPU that cannot be told from others, so that it
// cannot be one of the Node's. What else the library does not tell is reported, and its
// names are Unread.
func (d *discovery) gpu(library GPULibrary, index int) (GPU, error) {
	device, err := library.DeviceByIndex(index)
	if err != nil {
		return GPU{}, err
	}
	address, err := device.PCIAddress()
	if err != nil {
		return GPU{}, err
	}
	function, err := d.function(address)
	if err != nil {
		return GPU{}, fmt.Errorf("%s: %w", address, err)
	}
	gpu := GPU{PCIFunction: function}
	if gpu.UUID, err = device.UUID(); err != nil {
		return GPU{}, fmt.Errorf("%s: %w", address, err)
	}
	if gpu.Minor, err = device.MinorNumber(); err != nil {
		return GPU{}, fmt.Errorf("%s: %w", address, err)
	}
	for i := range gpuParts {
		part := &gpuParts[i]
		err := unlessNotSupported(part.read(&gpu, device))
		if err == nil {
			continue
		}
		if errors.Is(err, ErrGPULost) {
			return GPU{}, fmt.Errorf("%s: %s: %w", address, part.name, err)
		}
		gpu.Unread = append(gpu.Unread, part.name)
		d.report(at("gpu", address), part.name, err)
	}
	// Types of virtual GPUs name MIG profiles, so without those they say nothing.
	if slices.Contains(gpu.Unread, UnreadMIG) && gpu.VGPU != nil {
		gpu.VGPU, gpu.Unread = nil, append(gpu.Unread, unreadVGPU)
	}
	return gpu, nil
}

// unlessNotSupported is nil for what a GPU need not have.
func unlessNotSupported(err error) error {
	if errors.Is(err, ErrGPUNotSupported) {
		return nil
	}
	return err
}
