package gpulib_test

import (
	"errors"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/dray-dev/dray/hwsim/gpulib"
	"github.com/dray-dev/dray/kubeletplugin/hardware"
)

// manualClock lets time pass when the test says so.
type manualClock struct {
	asked chan time.Duration
	tick  chan time.Time
}

func newManualClock() *manualClock {
	return &manualClock{make(chan time.Duration), make(chan time.Time)}
}

func (c *manualClock) After(d time.Duration) <-chan time.Time {
	c.asked <- d
	return c.tick
}

// changing is a backend whose node is replaced, and that has events.
type changing struct {
	gpulib.Backend // a change would panic
	node           *hardware.Node
	lost           bool

	mu      sync.Mutex
	events  []gpulib.Event
	changed chan struct{}
}

func (b *changing) Node() (*hardware.Node, error) { return b.node, nil }

func (b *changing) Fault(hardware.PCIAddress) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.lost {
		return hardware.ErrGPULost
	}
	return nil
}

func (b *changing) LastEvent() (uint64, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return uint64(len(b.events)), nil
}

func (b *changing) NextEvent(registered gpulib.Registrations) (event gpulib.Event, ok bool, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	i := slices.IndexFunc(b.events, registered.Want)
	if i < 0 {
		return gpulib.Event{}, false, nil
	}
	return b.events[i], true, nil
}

func (b *changing) Changed(<-chan struct{}) <-chan struct{} {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.changed == nil {
		b.changed = make(chan struct{})
	}
	return b.changed
}

// change makes events happen, or loses the GPU.
func (b *changing) change(lost bool, events ...hardware.GPUEvent) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.lost = lost
	for _, event := range events {
		b.events = append(b.events, gpulib.Event{Number: uint64(len(b.events) + 1), GPUEvent: event})
	}
	if b.changed != nil {
		close(b.changed)
	}
	b.changed = nil
}

func TestHandlesSeeTheNodeAsItIs(t *testing.T) {
	backend := &changing{node: nodeWithMIG(t)}
	library := gpulib.NewLibrary(backend, gpulib.SystemClock{})
	if err := library.Init(); err != nil {
		t.Fatal(err)
	}
	gpu := get[hardware.GPUDevice](t)(library.DeviceByIndex(0))
	instance := get[hardware.GPUInstance](t)(gpu.GPUInstanceByID(2))
	compute := get[hardware.ComputeInstance](t)(instance.ComputeInstanceByID(0))
	device := get[hardware.GPUDevice](t)(gpu.MIGDeviceByIndex(0))

	changed := backend.node.Clone()
	changed.GPUs[0].MIG.Instances = nil
	backend.node = changed
	for call, ask := range map[string]func() error{
		"instance":         func() error { _, err := instance.Info(); return err },
		"destroy":          instance.Destroy,
		"compute instance": func() error { _, err := compute.Info(); return err },
		"MIG device":       func() error { _, err := device.UUID(); return err },
		"its memory":       func() error { _, err := device.MemoryBytes(); return err },
	} {
		if err := ask(); !errors.Is(err, hardware.ErrGPUNotFound) {
			t.Errorf("%s of what has been destroyed: %v", call, err)
		}
	}

	changed = changed.Clone()
	changed.GPUs = nil
	backend.node = changed
	if _, err := gpu.UUID(); !errors.Is(err, hardware.ErrGPUNotFound) {
		t.Errorf("a GPU that is gone: %v", err)
	}
	changed = changed.Clone()
	changed.GPUDriver = nil
	backend.node = changed
	if _, err := library.DeviceCount(); !errors.Is(err, hardware.ErrGPUDriverNotLoaded) {
		t.Errorf("a driver that is gone: %v", err)
	}
}

// waitFor starts a Wait and returns once it asks the clock.
func waitFor(t *testing.T, set hardware.GPUEventSet, clock *manualClock, timeout time.Duration) <-chan error {
	t.Helper()
	result := make(chan error, 1)
	go func() {
		_, err := set.Wait(timeout)
		result <- err
	}()
	if asked := <-clock.asked; asked != timeout {
		t.Fatalf("the clock is asked for %s, not %s", asked, timeout)
	}
	return result
}

func TestWaitEndsWithItsTimeoutByTheClockThatItIsGiven(t *testing.T) {
	clock := newManualClock()
	library := gpulib.NewReadOnly(nodeWithMIG(t), clock)
	if err := library.Init(); err != nil {
		t.Fatal(err)
	}
	set := get[hardware.GPUEventSet](t)(library.NewEventSet())
	result := waitFor(t, set, clock, time.Hour)
	select {
	case err := <-result:
		t.Fatalf("wait ended before its time: %v", err)
	default:
	}
	clock.tick <- time.Time{}
	if err := <-result; !errors.Is(err, hardware.ErrGPUTimeout) {
		t.Errorf("wait: %v", err)
	}
}

