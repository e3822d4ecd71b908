package state_test

import (
	"context"
	"runtime"
	"testing"
	"time"

	"github.com/dray-dev/dray/hwsim/fault"
	"github.com/dray-dev/dray/hwsim/scenario"
	"github.com/dray-dev/dray/hwsim/state"
)

// setBack sets the clock without letting time pass: what waits goes on to.
func (c *fakeClock) setBack(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(-d)
	for i := range c.waiting {
		c.waiting[i].at = c.waiting[i].at.Add(-d)
	}
}

// isAwaited says whether anybody waits for time to pass.
func (c *fakeClock) isAwaited() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.waiting) > 0
}

func flap(f *state.Folder, down time.Duration) error {
	return f.Update(func(tx *state.Tx) error {
		return tx.Inject(fault.Fault{Link: &fault.Link{NIC: "ens1np0", Down: fault.Duration(down)}})
	})
}

func linkIsUp(t *testing.T, f *state.Folder) bool {
	t.Helper()
	nic := view(t, f).Node.NICs[0]
	if nic.Interface != "ens1np0" {
		t.Fatalf("the first NIC is %s", nic.Interface)
	}
	return nic.Up
}

func TestWhatFallsDueHappensInTimeAfterTheClockIsSetBack(t *testing.T) {
	for _, back := range []time.Duration{time.Millisecond, time.Second, 2 * time.Second, time.Hour, 10000 * time.Hour} {
		t.Run(back.String(), func(t *testing.T) {
			f, clock := small(t)
			must(t, flap(f, 5*time.Second))
			clock.setBack(back)
			for _, look := range []struct {
				pass time.Duration
				up   bool
			}{{0, false}, {3 * time.Second, false}, {4 * time.Second, true}} {
				clock.pass(look.pass)
				again, err := state.Open(f.Dir(), state.WithClock(clock)) // another process
				must(t, err)
				if up := linkIsUp(t, again); up != look.up {
					t.Fatalf("after %s more, the link is up: %v", look.pass, up)
				}
			}
			must(t, flap(f, time.Second))
			clock.pass(3 * time.Second)
			if !linkIsUp(t, f) {
				t.Error("a link that goes down afterwards stays down")
			}
			discovered(t, f)
		})
	}
}

func TestTimeIsTheClocksAgainOnceThatHasCaughtUp(t *testing.T) {
	f, clock := small(t)
	must(t, flap(f, time.Second))
	clock.setBack(time.Hour)
	clock.pass(2 * time.Second)
	if at := view(t, f).Time; !at.After(clock.Now()) {
		t.Fatalf("the folder is at %s while the clock is at %s", at, clock.Now())
	}
	clock.pass(2 * time.Hour)
	must(t, flap(f, time.Second))
	if at := view(t, f).Time; !at.Equal(clock.Now()) {
		t.Errorf("the folder is at %s, the clock at %s", at, clock.Now())
	}
	last := time.Time{}
	for event, err := range f.Events(0) {
		must(t, err)
		if event.Time.Before(last) {
			t.Errorf("event %d of %s comes after one of %s", event.Number, event.Time, last)
		}
		last = event.Time
	}
}

func TestCallsAndScenariosEndAlthoughTheClockIsSetBack(t *testing.T) {
	f, clock := small(t)
	must(t, partition(f, hopper, 19, 3))
	library := f.GPULibrary()
	must(t, library.Init())
	gpu, err := library.DeviceByPCIAddress(hopper)
	must(t, err)
	instances, err := gpu.GPUInstances(19)
	must(t, err)
	// Time passes only while somebody waits for it.
	limited := func(do func()) {
		t.Helper()
		set := false
		done := make(chan struct{})
		go func() { defer close(done); do() }()
		for passed := time.Duration(0); passed < 30*time.Minute; {
			select {
			case <-done:
				return
			default:
			}
			if !clock.isAwaited() {
				runtime.Gosched()
				continue
			}
			clock.pass(100 * time.Millisecond)
			passed += 100 * time.Millisecond
			if !set && passed > 500*time.Millisecond {
				clock.setBack(time.Hour)
				set = true
			}
		}
		t.Fatal("it has not ended after 30 minutes")
	}
	limited(func() {
		if err := instances[0].Destroy(); err != nil {
			t.Error(err)
		}
	})
	if n := len(view(t, f).Node.GPUs[1].MIG.Instances); n != 0 {
		t.Errorf("%d instances are left", n)
	}
	played, err := scenario.Parse("inline", []byte("name: two\ndescription: two steps\nsteps:\n- xid: {gpu: \"0\", code: 13}\n- {at: 60s, xid: {gpu: \"0\", code: 31}}\n"))
	must(t, err)
	limited(func() {
		if err := f.Play(context.Background(), played); err != nil {
			t.Error(err)
		}
	})
}

// TestTheClockThatHasCaughtUpBringsNothingBack: neither does anything wait for the time
// that the folder was ahead, nor does anything hold again that was over.
func TestTheClockThatHasCaughtUpBringsNothingBack(t *testing.T) {
	const back = time.Hour
	for _, c := range []struct {
		name          string
		before, after time.Duration // looks, by the time since the clock was set back
	}{
		{"both at once", 0, back + time.Second},
		{"the link before", time.Minute, back + 2*time.Minute},
		{"both before", 50 * time.Minute, back + time.Minute},
		{"it has not caught up", 0, back - time.Second},
	} {
		t.Run(c.name, func(t *testing.T) {
			f, clock := small(t)
			must(t, f.Update(func(tx *state.Tx) error {
				return tx.Inject(fault.Fault{DriverLate: &fault.DriverLate{Driver: "gpu", For: fault.Duration(40 * time.Minute)}})
			}))
			must(t, flap(f, 30*time.Second))
			clock.setBack(back)
			if linkIsUp(t, f) || len(view(t, f).Instructions) != 1 {
				t.Fatal("it is over at once")
			}
			clock.pass(c.before)
			view(t, f)
			clock.pass(c.after - c.before)
			reader, err := state.OpenReadOnly(f.Dir(), state.WithClock(clock))
			must(t, err)
			for _, look := range []*state.Folder{reader, f} {
				if up, held := linkIsUp(t, look), len(view(t, look).Instructions); !up || held > 0 {
					t.Errorf("the link is up: %v, and %d instructions hold", up, held)
				}
			}
			discovered(t, f)
		})
	}
}

// What is still to come when the clock has caught up comes in its time.
func TestWhatIsToComeComesInTimeAlthoughTheClockCatchesUp(t *testing.T) {
	f, clock := small(t)
	must(t, flap(f, 3*time.Hour))
	clock.setBack(time.Hour)
	for _, look := range []struct {
		pass time.Duration
		up   bool
	}{{0, false}, {2 * time.Hour, false}, {time.Hour - time.Second, false}, {2 * time.Second, true}} {
		clock.pass(look.pass)
		if up := linkIsUp(t, f); up != look.up {
			t.Fatalf("after %s more, the link is up: %v", look.pass, up)
		}
		if look.pass == 2*time.Hour && !view(t, f).Time.Equal(clock.Now()) {
			t.Error("the clock has not caught up, so this shows nothing")
		}
	}
}
