package gpulib_test

import (
	"errors"
	"testing"
	"time"

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
	registered     map[string]hardware.GPUEventType
	events         chan hardware.GPUEvent
}

func (b *changing) Node() (*hardware.Node, error) { return b.node, nil }

func (b *changing) Events(registered map[string]hardware.GPUEventType, _ <-chan struct{}) <-chan hardware.GPUEvent {
	b.registered = registered
	return b.events
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

func TestEventsOfABackendReachTheirSet(t *testing.T) {
	clock := newManualClock()
	backend := &changing{node: nodeWithMIG(t), events: make(chan hardware.GPUEvent)}
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
	if err := gpu.RegisterEvents(1<<40, set); !errors.Is(err, hardware.ErrGPUNotSupported) {
		t.Errorf("an event that there is not: %v", err)
	}
	if err := gpu.RegisterEvents(hardware.EventXidCritical, nil); !errors.Is(err, hardware.ErrGPUInvalidArgument) {
		t.Errorf("no event set: %v", err)
	}
	result := waitFor(t, set, clock, time.Hour)
	backend.events <- hardware.GPUEvent{Device: "GPU-1", Type: hardware.EventXidCritical, Data: 79}
	if err := <-result; err != nil {
		t.Errorf("wait: %v", err)
	}
	if got := backend.registered["GPU-1"]; got != hardware.EventXidCritical|hardware.EventDoubleBitECC {
		t.Errorf("registered are %#x", uint64(got))
	}
}
