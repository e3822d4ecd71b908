//go:build cgo && linux

package nvml

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/NVIDIA/go-nvml/pkg/nvml"
	"github.com/NVIDIA/go-nvml/pkg/nvml/mock"
	"github.com/NVIDIA/go-nvml/pkg/nvml/mock/gpus"
	"github.com/NVIDIA/go-nvml/pkg/nvml/mock/server"
	"github.com/google/go-cmp/cmp"

	"github.com/dray-dev/dray/kubeletplugin/hardware"
)

// newServer is go-nvml's mock of two H100, and the adapter over it. Whatever the mock
// was not told panics, as every call that is not there must not be made.
func newServer(t *testing.T) (*server.Server, *library) {
	t.Helper()
	s := server.NewServerWithGPUs("580.126.20", "13.580.126.20", 13000, gpus.H100_SXM5_80GB, gpus.H100_SXM5_80GB)
	s.SystemGetCudaDriverVersion_v2Func = func() (int, nvml.Return) { return s.CudaDriverVersion, nvml.SUCCESS }
	l := adapt(s)
	l.profileName = func(_ nvml.Device, kind int) (string, nvml.Return) {
		return fmt.Sprintf("MIG kind %d", kind), nvml.SUCCESS
	}
	if err := l.Init(); err != nil {
		t.Fatal(err)
	}
	return s, l
}

func gpu(t *testing.T, s *server.Server, l *library, index int) (*server.Device, hardware.GPUDevice) {
	t.Helper()
	handle, err := l.DeviceByIndex(index)
	if err != nil {
		t.Fatal(err)
	}
	return s.Devices[index].(*server.Device), handle
}

func must[T any](t *testing.T) func(value T, err error) T {
	return func(value T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return value
	}
}

func TestAGPUIsDescribedAsTheLibraryDescribesIt(t *testing.T) {
	s, l := newServer(t)
	mocked, device := gpu(t, s, l, 1)
	mocked.GetPciInfoFunc = func() (nvml.PciInfo, nvml.Return) {
		return nvml.PciInfo{Domain: 0x10, Bus: 0xc1, Device: 2}, nvml.SUCCESS
	}
	mocked.GetModuleIdFunc = func() (int, nvml.Return) { return 3, nvml.SUCCESS }
	mocked.GetAddressingModeFunc = func() (nvml.DeviceAddressingMode, nvml.Return) {
		return nvml.DeviceAddressingMode{Value: uint32(nvml.DEVICE_ADDRESSING_MODE_HMM)}, nvml.SUCCESS
	}
	mocked.GetCurrentClocksEventReasonsFunc = func() (uint64, nvml.Return) {
		return nvml.ClocksThrottleReasonHwThermalSlowdown, nvml.SUCCESS
	}
	mocked.GetFieldValuesFunc = func(values []nvml.FieldValue) nvml.Return {
		values[0].Value[0] = byte(hardware.RecoveryDrainP2P)
		return nvml.SUCCESS
	}
	got := []any{
		must[string](t)(l.DriverVersion()), must[int](t)(l.CUDADriverVersion()), must[int](t)(l.DeviceCount()),
		must[string](t)(device.UUID()) == mocked.UUID, must[string](t)(device.Name()), must[string](t)(device.Brand()),
		must[string](t)(device.Architecture()), must[int](t)(device.MinorNumber()), must[uint64](t)(device.MemoryBytes()),
		must[hardware.PCIAddress](t)(device.PCIAddress()).String(), must[int](t)(device.ModuleID()), must[string](t)(device.AddressingMode()),
		must[bool](t)(device.ThermalSlowdown()), must[hardware.GPURecoveryAction](t)(device.RecoveryAction()),
	}
	want := []any{"580.126.20", 13000, 2, true, "NVIDIA H100 80GB HBM3", "Nvidia", "Hopper", 1, uint64(80 << 30), "0010:c1:02.0", 3, "HMM",
		true, hardware.RecoveryDrainP2P}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if major, minor, err := device.ComputeCapability(); err != nil || major != 9 || minor != 0 {
		t.Errorf("compute capability %d.%d, %v", major, minor, err)
	}
}

