package nvidia

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"

	"github.com/dray-dev/dray/kubeletplugin/hardware"
	"github.com/dray-dev/dray/kubeletplugin/publish"
)

// fakeGPU is a GPU as its library describes it.
type fakeGPU struct {
	hardware.GPUDevice
	library  *fakeLibrary
	uuid     string
	address  hardware.PCIAddress
	lost     bool
	fails    error // what it answers, nil if it does
	unread   []string
	mig      []hardware.GPUInstanceState
	hot      bool
	recovery hardware.GPURecoveryAction
}

func (g *fakeGPU) ask() error {
	g.library.mu.Lock()
	defer g.library.mu.Unlock()
	if g.lost {
		return hardware.ErrGPULost
	}
	return g.fails
}

func (g *fakeGPU) UUID() (string, error)          { return g.uuid, g.ask() }
func (g *fakeGPU) ThermalSlowdown() (bool, error) { return g.hot, g.ask() }
func (g *fakeGPU) RecoveryAction() (hardware.GPURecoveryAction, error) {
	return g.recovery, g.ask()
}
func (g *fakeGPU) SupportedEvents() (hardware.GPUEventType, error) {
	return hardware.EventXidCritical | hardware.EventSingleBitECC, g.ask()
}
func (g *fakeGPU) RegisterEvents(types hardware.GPUEventType, set hardware.GPUEventSet) error {
	g.library.mu.Lock()
	defer g.library.mu.Unlock()
	if types&hardware.EventSingleBitECC != 0 {
		return errors.New("corrected errors concern nobody")
	}
	s := set.(*fakeSet)
	s.gpus = append(s.gpus, g.uuid)
	return nil
}

// fakeLibrary is a machine with GPUs that come, go and break.
type fakeLibrary struct {
	hardware.GPULibrary
	mu      sync.Mutex
	missing bool
	// fails is what Init answers, and version is the driver's.
	fails   error
	version string
	// mute: discovery cannot read what GPUs there are, though the library is there.
	mute bool
	gpus []*fakeGPU
	sets []*fakeSet
	open int
}

func (l *fakeLibrary) Init() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.missing {
		return hardware.ErrGPULibraryNotFound
	}
	if l.fails != nil {
		return l.fails
	}
	l.open++
	return nil
}

func (l *fakeLibrary) Shutdown() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.open--
	return nil
}

func (l *fakeLibrary) DeviceCount() (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.gpus), nil
}

func (l *fakeLibrary) find(is func(*fakeGPU) bool) (hardware.GPUDevice, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	i := slices.IndexFunc(l.gpus, is)
	if i < 0 {
		return nil, hardware.ErrGPUNotFound
	}
	if l.gpus[i].lost {
		return nil, hardware.ErrGPULost
	}
	return l.gpus[i], l.gpus[i].fails
}

func (l *fakeLibrary) DeviceByIndex(index int) (hardware.GPUDevice, error) {
	n := -1
	return l.find(func(*fakeGPU) bool { n++; return n == index })
}

func (l *fakeLibrary) DeviceByUUID(uuid string) (hardware.GPUDevice, error) {
	return l.find(func(g *fakeGPU) bool { return g.uuid == uuid })
}

func (l *fakeLibrary) DeviceByPCIAddress(address hardware.PCIAddress) (hardware.GPUDevice, error) {
	return l.find(func(g *fakeGPU) bool { return g.address == address })
}

// fakeSet is events that somebody waits for.
type fakeSet struct {
	library *fakeLibrary
	gpus    []string
	events  chan hardware.GPUEvent
	fails   error
	// failures is how often it fails before it tells an event; 0 is always.
	failures int
	freed    bool
}

func (l *fakeLibrary) NewEventSet() (hardware.GPUEventSet, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	s := &fakeSet{library: l, events: make(chan hardware.GPUEvent, 100)}
	l.sets = append(l.sets, s)
	return s, nil
}

func (s *fakeSet) Wait(timeout time.Duration) (hardware.GPUEvent, error) {
	s.library.mu.Lock()
	err := s.fails
	if s.failures > 0 {
		if s.failures--; s.failures == 0 {
			s.fails = nil
		}
	}
	s.library.mu.Unlock()
	if err != nil {
		return hardware.GPUEvent{}, err
	}
	select {
	case event := <-s.events:
		return event, nil
	default:
	}
	if timeout == 0 {
		return hardware.GPUEvent{}, hardware.ErrGPUTimeout
	}
	select {
	case event := <-s.events:
		return event, nil
	case <-time.After(time.Millisecond):
		return hardware.GPUEvent{}, hardware.ErrGPUTimeout
	}
}