func TestFreeEndsAWait(t *testing.T) {
	clock := newManualClock()
	library := gpulib.NewReadOnly(nodeWithMIG(t), clock)
	if err := library.Init(); err != nil {
		t.Fatal(err)
	}
	set := get[hardware.GPUEventSet](t)(library.NewEventSet())
	result := waitFor(t, set, clock, time.Hour)
	if err := set.Free(); err != nil {
		t.Fatal(err)
	}
	gpu := get[hardware.GPUDevice](t)(library.DeviceByIndex(0))
	for call, err := range map[string]error{
		"wait": <-result, "free": set.Free(), "register": gpu.RegisterEvents(hardware.EventXidCritical, set),
	} {
		if !errors.Is(err, hardware.ErrGPUInvalidArgument) {
			t.Errorf("%s of a freed set: %v", call, err)
		}
	}
}

// waiting is a set in which the GPU is registered for XIDs and double-bit errors.
func waiting(t *testing.T, backend *changing, clock gpulib.Clock) (hardware.GPUDevice, hardware.GPUEventSet) {
	t.Helper()
	library := gpulib.NewLibrary(backend, clock)
	if err := library.Init(); err != nil {
		t.Fatal(err)
	}
	set := get[hardware.GPUEventSet](t)(library.NewEventSet())
	gpu := get[hardware.GPUDevice](t)(library.DeviceByIndex(0))
	for _, types := range []hardware.GPUEventType{hardware.EventXidCritical, hardware.EventDoubleBitECC} {
		if err := gpu.RegisterEvents(types, set); err != nil {
			t.Fatal(err)
		}
	}
	return gpu, set
}

func TestEventsOfABackendReachTheirSet(t *testing.T) {
	clock := newManualClock()
	backend := &changing{node: nodeWithMIG(t)}
	early := hardware.GPUEvent{Device: "GPU-1", Type: hardware.EventXidCritical, Data: 1}
	backend.change(false, early)
	gpu, set := waiting(t, backend, clock)
	if err := gpu.RegisterEvents(1<<40, set); !errors.Is(err, hardware.ErrGPUNotSupported) {
		t.Errorf("an event that there is not: %v", err)
	}
	if err := gpu.RegisterEvents(hardware.EventXidCritical, nil); !errors.Is(err, hardware.ErrGPUInvalidArgument) {
		t.Errorf("no event set: %v", err)
	}
	first := hardware.GPUEvent{Device: "GPU-1", Type: hardware.EventXidCritical, Data: 79}
	second := hardware.GPUEvent{Device: "GPU-1", Type: hardware.EventDoubleBitECC}
	result := make(chan hardware.GPUEvent)
	go func() {
		for range 2 {
			event, err := set.Wait(time.Hour)
			if err != nil {
				t.Error(err)
			}
			result <- event
		}
	}()
	<-clock.asked
	backend.change(false)
	backend.change(false, hardware.GPUEvent{Device: "GPU-1", Type: hardware.EventSingleBitECC},
		hardware.GPUEvent{Device: "GPU-2", Type: hardware.EventXidCritical}, first, second)
	got := []hardware.GPUEvent{<-result}
	<-clock.asked // no time passes for what is there already
	got = append(got, <-result)
	if diff := cmp.Diff([]hardware.GPUEvent{first, second}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestALostGPUAnswersNothingAfterItsEvents(t *testing.T) {
	backend := &changing{node: nodeWithMIG(t)}
	gpu, set := waiting(t, backend, noTime{})
	xid := hardware.GPUEvent{Device: "GPU-1", Type: hardware.EventXidCritical, Data: 79}
	backend.change(true, xid)
	if event, err := set.Wait(time.Hour); err != nil || event != xid {
		t.Errorf("the event before it was lost: %v, %v", event, err)
	}
	library := gpulib.NewLibrary(backend, gpulib.SystemClock{})
	if err := library.Init(); err != nil {
		t.Fatal(err)
	}
	if count := get[int](t)(library.DeviceCount()); count != 1 {
		t.Errorf("there are %d GPUs", count)
	}
	for call, ask := range map[string]func() error{
		"wait":              func() error { _, err := set.Wait(time.Hour); return err },
		"UUID":              func() error { _, err := gpu.UUID(); return err },
		"set MIG mode":      func() error { return gpu.SetMIGMode(true) },
		"create":            func() error { _, err := gpu.CreateGPUInstance(19); return err },
		"register":          func() error { return gpu.RegisterEvents(hardware.EventXidCritical, set) },
		"device by index":   func() error { _, err := library.DeviceByIndex(0); return err },
		"device by UUID":    func() error { _, err := library.DeviceByUUID("GPU-1"); return err },
		"MIG device":        func() error { _, err := library.DeviceByUUID("MIG-a"); return err },
		"device by address": func() error { _, err := library.DeviceByPCIAddress(address(t, gpuAddress)); return err },
	} {
		if err := ask(); !errors.Is(err, hardware.ErrGPULost) {
			t.Errorf("%s: %v", call, err)
		}
	}
}

// noTime is a clock on which nothing is ever late.
type noTime struct{}

func (noTime) After(time.Duration) <-chan time.Time { return nil }
