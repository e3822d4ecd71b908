//go:build cgo && linux

package nvml

import (
	"errors"
	"fmt"
	"math"
	"sync"
	"time"

	"github.com/NVIDIA/go-nvml/pkg/nvml"

	"github.com/dray-dev/dray/kubeletplugin/hardware"
)

// New returns the library at a path, or where the system has it if that is empty. It
// is loaded by Init.
func New(path string) hardware.GPULibrary {
	l := adapt(nvml.New())
	if path != "" {
		l = adapt(nvml.New(nvml.WithLibraryPath(path)))
	}
	l.try = func() error { return try(path) }
	return l
}

func adapt(n nvml.Interface) *library { return &library{nvml: n, profileName: profileName} }

type library struct {
	nvml nvml.Interface
	// profileName is the one call that no other implementation of go-nvml's interface
	// can answer.
	profileName func(device nvml.Device, kind int) (string, nvml.Return)
	// try comes before the first use of the library, if it is set.
	try func() error

	mu sync.Mutex
	// isUsed says that the library was called, and will not be unloaded.
	isUsed bool
}

// has fails with ErrGPUNotSupported if the library is older than a function. It comes
// before each call of a function that not all libraries have: the linker finds a
// function when it is called, and ends the process if it is not there.
func (l *library) has(function string) error {
	if err := l.nvml.Extensions().LookupSymbol(function); err != nil {
		return fmt.Errorf("%s: NVIDIA's driver is too old for it: %w", function, hardware.ErrGPUNotSupported)
	}
	return nil
}

var _ hardware.GPULibrary = (*library)(nil)

// returns are the library's codes as errors; all others are ErrGPUUnknown.
var returns = map[nvml.Return]error{
	nvml.ERROR_UNINITIALIZED:           hardware.ErrGPUUninitialized,
	nvml.ERROR_INVALID_ARGUMENT:        hardware.ErrGPUInvalidArgument,
	nvml.ERROR_NOT_SUPPORTED:           hardware.ErrGPUNotSupported,
	nvml.ERROR_FUNCTION_NOT_FOUND:      hardware.ErrGPUNotSupported,
	nvml.ERROR_NO_PERMISSION:           hardware.ErrGPUNoPermission,
	nvml.ERROR_NOT_FOUND:               hardware.ErrGPUNotFound,
	nvml.ERROR_DRIVER_NOT_LOADED:       hardware.ErrGPUDriverNotLoaded,
	nvml.ERROR_TIMEOUT:                 hardware.ErrGPUTimeout,
	nvml.ERROR_LIBRARY_NOT_FOUND:       hardware.ErrGPULibraryNotFound,
	nvml.ERROR_LIB_RM_VERSION_MISMATCH: hardware.ErrGPULibraryMismatch,
	nvml.ERROR_GPU_IS_LOST:             hardware.ErrGPULost,
	nvml.ERROR_RESET_REQUIRED:          hardware.ErrGPUResetRequired,
	nvml.ERROR_IN_USE:                  hardware.ErrGPUInUse,
	nvml.ERROR_INSUFFICIENT_RESOURCES:  hardware.ErrGPUInsufficientResources,
}

// failed is a call's error, or nil.
func failed(call string, code nvml.Return) error {
	if code == nvml.SUCCESS {
		return nil
	}
	if err, ok := returns[code]; ok {
		return fmt.Errorf("%s: %w", call, err)
	}
	return fmt.Errorf("%s: NVML code %d: %w", call, int32(code), hardware.ErrGPUUnknown)
}

// Init implements hardware.GPULibrary. It fails with ErrGPULibraryMismatch while the
// library does not fit the driver and can be replaced, and with ErrGPULibraryStale where
// that needs another process.
func (l *library) Init() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.isUsed && l.try != nil {
		if err := l.try(); err != nil {
			return err
		}
	}
	code := l.nvml.Init()
	err := failed("nvmlInit", code)
	if errors.Is(err, hardware.ErrGPULibraryMismatch) {
		return fmt.Errorf("%w: %w", hardware.ErrGPULibraryStale, err)
	}
	l.isUsed = l.isUsed || code != nvml.ERROR_LIBRARY_NOT_FOUND
	return err
}

func (l *library) Shutdown() error { return failed("nvmlShutdown", l.nvml.Shutdown()) }

func (l *library) DriverVersion() (string, error) {
	version, code := l.nvml.SystemGetDriverVersion()
	return version, failed("driver version", code)
}

func (l *library) CUDADriverVersion() (int, error) {
	version, code := l.nvml.SystemGetCudaDriverVersion_v2()
	return version, failed("CUDA driver version", code)
}

func (l *library) DeviceCount() (int, error) {
	count, code := l.nvml.DeviceGetCount()
	return count, failed("device count", code)
}

func (l *library) device(call string, handle nvml.Device, code nvml.Return) (hardware.GPUDevice, error) {
	if err := failed(call, code); err != nil {
		return nil, err
	}
	return &device{handle, l}, nil
}

func (l *library) DeviceByIndex(index int) (hardware.GPUDevice, error) {
	handle, code := l.nvml.DeviceGetHandleByIndex(index)
	return l.device("device by index", handle, code)
}

func (l *library) DeviceByUUID(uuid string) (hardware.GPUDevice, error) {
	handle, code := l.nvml.DeviceGetHandleByUUID(uuid)
	return l.device("device by UUID", handle, code)
}

func (l *library) DeviceByPCIAddress(address hardware.PCIAddress) (hardware.GPUDevice, error) {
	handle, code := l.nvml.DeviceGetHandleByPciBusId(address.String())
	return l.device("device by PCI address", handle, code)
}

func (l *library) NewEventSet() (hardware.GPUEventSet, error) {
	set, code := l.nvml.EventSetCreate()
	if err := failed("event set", code); err != nil {
		return nil, err
	}
	return &eventSet{EventSet: set, uuids: map[nvml.Device]string{}}, nil
}

type eventSet struct {
	nvml.EventSet
	mu sync.Mutex
	// uuids of the devices that are registered. One that has fallen off the bus does not
	// tell it any more, and has an event to tell.
	uuids map[nvml.Device]string
}

// Wait implements hardware.GPUEventSet. An event is never dropped: that of a device which
// nobody knows has none.
func (s *eventSet) Wait(timeout time.Duration) (hardware.GPUEvent, error) {
	data, code := s.EventSet.Wait(uint32(min(max(timeout.Milliseconds(), 0), math.MaxInt32)))
	if err := failed("wait for an event", code); err != nil {
		return hardware.GPUEvent{}, err
	}
	return hardware.GPUEvent{Device: s.uuid(data.Device), Type: hardware.GPUEventType(data.EventType), Data: data.EventData,
		GPUInstance: where(data.GpuInstanceId), ComputeInstance: where(data.ComputeInstanceId)}, nil
}

func (s *eventSet) uuid(device nvml.Device) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if uuid, ok := s.uuids[device]; ok {
		return uuid
	}
	uuid, code := device.GetUUID()
	if code != nvml.SUCCESS {
		return ""
	}
	return uuid
}

// where is an instance's ID, or -1 for the whole GPU.
func where(id uint32) int {
	if id > 0xFFFF {
		return -1
	}
	return int(id)
}

func (s *eventSet) Free() error { return failed("free an event set", s.EventSet.Free()) }

// errOther is the answer about a handle of another library.
var errOther = errors.New("it is of another library")