func (s *fakeSet) Free() error {
	s.library.mu.Lock()
	defer s.library.mu.Unlock()
	s.freed = true
	return nil
}

func (l *fakeLibrary) add(index int) *fakeGPU {
	g := &fakeGPU{library: l, uuid: fmt.Sprintf("GPU-%d", index), address: hardware.PCIAddress{Bus: uint8(16 + index)}}
	l.gpus = append(l.gpus, g)
	return g
}

// node is what discovery reads of the library.
func (l *fakeLibrary) node() *hardware.Node {
	node := &hardware.Node{}
	if l.missing || l.mute || l.fails != nil {
		return node
	}
	node.GPUDriver = &hardware.GPUDriver{Version: "580.1" + l.version}
	for _, g := range l.gpus {
		if !g.lost && g.fails == nil {
			gpu := hardware.GPU{UUID: g.uuid, Minor: int(g.address.Bus) - 16, Unread: g.unread}
			if !slices.Contains(g.unread, "memory") {
				gpu.MemoryBytes = 80
			}
			if !slices.Contains(g.unread, hardware.UnreadMIG) {
				gpu.MIG = &hardware.MIG{Enabled: true, Instances: slices.Clone(g.mig), Profiles: []hardware.MIGProfile{{Name: "1g.10gb", ID: 19,
					Placements: []hardware.Placement{{Start: 0, Size: 1}, {Start: 1, Size: 1}}}}}
			}
			gpu.Address = g.address
			node.GPUs = append(node.GPUs, gpu)
		}
	}
	return node
}

// now waits for nothing, and its time is set.
type now struct{ at time.Time }

func (n *now) Now() time.Time { return n.at }

func (*now) After(time.Duration) <-chan time.Time { return time.After(time.Millisecond) }

// TestProblems tells the story of a machine with two GPUs in each file of testdata.
// Each line does one thing; the answer is which GPUs are shown, and their problems.
//
//	xid GPU CODE [INSTANCE] | partition GPU INSTANCE START | destroy GPU INSTANCE
//	lost GPU | found GPU | remove GPU | add GPU | hot GPU | cool GPU
//	needs GPU ACTION | look
//	fails GPU ERROR | answers GPU     it answers with the error, as timeout
//	unread GPU PARTS | read GPU       discovery reads it without these
//	library gone | mute | back | fails | version VERSION
//	wait DURATION
func TestProblems(t *testing.T) {
	datadriven.Walk(t, "testdata/problems", func(t *testing.T, path string) {
		l := &fakeLibrary{}
		l.add(0)
		l.add(1)
		clock := &now{at: time.Date(2030, 1, 1, 12, 0, 0, 0, time.UTC)}
		w := New(Options{Library: l, Clock: clock})
		w.Look(t.Context(), l.node())
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			for line := range strings.Lines(d.Input) {
				if err := l.do(w, clock, strings.Fields(line)); err != nil {
					d.Fatalf(t, "%s: %v", line, err)
				}
			}
			return look(t, l, w)
		})
		if l.open != 0 {
			t.Errorf("the library was opened %d times more often than closed", l.open)
		}
	})
}

var answers = map[string]error{"timeout": hardware.ErrGPUTimeout, "unknown": hardware.ErrGPUUnknown, "no-permission": hardware.ErrGPUNoPermission,
	"reset-required": hardware.ErrGPUResetRequired, "lost": hardware.ErrGPULost}

