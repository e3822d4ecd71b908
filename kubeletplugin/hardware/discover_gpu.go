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
	if err := gpu.identify(device); err != nil {
		return GPU{}, fmt.Errorf("%s: %w", address, err)
	}
	if gpu.MIG, err = readMIG(device); err != nil {
		return GPU{}, fmt.Errorf("%s: MIG: %w", address, err)
	}
	if gpu.VGPU, err = readVGPU(device); err != nil {
		return GPU{}, fmt.Errorf("%s: virtual GPUs: %w", address, err)
	}
	return gpu, nil
}

// identify asks the library who the GPU is.
func (g *GPU) identify(device GPUDevice) error {
	var errs []error
	text := func(ask func() (string, error)) string {
		answer, err := ask()
		errs = append(errs, err)
		return answer
	}
	g.UUID = text(device.UUID)
	g.ProductName = text(device.Name)
	g.Brand = text(device.Brand)
	g.Architecture = text(device.Architecture)
	major, minor, err := device.ComputeCapability()
	errs = append(errs, err)
	g.ComputeCapability = fmt.Sprintf("%d.%d", major, minor)
	g.Minor, err = device.MinorNumber()
	errs = append(errs, err)
	g.MemoryBytes, err = device.MemoryBytes()
	errs = append(errs, err)
	g.AddressingMode, err = device.AddressingMode()
	errs = append(errs, unlessNotSupported(err))
	g.ModuleID, err = device.ModuleID()
	errs = append(errs, unlessNotSupported(err))
	fabric, err := device.Fabric()
	errs = append(errs, unlessNotSupported(err))
	if err == nil {
		g.Fabric = &fabric
	}
	return errors.Join(errs...)
}

// unlessNotSupported is nil for what a GPU need not have.
func unlessNotSupported(err error) error {
	if errors.Is(err, ErrGPUNotSupported) {
		return nil
	}
	return err
}

func readVGPU(device GPUDevice) (*VGPU, error) {
	types, err := device.SupportedVGPUTypes()
	if err != nil {
		return nil, unlessNotSupported(err)
	}
	mixed, err := device.MixedSizeVGPUs()
	if unlessNotSupported(err) != nil {
		return nil, err
	}
	types = slices.Clone(types)
	slices.SortFunc(types, func(a, b VGPUType) int { return a.ID - b.ID })
	return &VGPU{MixedSize: mixed, Types: types}, nil
}
