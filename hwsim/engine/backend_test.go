package engine_test

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/dray-dev/dray/hwsim/engine"
	"github.com/dray-dev/dray/hwsim/gpulib"
	"github.com/dray-dev/dray/hwsim/machine"
	"github.com/dray-dev/dray/kubeletplugin/hardware"
)

// steppedClock says when somebody waits, and lets time pass by hand.
type steppedClock struct {
	clock
	asked  chan time.Duration
	passed chan time.Time
}

func newSteppedClock() *steppedClock {
	return &steppedClock{*newClock(), make(chan time.Duration), make(chan time.Time)}
}

func (c *steppedClock) After(d time.Duration) <-chan time.Time {
	c.asked <- d
	return c.passed
}

// simulated is the library over a store in memory, and its first GPU.
func simulated(t *testing.T, name string, c engine.WaitingClock) (*engine.Memory, hardware.GPULibrary, hardware.GPUDevice) {
	t.Helper()
	m, err := machine.Load(name)
	if err != nil {
		t.Fatal(err)
	}
	node := m.Instantiate(machine.Identity{Name: "node-a", Seed: 1}).Nodes[0].Hardware
	store, err := engine.NewMemory(node, engine.New(node), c)
	if err != nil {
		t.Fatal(err)
	}
	library := gpulib.NewLibrary(engine.NewBackend(store, c), c)
	if err := library.Init(); err != nil {
		t.Fatal(err)
	}
	gpu, err := library.DeviceByIndex(0)
	if err != nil {
		t.Fatal(err)
	}
	return store, library, gpu
}

func TestDestroyingTakesItsSecondAndHoldsUpNobodyElse(t *testing.T) {
	c := newSteppedClock()
	_, _, gpu := simulated(t, "dgx-a100-40-mig", c)
	instance, err := gpu.CreateGPUInstance(9)
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan error)
	go func() { done <- instance.Destroy() }()
	if d := <-c.asked; d != time.Second {
		t.Errorf("it waits for %s", d)
	}
	if _, err := instance.Info(); err != nil {
		t.Errorf("while it is being destroyed: %v", err)
	}
	if _, err := gpu.CreateGPUInstanceAt(9, hardware.Placement{Start: 4, Size: 4}); !errors.Is(err, hardware.ErrGPUInsufficientResources) {
		t.Errorf("another in its place: %v", err)
	}
	if _, err := gpu.CreateGPUInstanceAt(9, hardware.Placement{Start: 0, Size: 4}); err != nil {
		t.Errorf("another beside it: %v", err)
	}
	c.now = c.now.Add(time.Second)
	c.passed <- c.now
	if err := <-done; err != nil {
		t.Error(err)
	}
	if _, err := instance.Info(); !errors.Is(err, hardware.ErrGPUNotFound) {
		t.Errorf("when it is gone: %v", err)
	}
}