func (l *fakeLibrary) do(w *Watcher, clock *now, words []string) error {
	switch words[0] {
	case "library":
		l.missing, l.mute, l.fails = words[1] == "gone", words[1] == "mute", nil
		if words[1] == "fails" {
			l.fails = hardware.ErrGPUUnknown
		}
		if words[1] == "version" {
			l.version = words[2]
		}
		return nil
	case "wait":
		d, err := time.ParseDuration(words[1])
		clock.at = clock.at.Add(d)
		return err
	}
	var index, code int
	if _, err := fmt.Sscan(words[1], &index); err != nil {
		return err
	}
	i := slices.IndexFunc(l.gpus, func(g *fakeGPU) bool { return g.uuid == fmt.Sprintf("GPU-%d", index) })
	if words[0] == "add" {
		l.add(index)
		return nil
	}
	g := l.gpus[i]
	switch words[0] {
	case "xid":
		if _, err := fmt.Sscan(words[2], &code); err != nil {
			return err
		}
		event := hardware.GPUEvent{Device: g.uuid, Type: hardware.EventXidCritical, Data: uint64(code), GPUInstance: -1, ComputeInstance: -1}
		if len(words) > 3 {
			if _, err := fmt.Sscan(words[3], &event.GPUInstance); err != nil {
				return err
			}
		}
		w.happened(context.Background(), event)
	case "clock": // an event that says nothing by itself
		w.happened(context.Background(), hardware.GPUEvent{Device: g.uuid, Type: hardware.EventClockChange, Data: 7})
	case "lost", "found":
		g.lost = words[0] == "lost"
	case "fails", "answers":
		g.fails = nil
		if words[0] == "fails" {
			if g.fails = answers[words[2]]; g.fails == nil {
				return errors.New("there is no such answer")
			}
		}
	case "partition":
		i := hardware.GPUInstanceState{ProfileID: 19, Placement: hardware.Placement{Size: 1}}
		if _, err := fmt.Sscan(words[2]+" "+words[3], &i.ID, &i.Placement.Start); err != nil {
			return err
		}
		g.mig = append(g.mig, i)
	case "destroy":
		g.mig = slices.DeleteFunc(g.mig, func(i hardware.GPUInstanceState) bool { return fmt.Sprint(i.ID) == words[2] })
	case "unread":
		g.unread = words[2:]
	case "read":
		g.unread = nil
	case "hot", "cool":
		g.hot = words[0] == "hot"
	case "remove":
		l.gpus = slices.Delete(l.gpus, i, i+1)
	case "replace":
		g.uuid = words[2]
	case "needs":
		for action := hardware.RecoveryNone; action <= hardware.RecoveryDrainAndReset; action++ {
			if action.String() == words[2] {
				g.recovery = action
			}
		}
	default:
		return errors.New("unknown")
	}
	return nil
}

func look(t *testing.T, l *fakeLibrary, w *Watcher) string {
	before := l.node()
	node, problems := w.Look(t.Context(), before)
	if len(before.GPUs) != len(l.node().GPUs) {
		t.Error("the node that was discovered was changed")
	}
	var text strings.Builder
	for i := range node.GPUs {
		gpu := &node.GPUs[i]
		fmt.Fprintf(&text, "gpu-%d %s\n", gpu.Minor, gpu.UUID)
		devices := []string{publish.NVIDIAGPUName(gpu.Minor)}
		if gpu.MIG != nil {
			for j := range gpu.MIG.Instances {
				devices = append(devices, publish.NVIDIAPartitionName(gpu, &gpu.MIG.Instances[j]))
			}
		}
		of := map[string]bool{}
		for j, device := range devices {
			taints := map[string]bool{}
			if j > 0 {
				fmt.Fprintf(&text, "  %s\n", device)
			}
			for k := range problems {
				p := &problems[k]
				if !p.Concerns(device) {
					continue
				}
				if id := p.Taint.Key + ":" + string(p.Taint.Effect); taints[id] {
					t.Errorf("%s has two taints %s", device, id)
				} else {
					taints[id] = true
				}
				if j > 0 && p.Device == devices[0] {
					continue // of the whole GPU
				}
				health := ""
				if p.Unhealthy {
					health = " unhealthy"
				}
				if p.Unknown {
					health += " unknown"
				}
				of[p.Device] = true
				fmt.Fprintf(&text, "%*s%s=%s:%s%s (%s)\n", 2+2*min(j, 1), "", p.Taint.Key, p.Taint.Value, p.Taint.Effect, health, p.Message)
			}
		}
		for k := range problems {
			if p := &problems[k]; strings.HasPrefix(p.Device, devices[0]) && !of[p.Device] {
				t.Errorf("a problem of %s, which there is not: %+v", p.Device, p)
			}
		}
	}
	for i := range node.GPUs {
		if node.GPUs[i].MemoryBytes != 80 || node.GPUDriver == nil {
			fmt.Fprintf(&text, "gpu-%d has lost what was known of it\n", node.GPUs[i].Minor)
		}
	}
	if len(node.GPUs) == 0 {
		text.WriteString("no GPUs\n")
	}
	if err := w.Blind(); err != nil {
		fmt.Fprintf(&text, "blind: %v\n", err)
	}
	return text.String()
}

// newest is the set that is waited with, of the GPUs that it should have.
func (l *fakeLibrary) newest(gpus ...string) (*fakeSet, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.sets) == 0 {
		return nil, false
	}
	s := l.sets[len(l.sets)-1]
	return s, slices.Equal(s.gpus, gpus)
}

