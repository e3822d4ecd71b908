package gpulib

import (
	"fmt"
	"sync"
	"time"

	"github.com/dray-dev/dray/kubeletplugin/hardware"
)

// Clock tells when a time has passed.
type Clock interface {
	// After returns a channel that receives once, after d.
	After(d time.Duration) <-chan time.Time
}

// SystemClock is the clock of the machine that the program runs on.
type SystemClock struct{}

// After is time.After.
func (SystemClock) After(d time.Duration) <-chan time.Time { return time.After(d) }

// Now is time.Now.
func (SystemClock) Now() time.Time { return time.Now() }

// New returns a library over a node that can only be read. The node is valid and
// must not change afterwards.
func New(node *hardware.Node) hardware.GPULibrary {
	return NewLibrary(readOnly{node}, SystemClock{})
}

// NewReadOnly is New with another clock for Wait.
func NewReadOnly(node *hardware.Node, clock Clock) *Library {
	return NewLibrary(readOnly{node}, clock)
}

// NewLibrary returns a library over a backend.
func NewLibrary(backend Backend, clock Clock) *Library {
	return &Library{backend: backend, clock: clock}
}

// Library implements hardware.GPULibrary. Like NVML, it answers nothing before
// Init, and counts Inits.
type Library struct {
	backend Backend
	clock   Clock

	mu    sync.Mutex
	inits int
}

var _ hardware.GPULibrary = (*Library)(nil)

// Init fails with ErrGPULibraryNotFound on a machine that has no GPU driver.
func (l *Library) Init() error {
	node, err := l.backend.Node()
	if err != nil {
		return fmt.Errorf("init: %w", err)
	}
	if node.GPUDriver == nil {
		return fmt.Errorf("init: the machine has no NVIDIA driver: %w", hardware.ErrGPULibraryNotFound)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.inits++
	return nil
}

// Shutdown ends one Init.
func (l *Library) Shutdown() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.inits == 0 {
		return fmt.Errorf("shutdown: %w", hardware.ErrGPUUninitialized)
	}
	l.inits--
	return nil
}

// node is the machine now, for a call.
func (l *Library) node(call string) (*hardware.Node, error) {
	l.mu.Lock()
	started := l.inits > 0
	l.mu.Unlock()
	if !started {
		return nil, fmt.Errorf("%s: %w", call, hardware.ErrGPUUninitialized)
	}
	node, err := l.backend.Node()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", call, err)
	}
	if node.GPUDriver == nil {
		return nil, fmt.Errorf("%s: %w", call, hardware.ErrGPUDriverNotLoaded)
	}
	return node, nil
}

// DriverVersion is the node's.
func (l *Library) DriverVersion() (string, error) {
	node, err := l.node("driver version")
	if err != nil {
		return "", err
	}
	return node.GPUDriver.Version, nil
}

// CUDADriverVersion is the node's.
func (l *Library) CUDADriverVersion() (int, error) {
	node, err := l.node("CUDA driver version")
	if err != nil {
		return 0, err
	}
	return node.GPUDriver.CUDAVersion, nil
}

// DeviceCount counts the node's GPUs, with those that are lost.
func (l *Library) DeviceCount() (int, error) {
	node, err := l.node("device count")
	if err != nil {
		return 0, err
	}
	return len(node.GPUs), nil
}

// DeviceByIndex counts in the order of the node's list.
func (l *Library) DeviceByIndex(index int) (hardware.GPUDevice, error) {
	node, err := l.node("device by index")
	if err != nil {
		return nil, err
	}
	if index < 0 || index >= len(node.GPUs) {
		return nil, fmt.Errorf("device by index %d of %d: %w", index, len(node.GPUs), hardware.ErrGPUInvalidArgument)
	}
	device := &gpuDevice{l, node.GPUs[index].Address}
	if _, err := device.gpu("device by index"); err != nil {
		return nil, err
	}
	return device, nil
}

// DeviceByUUID finds GPUs and MIG devices.
func (l *Library) DeviceByUUID(uuid string) (hardware.GPUDevice, error) {
	const call = "device by UUID"
	node, err := l.node(call)
	if err != nil {
		return nil, err
	}
	for i := range node.GPUs {
		gpu := &node.GPUs[i]
		var found hardware.GPUDevice
		if gpu.UUID == uuid {
			found = &gpuDevice{l, gpu.Address}
		}
		for _, d := range migDevices(gpu) {
			if d.compute.UUID == uuid {
				found = &migDevice{l, gpu.Address, d.instance.ID, d.compute.ID}
			}
		}
		if found == nil {
			continue
		}
		if _, err := (&gpuDevice{l, gpu.Address}).gpu(call); err != nil {
			return nil, err
		}
		return found, nil
	}
	return nil, fmt.Errorf("%s %q: %w", call, uuid, hardware.ErrGPUNotFound)
}

// DeviceByPCIAddress finds GPUs.
func (l *Library) DeviceByPCIAddress(address hardware.PCIAddress) (hardware.GPUDevice, error) {
	device := &gpuDevice{l, address}
	if _, err := device.gpu("device by PCI address"); err != nil {
		return nil, err
	}
	return device, nil
}