func TestEverySetSeesAnEventOnce(t *testing.T) {
	c := newSteppedClock()
	store, library, gpu := simulated(t, "dgx-a100-40-mig", c)
	var sets [2]hardware.GPUEventSet
	for i := range sets {
		var err error
		if sets[i], err = library.NewEventSet(); err != nil {
			t.Fatal(err)
		}
		if err := gpu.RegisterEvents(hardware.EventXidCritical, sets[i]); err != nil {
			t.Fatal(err)
		}
	}
	address, err := gpu.PCIAddress()
	if err != nil {
		t.Fatal(err)
	}
	uuid, err := gpu.UUID()
	if err != nil {
		t.Fatal(err)
	}
	events := make(chan hardware.GPUEvent)
	wait := func(set hardware.GPUEventSet) {
		event, err := set.Wait(time.Minute)
		if err != nil {
			t.Error(err)
		}
		events <- event
	}
	go wait(sets[0])
	<-c.asked
	for _, xid := range []int{13, 31} {
		if err := store.Update(func(e *engine.Engine) error { return e.InjectXID(address, xid, engine.Everywhere) }); err != nil {
			t.Fatal(err)
		}
	}
	got := []hardware.GPUEvent{<-events}
	for _, set := range []hardware.GPUEventSet{sets[0], sets[1], sets[1]} {
		go wait(set)
		<-c.asked
		got = append(got, <-events)
	}
	event := func(xid uint64) hardware.GPUEvent {
		return hardware.GPUEvent{Device: uuid, Type: hardware.EventXidCritical, Data: xid, GPUInstance: -1, ComputeInstance: -1}
	}
	if diff := cmp.Diff([]hardware.GPUEvent{event(13), event(31), event(13), event(31)}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestAnUpdateThatFailsIsForgotten(t *testing.T) {
	store, _, gpu := simulated(t, "dgx-a100-40-mig", newSteppedClock())
	address, err := gpu.PCIAddress()
	if err != nil {
		t.Fatal(err)
	}
	failure := errors.New("second thoughts")
	err = store.Update(func(e *engine.Engine) error {
		if _, err := e.CreateGPUInstance(address, 9, nil); err != nil {
			t.Fatal(err)
		}
		return failure
	})
	if !errors.Is(err, failure) {
		t.Error(err)
	}
	if instances, err := gpu.GPUInstances(9); err != nil || len(instances) != 0 {
		t.Errorf("there are %d instances (%v)", len(instances), err)
	}
}

// Of more events than are kept the oldest are lost, and the numbers tell.
func TestEventsAreKeptUpToANumber(t *testing.T) {
	store, _, gpu := simulated(t, "l40s", newSteppedClock())
	address, err := gpu.PCIAddress()
	if err != nil {
		t.Fatal(err)
	}
	uuid, err := gpu.UUID()
	if err != nil {
		t.Fatal(err)
	}
	for xid := range 300 {
		if err := store.Update(func(e *engine.Engine) error { return e.InjectXID(address, 1000+xid, engine.Everywhere) }); err != nil {
			t.Fatal(err)
		}
	}
	err = store.View(func(e *engine.Engine) error {
		event, ok := e.NextEvent(gpulib.Registrations{uuid: {Types: hardware.EventXidCritical}})
		if state := e.State(); !ok || event.Number != 300-256+1 || event.Data != 1044 || state.LastEvent != 300 || len(state.Events) != 256 {
			t.Errorf("the first event is %+v (%t), of %d the last %d", event, ok, len(state.Events), state.LastEvent)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}

// No machine of hwsim has such a type.
func TestATypeThatCannotBeMixedIsNotSupportedAmongMixedSizes(t *testing.T) {
	gpu := hardware.GPU{UUID: "GPU-1", VGPU: &hardware.VGPU{MixedSize: true, Types: []hardware.VGPUType{
		{ID: 1, Name: "half", FramebufferBytes: 2, MaxInstances: 2, MaxMixed: 2, MIGProfileID: -1},
		{ID: 2, Name: "third", FramebufferBytes: 1, MaxInstances: 3, MIGProfileID: -1},
	}}}
	node := &hardware.Node{GPUDriver: &hardware.GPUDriver{}, GPUs: []hardware.GPU{gpu}}
	e := open(t, node, engine.New(node), newClock())
	if err := e.CreateVGPU(gpu.Address, 0, 2, engine.AnySlot); !errors.Is(err, hardware.ErrGPUNotSupported) {
		t.Errorf("a third: %v", err)
	}
	if err := e.CreateVGPU(gpu.Address, 0, 1, engine.AnySlot); err != nil {
		t.Errorf("a half: %v", err)
	}
	if ids, err := e.CreatableVGPUTypes(gpu.Address); err != nil || len(ids) != 1 || ids[0] != 1 {
		t.Errorf("creatable are %v (%v)", ids, err)
	}
}

func TestAStateThatBreaksItsPromisesIsNotOpened(t *testing.T) {
	m, err := machine.Load("a100-vgpu")
	if err != nil {
		t.Fatal(err)
	}
	node := m.Instantiate(machine.Identity{Name: "node-a", Seed: 1}).Nodes[0].Hardware
	partitioned := func(s *engine.State) { s.GPUs[0].MIG.Current, s.GPUs[0].MIG.Pending = true, true }
	instance := func(id, profile, start, size int) engine.GPUInstance {
		return engine.GPUInstance{ID: id, Profile: profile, Start: start, Size: size}
	}
	for what, breakIt := range map[string]func(*engine.State){
		"another version":      func(s *engine.State) { s.Version++ },
		"a GPU too few":        func(s *engine.State) { s.GPUs = s.GPUs[1:] },
		"another GPU":          func(s *engine.State) { s.GPUs[0].Address.Bus++ },
		"no MIG":               func(s *engine.State) { s.GPUs[0].MIG = nil },
		"no virtual GPUs":      func(s *engine.State) { s.GPUs[0].VGPU = nil },
		"instances out of MIG": func(s *engine.State) { s.GPUs[0].MIG.Instances = []engine.GPUInstance{instance(1, 9, 0, 4)} },
		"an unknown profile": func(s *engine.State) {
			partitioned(s)
			s.GPUs[0].MIG.Instances = []engine.GPUInstance{instance(1, 99, 0, 4)}
		},
		"a wrong placement": func(s *engine.State) {
			partitioned(s)
			s.GPUs[0].MIG.Instances = []engine.GPUInstance{instance(1, 9, 1, 4)}
		},
		"instances that overlap": func(s *engine.State) {
			partitioned(s)
			s.GPUs[0].MIG.Instances = []engine.GPUInstance{instance(1, 9, 0, 4), instance(8, 19, 1, 1)}
		},
		"instances out of order": func(s *engine.State) {
			partitioned(s)
			s.GPUs[0].MIG.Instances = []engine.GPUInstance{instance(2, 9, 4, 4), instance(1, 9, 0, 4)}
		},
		"an ID without capabilities": func(s *engine.State) {
			partitioned(s)
			s.GPUs[0].MIG.Instances = []engine.GPUInstance{instance(15, 9, 0, 4)}
		},
		"too many compute slices": func(s *engine.State) {
			partitioned(s)
			in := instance(7, 19, 0, 1)
			in.Compute = []engine.ComputeInstance{{ID: 0, UUID: "MIG-a"}, {ID: 1, UUID: "MIG-b"}}
			s.GPUs[0].MIG.Instances = []engine.GPUInstance{in}
		},
		"compute instances in one that goes": func(s *engine.State) {
			partitioned(s)
			in := instance(7, 19, 0, 1)
			in.Compute, in.GoneAt = []engine.ComputeInstance{{UUID: "MIG-a"}}, newClock().now
			s.GPUs[0].MIG.Instances = []engine.GPUInstance{in}
		},
		"one UUID twice": func(s *engine.State) {
			partitioned(s)
			a, b := instance(7, 19, 0, 1), instance(8, 19, 1, 1)
			a.Compute, b.Compute = []engine.ComputeInstance{{UUID: "MIG-a"}}, []engine.ComputeInstance{{UUID: "MIG-a"}}
			s.GPUs[0].MIG.Instances = []engine.GPUInstance{a, b}
		},
		"virtual GPUs that overlap": func(s *engine.State) {
			s.GPUs[0].VGPU.Active = []engine.VirtualGPU{{VF: 0, Type: 471, Slot: 1, GPUInstance: -1}, {VF: 1, Type: 472, GPUInstance: -1}}
		},
		"virtual GPUs of two sizes": func(s *engine.State) {
			s.GPUs[0].VGPU.MixedSize = false
			s.GPUs[0].VGPU.Active = []engine.VirtualGPU{{VF: 0, Type: 471, GPUInstance: -1}, {VF: 1, Type: 472, GPUInstance: -1}}
		},
		"one backed by nothing": func(s *engine.State) {
			partitioned(s)
			s.GPUs[0].VGPU.Active = []engine.VirtualGPU{{VF: 0, Type: 476, GPUInstance: 1}}
		},
		"one backed by an instance of another profile": func(s *engine.State) {
			partitioned(s)
			s.GPUs[0].MIG.Instances = []engine.GPUInstance{instance(1, 9, 0, 4)}
			s.GPUs[0].VGPU.Active = []engine.VirtualGPU{{VF: 0, Type: 477, GPUInstance: 1}}
		},
		"one function twice": func(s *engine.State) {
			s.GPUs[0].VGPU.Active = []engine.VirtualGPU{{VF: 0, Type: 471, Slot: 1, GPUInstance: -1}, {VF: 0, Type: 471, GPUInstance: -1}}
		},
		"a gap in the events": func(s *engine.State) { s.LastEvent, s.Events = 3, []engine.Event{{Number: 1}, {Number: 3}} },
		"events to come":      func(s *engine.State) { s.LastEvent, s.Events = 1, []engine.Event{{Number: 2}} },
	} {
		state := engine.New(node)
		breakIt(state)
		if _, err := engine.Open(node, state, newClock()); err == nil {
			t.Errorf("%s: it is opened", what)
		}
	}
	state := engine.New(node)
	partitioned(state)
	state.GPUs[0].MIG.Instances = []engine.GPUInstance{instance(1, 9, 0, 4)}
	if _, err := engine.Open(node, state, newClock()); err != nil {
		t.Errorf("a valid one: %v", err)
	}
}