// running lets Run run, and returns what waits until something is true.
func running(t *testing.T, w *Watcher) (until func(what string, is func() bool), changes func() int) {
	ctx, cancel := context.WithCancel(t.Context())
	var mu sync.Mutex
	count := 0
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		w.Run(ctx, func() { mu.Lock(); count++; mu.Unlock() })
	}()
	t.Cleanup(func() {
		cancel()
		<-ended
	})
	return func(what string, is func() bool) {
			t.Helper()
			for deadline := time.Now().Add(20 * time.Second); !is(); time.Sleep(time.Millisecond) {
				if time.Now().After(deadline) {
					t.Fatal("it does not come to this: " + what)
				}
			}
		}, func() int {
			mu.Lock()
			defer mu.Unlock()
			return count
		}
}

// TestEventsWakeTheDriver and none is lost when the set is made anew for other GPUs.
func TestEventsWakeTheDriver(t *testing.T) {
	l := &fakeLibrary{}
	l.add(0)
	w := New(Options{Library: l, Clock: &now{}})
	until, changes := running(t, w)
	var first *fakeSet
	until("GPU-0 is waited for", func() (ok bool) { first, ok = l.newest("GPU-0"); return ok })
	before := changes()
	first.events <- hardware.GPUEvent{Device: "GPU-0", Type: hardware.EventXidCritical, Data: 119}
	until("an event is told", func() bool { return changes() > before })

	l.mu.Lock()
	l.add(1)
	l.mu.Unlock()
	w.Look(t.Context(), l.node())
	until("GPU-1 is waited for, too", func() bool { _, ok := l.newest("GPU-0", "GPU-1"); return ok })
	until("the old set is freed", func() bool { l.mu.Lock(); defer l.mu.Unlock(); return first.freed })
	first.events <- hardware.GPUEvent{} // nobody reads it any more, and nobody waits
	if _, problems := w.Look(t.Context(), l.node()); len(problems) != 1 || problems[0].Taint.Value != "119" {
		t.Errorf("problems are %+v", problems)
	}
}

func TestAGPUThatIsLostDoesNotKeepOthersFromBeingWatched(t *testing.T) {
	l := &fakeLibrary{}
	l.add(0)
	gone := l.add(1)
	w := New(Options{Library: l, Clock: &now{}})
	until, changes := running(t, w)
	var set *fakeSet
	until("both are waited for", func() (ok bool) { set, ok = l.newest("GPU-0", "GPU-1"); return ok })
	before := changes()
	l.mu.Lock()
	gone.lost, set.fails = true, hardware.ErrGPULost
	l.mu.Unlock()
	until("that is told", func() bool { return changes() > before })
	until("the other is waited for", func() bool { _, ok := l.newest("GPU-0"); return ok })
}

// TestWhatAGPUSaidBeforeItWasLostIsNotForgotten: the set fails as soon as the GPU is lost,
// with the event still in it.
func TestWhatAGPUSaidBeforeItWasLostIsNotForgotten(t *testing.T) {
	l := &fakeLibrary{}
	l.add(0)
	gone := l.add(1)
	w := New(Options{Library: l, Clock: &now{}})
	w.Look(t.Context(), l.node())
	until, _ := running(t, w)
	var set *fakeSet
	until("both are waited for", func() (ok bool) { set, ok = l.newest("GPU-0", "GPU-1"); return ok })
	l.mu.Lock()
	gone.lost, set.fails, set.failures = true, hardware.ErrGPULost, 3
	set.events <- hardware.GPUEvent{Device: "GPU-1", Type: hardware.EventXidCritical, Data: 79, GPUInstance: -1, ComputeInstance: -1}
	l.mu.Unlock()
	until("the event is told", func() bool {
		_, problems := w.Look(t.Context(), l.node())
		return len(problems) == 2 && problems[0].Taint.Value == "79" && problems[1].Taint.Key == TaintGPULost
	})
}

func TestALibraryThatComesLaterIsWatched(t *testing.T) {
	l := &fakeLibrary{missing: true}
	l.add(0)
	w := New(Options{Library: l, Clock: &now{}})
	until, changes := running(t, w)
	until("it is tried again", func() bool { return changes() > 2 })
	l.mu.Lock()
	l.missing = false
	l.mu.Unlock()
	until("the GPU is waited for", func() bool { _, ok := l.newest("GPU-0"); return ok })
}
