package state_test

import (
	"errors"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/dray-dev/dray/hwsim/engine"
	"github.com/dray-dev/dray/hwsim/machine"
	"github.com/dray-dev/dray/hwsim/state"
	"github.com/dray-dev/dray/kubeletplugin/hardware"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// fakeClock is a clock that a test moves.
type fakeClock struct {
	mu      sync.Mutex
	now     time.Time
	waiting []waiter
}

type waiter struct {
	at time.Time
	c  chan time.Time
}

func newClock() *fakeClock { return &fakeClock{now: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)} }

func (c *fakeClock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *fakeClock) After(d time.Duration) <-chan time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	w := waiter{c.now.Add(d), make(chan time.Time, 1)}
	if d <= 0 {
		w.c <- c.now
	} else {
		c.waiting = append(c.waiting, w)
	}
	return w.c
}

// pass lets time pass.
func (c *fakeClock) pass(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
	left := c.waiting[:0]
	for _, w := range c.waiting {
		if w.at.After(c.now) {
			left = append(left, w)
		} else {
			w.c <- c.now
		}
	}
	c.waiting = left
}

func load(t testing.TB, name string) *machine.Machine {
	t.Helper()
	m, err := machine.Load(name)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// folderOf is a folder of an embedded machine that a test moves the clock of.
func folderOf(t testing.TB, name string) (*state.Folder, *fakeClock) {
	t.Helper()
	clock := newClock()
	f, err := state.Create(filepath.Join(t.TempDir(), "hw"), load(t, name), machine.Identity{Name: "n"}, state.WithClock(clock))
	if err != nil {
		t.Fatal(err)
	}
	return f, clock
}

func view(t testing.TB, f *state.Folder) *state.View {
	t.Helper()
	v, err := f.View()
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// discovered fails unless a driver finds on the folder what its view says.
func discovered(t testing.TB, f *state.Folder) {
	t.Helper()
	want := view(t, f).Node
	got, err := hardware.Discover(f.Host(), f.GPULibrary())
	if errors.Is(err, hardware.ErrGPULost) {
		want = withoutLost(view(t, f))
	} else if err != nil {
		t.Fatalf("discover: %v", err)
	}
	if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
		t.Fatalf("a driver finds something else (-state +discovered):\n%s", diff)
	}
	if d, err := state.Difference(f); err != nil || d != "" {
		t.Fatalf("the files are out of step: %v\n%s", err, d)
	}
}

// withoutLost is the node without the GPUs that have fallen off the bus: the library
// gives no handle of those.
func withoutLost(v *state.View) *hardware.Node {
	node := *v.Node
	node.GPUs = slices.DeleteFunc(slices.Clone(node.GPUs), func(g hardware.GPU) bool {
		return slices.ContainsFunc(v.GPUs.GPUs, func(s engine.GPU) bool { return s.Address == g.Address && s.Health.Lost })
	})
	return &node
}

func TestADriverFindsEveryMachineAsItsFileSays(t *testing.T) {
	for _, name := range machine.Names() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := load(t, name)
			f, _ := folderOf(t, name)
			if m.Kind() == machine.PoolKind {
				if v := view(t, f); v.Node != nil || v.Pool == nil {
					t.Errorf("a pool has a node: %+v", v)
				}
				return
			}
			nodes := m.Instantiate(machine.Identity{Name: "n"}).Nodes
			if diff := cmp.Diff(nodes[0].Hardware, view(t, f).Node, cmpopts.EquateEmpty()); diff != "" {
				t.Fatalf("the folder is not the machine (-machine +folder):\n%s", diff)
			}
			discovered(t, f)
			again, err := state.Open(f.Dir())
			if err != nil {
				t.Fatal(err)
			}
			if d, err := state.Difference(again); err != nil || d != "" {
				t.Fatalf("opened again: %v\n%s", err, d)
			}
		})
	}
}