func TestEachCodeIsTheErrorThatItMeans(t *testing.T) {
	s, l := newServer(t)
	mocked, device := gpu(t, s, l, 0)
	for code, want := range map[nvml.Return]error{
		nvml.ERROR_GPU_IS_LOST: hardware.ErrGPULost, nvml.ERROR_NOT_FOUND: hardware.ErrGPUNotFound, nvml.ERROR_IN_USE: hardware.ErrGPUInUse,
		nvml.ERROR_INSUFFICIENT_RESOURCES: hardware.ErrGPUInsufficientResources, nvml.ERROR_NOT_SUPPORTED: hardware.ErrGPUNotSupported,
		nvml.ERROR_FUNCTION_NOT_FOUND: hardware.ErrGPUNotSupported, nvml.ERROR_NO_PERMISSION: hardware.ErrGPUNoPermission,
		nvml.ERROR_RESET_REQUIRED: hardware.ErrGPUResetRequired, nvml.ERROR_CORRUPTED_INFOROM: hardware.ErrGPUUnknown,
	} {
		mocked.GetNameFunc = func() (string, nvml.Return) { return "", code }
		if _, err := device.Name(); !errors.Is(err, want) {
			t.Errorf("code %d: %v is not %v", int(code), err, want)
		}
	}
	for code, want := range map[nvml.Return]error{
		nvml.ERROR_LIBRARY_NOT_FOUND: hardware.ErrGPULibraryNotFound, nvml.ERROR_DRIVER_NOT_LOADED: hardware.ErrGPUDriverNotLoaded,
	} {
		s.InitFunc = func() nvml.Return { return code }
		if err := l.Init(); !errors.Is(err, want) {
			t.Errorf("init with code %d: %v is not %v", int(code), err, want)
		}
	}
}

// TestAnOlderLibraryIsNotAskedForWhatItLacks: such a call would end the process. The
// mock panics instead.
func TestAnOlderLibraryIsNotAskedForWhatItLacks(t *testing.T) {
	s, l := newServer(t)
	s.LookupSymbolFunc = func(symbol string) error { return errors.New("undefined symbol: " + symbol) }
	_, device := gpu(t, s, l, 0)
	for name, call := range map[string]func() error{
		"addressing mode":   func() error { _, err := device.AddressingMode(); return err },
		"module":            func() error { _, err := device.ModuleID(); return err },
		"fabric":            func() error { _, err := device.Fabric(); return err },
		"thermal slowdown":  func() error { _, err := device.ThermalSlowdown(); return err },
		"MIG mode":          func() error { _, _, err := device.MIGMode(); return err },
		"profiles":          func() error { _, err := device.GPUInstanceProfile(0); return err },
		"vGPU types":        func() error { _, err := device.SupportedVGPUTypes(); return err },
		"mixed sizes":       func() error { _, err := device.MixedSizeVGPUs(); return err },
		"change mixed size": func() error { return device.SetMixedSizeVGPUs(true) },
	} {
		if err := call(); !errors.Is(err, hardware.ErrGPUNotSupported) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestAnOlderLibraryDoesNotKnowTheRecoveryAction, which is a field and no function: it
// says so for the field alone.
func TestAnOlderLibraryDoesNotKnowTheRecoveryAction(t *testing.T) {
	s, l := newServer(t)
	mocked, device := gpu(t, s, l, 0)
	for code, want := range map[nvml.Return]error{nvml.ERROR_INVALID_ARGUMENT: hardware.ErrGPUNotSupported,
		nvml.ERROR_NOT_SUPPORTED: hardware.ErrGPUNotSupported, nvml.ERROR_GPU_IS_LOST: hardware.ErrGPULost} {
		mocked.GetFieldValuesFunc = func(values []nvml.FieldValue) nvml.Return {
			values[0].NvmlReturn = uint32(code)
			return nvml.SUCCESS
		}
		if _, err := device.RecoveryAction(); !errors.Is(err, want) {
			t.Errorf("code %d: %v is not %v", int(code), err, want)
		}
	}
}

// TestAProfileOfNoInstancesHasNone: go-nvml panics when it is asked for them, as the
// mock does here.
func TestAProfileOfNoInstancesHasNone(t *testing.T) {
	s, l := newServer(t)
	mocked, device := gpu(t, s, l, 0)
	mocked.GetGpuInstanceProfileInfoFunc = func(kind int) (nvml.GpuInstanceProfileInfo, nvml.Return) {
		return nvml.GpuInstanceProfileInfo{Id: uint32(kind)}, nvml.SUCCESS
	}
	mocked.GetGpuInstancesFunc = nil
	if instances, err := device.GPUInstances(int(hardware.GPUInstance2Slice)); err != nil || len(instances) != 0 {
		t.Errorf("GPU instances %v, %v", instances, err)
	}
	within := &instance{&mock.GpuInstance{GetComputeInstanceProfileInfoFunc: func(kind, _ int) (nvml.ComputeInstanceProfileInfo, nvml.Return) {
		return nvml.ComputeInstanceProfileInfo{Id: uint32(kind)}, nvml.SUCCESS
	}}}
	if instances, err := within.ComputeInstances(int(hardware.ComputeInstance2Slice)); err != nil || len(instances) != 0 {
		t.Errorf("compute instances %v, %v", instances, err)
	}
}

func TestAModeThatCannotBeSwitchedNowIsNotLeftPending(t *testing.T) {
	s, l := newServer(t)
	mocked, device := gpu(t, s, l, 0)
	var asked []int
	mocked.SetMigModeFunc = func(mode int) (nvml.Return, nvml.Return) {
		asked = append(asked, mode)
		if mode == nvml.DEVICE_MIG_ENABLE {
			return nvml.ERROR_IN_USE, nvml.SUCCESS
		}
		return nvml.SUCCESS, nvml.SUCCESS
	}
	if err := device.SetMIGMode(true); !errors.Is(err, hardware.ErrGPUInUse) {
		t.Errorf("while it is in use: %v", err)
	}
	if diff := cmp.Diff([]int{nvml.DEVICE_MIG_ENABLE, nvml.DEVICE_MIG_DISABLE}, asked); diff != "" {
		t.Error(diff)
	}
	mocked.SetMigModeFunc = func(int) (nvml.Return, nvml.Return) { return nvml.ERROR_RESET_REQUIRED, nvml.SUCCESS }
	if err := device.SetMIGMode(true); err != nil {
		t.Errorf("a mode that is pending: %v", err)
	}
	mocked.SetMigModeFunc = func(int) (nvml.Return, nvml.Return) { return nvml.SUCCESS, nvml.ERROR_NO_PERMISSION }
	if err := device.SetMIGMode(true); !errors.Is(err, hardware.ErrGPUNoPermission) {
		t.Errorf("without permission: %v", err)
	}
}

// asMIGDevices lets a GPU's compute instances be MIG devices, as NVML counts them.
func asMIGDevices(mocked *server.Device) {
	mocked.GetMaxMigDeviceCountFunc = func() (int, nvml.Return) { return 7, nvml.SUCCESS }
	mocked.GetMigDeviceHandleByIndexFunc = func(index int) (nvml.Device, nvml.Return) {
		mocked.RLock()
		defer mocked.RUnlock()
		for gi := range mocked.GpuInstances {
			for ci := range gi.ComputeInstances {
				if int(gi.Info.Id) != index {
					continue
				}
				return &mock.Device{
					GetGpuInstanceIdFunc:     func() (int, nvml.Return) { return int(gi.Info.Id), nvml.SUCCESS },
					GetComputeInstanceIdFunc: func() (int, nvml.Return) { return int(ci.Info.Id), nvml.SUCCESS },
					GetUUIDFunc:              func() (string, nvml.Return) { return fmt.Sprintf("MIG-%d", gi.Info.Id), nvml.SUCCESS },
				}, nvml.SUCCESS
			}
		}
		return nil, nvml.ERROR_NOT_FOUND
	}
	mocked.GetGpuInstanceByIdFunc = func(id int) (nvml.GpuInstance, nvml.Return) {
		mocked.RLock()
		defer mocked.RUnlock()
		for gi := range mocked.GpuInstances {
			if int(gi.Info.Id) == id {
				return gi, nvml.SUCCESS
			}
		}
		return nil, nvml.ERROR_NOT_FOUND
	}
}

func TestAPartitionIsMadeWhereItIsWantedAndDestroyed(t *testing.T) {
	s, l := newServer(t)
	mocked, device := gpu(t, s, l, 0)
	asMIGDevices(mocked)
	if err := device.SetMIGMode(true); err != nil {
		t.Fatal(err)
	}
	if current, pending, err := device.MIGMode(); err != nil || !current || !pending {
		t.Fatalf("MIG mode is %v, %v, %v", current, pending, err)
	}
	profile := must[hardware.MIGProfile](t)(device.GPUInstanceProfile(hardware.GPUInstance2Slice))
	if profile.Name != "kind 1" || profile.ComputeSlices != 2 || profile.MaxInstances != 3 || profile.Resources.MemoryBytes != 20<<30 ||
		len(profile.Placements) != 3 || profile.Placements[1] != (hardware.Placement{Start: 2, Size: 2}) {
		t.Errorf("the profile is %+v", profile)
	}
	if _, err := device.GPUInstanceProfile(hardware.GPUInstance8Slice); !errors.Is(err, hardware.ErrGPUNotSupported) {
		t.Errorf("a profile that H100 has not: %v", err)
	}
	if _, err := device.CreateGPUInstanceAt(99, hardware.Placement{}); !errors.Is(err, hardware.ErrGPUInvalidArgument) {
		t.Errorf("an instance of no profile: %v", err)
	}
	instance := must[hardware.GPUInstance](t)(device.CreateGPUInstanceAt(profile.ID, profile.Placements[1]))
	state := must[hardware.GPUInstanceState](t)(instance.Info())
	if state.ProfileID != profile.ID || state.Placement != profile.Placements[1] {
		t.Errorf("the instance is %+v", state)
	}
	if all := must[[]hardware.GPUInstance](t)(device.GPUInstances(profile.ID)); len(all) != 1 {
		t.Errorf("there are %d instances", len(all))
	}
	whole := must[hardware.ComputeInstanceProfile](t)(instance.ComputeInstanceProfile(hardware.ComputeInstance2Slice))
	compute := must[hardware.ComputeInstance](t)(instance.CreateComputeInstance(whole.ID))
	if made := must[hardware.ComputeInstanceState](t)(compute.Info()); made.UUID != fmt.Sprintf("MIG-%d", state.ID) || made.ProfileID != whole.ID {
		t.Errorf("the compute instance is %+v", made)
	}
	if err := compute.Destroy(); err != nil {
		t.Fatal(err)
	}
	if again, err := device.GPUInstanceByID(state.ID); err != nil {
		t.Error(err)
	} else if err := again.Destroy(); err != nil {
		t.Error(err)
	}
	if _, err := device.GPUInstanceByID(state.ID); !errors.Is(err, hardware.ErrGPUNotFound) {
		t.Errorf("an instance that was destroyed: %v", err)
	}
}

func TestEventsNameTheGPUAndWhereInIt(t *testing.T) {
	s, l := newServer(t)
	mocked, device := gpu(t, s, l, 0)
	next, code := nvml.EventData{}, nvml.SUCCESS
	var waited uint32
	set := &mock.EventSet{
		WaitFunc: func(milliseconds uint32) (nvml.EventData, nvml.Return) { waited = milliseconds; return next, code },
		FreeFunc: func() nvml.Return { return nvml.SUCCESS },
	}
	s.EventSetCreateFunc = func() (nvml.EventSet, nvml.Return) { return set, nvml.SUCCESS }
	mocked.GetSupportedEventTypesFunc = func() (uint64, nvml.Return) { return nvml.EventTypeXidCriticalError, nvml.SUCCESS }
	var registered nvml.EventSet
	mocked.RegisterEventsFunc = func(types uint64, with nvml.EventSet) nvml.Return {
		registered = with
		return nvml.SUCCESS
	}
	events := must[hardware.GPUEventSet](t)(l.NewEventSet())
	if types := must[hardware.GPUEventType](t)(device.SupportedEvents()); types != hardware.EventXidCritical {
		t.Errorf("supported are %x", types)
	}
	if err := device.RegisterEvents(hardware.EventXidCritical, events); err != nil || registered != nvml.EventSet(set) {
		t.Errorf("registered with %v, %v", registered, err)
	}
	next = nvml.EventData{Device: mocked, EventType: nvml.EventTypeXidCriticalError, EventData: 79, GpuInstanceId: 0xFFFFFFFF, ComputeInstanceId: 2}
	event := must[hardware.GPUEvent](t)(events.Wait(1500 * time.Millisecond))
	want := hardware.GPUEvent{Device: mocked.UUID, Type: hardware.EventXidCritical, Data: 79, GPUInstance: -1, ComputeInstance: 2}
	if diff := cmp.Diff(want, event); diff != "" || waited != 1500 {
		t.Errorf("after %d ms: %s", waited, diff)
	}
	// It has fallen off the bus, and this is what it says last.
	mocked.GetUUIDFunc = func() (string, nvml.Return) { return "", nvml.ERROR_GPU_IS_LOST }
	if event, err := events.Wait(0); err != nil || event.Device != want.Device || event.Data != 79 {
		t.Errorf("the last event of a GPU: %+v, %v", event, err)
	}
	stranger := s.Devices[1].(*server.Device)
	stranger.GetUUIDFunc = mocked.GetUUIDFunc
	next.Device = stranger
	if event, err := events.Wait(0); err != nil || event.Device != "" || event.Data != 79 {
		t.Errorf("the last event of a GPU that nobody knows: %+v, %v", event, err)
	}
	code = nvml.ERROR_TIMEOUT
	if _, err := events.Wait(0); !errors.Is(err, hardware.ErrGPUTimeout) {
		t.Errorf("with nothing to tell: %v", err)
	}
	if err := device.RegisterEvents(hardware.EventXidCritical, nil); !errors.Is(err, hardware.ErrGPUInvalidArgument) {
		t.Errorf("another library's set: %v", err)
	}
	if err := events.Free(); err != nil {
		t.Error(err)
	}
}

// TestAMachineWithoutTheLibrarySaysSo loads for real.
func TestAMachineWithoutTheLibrarySaysSo(t *testing.T) {
	l := New("/nonexistent/libnvidia-ml.so.1")
	for range 2 {
		if err := l.Init(); !errors.Is(err, hardware.ErrGPULibraryNotFound) {
			t.Errorf("a library that is not there: %v", err)
		}
	}
}
