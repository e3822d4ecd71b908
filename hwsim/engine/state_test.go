package engine_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/dray-dev/dray/hwsim/engine"
	"github.com/dray-dev/dray/hwsim/machine"
	"github.com/dray-dev/dray/kubeletplugin/hardware"
)

// everyNode calls test with each node of each machine that hwsim has.
func everyNode(t *testing.T, test func(t *testing.T, node *hardware.Node)) {
	for _, name := range machine.Names() {
		t.Run(name, func(t *testing.T) {
			m, err := machine.Load(name)
			if err != nil {
				t.Fatal(err)
			}
			for _, node := range m.Instantiate(machine.Identity{Name: "node-a", Seed: 1}).Nodes {
				test(t, node.Hardware)
			}
		})
	}
}

// clock is set by hand.
type clock struct{ now time.Time }

func (c *clock) Now() time.Time { return c.now }

func newClock() *clock { return &clock{time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)} }

func open(t *testing.T, node *hardware.Node, state *engine.State, c engine.Clock) *engine.Engine {
	t.Helper()
	e, err := engine.Open(node, state, c)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func TestAMachineIsAsItsFileSaysInTheBeginning(t *testing.T) {
	everyNode(t, func(t *testing.T, node *hardware.Node) {
		before := node.Clone()
		e := open(t, node, engine.New(node), newClock())
		if diff := cmp.Diff(node, e.Node(), cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("the node (-file +engine):\n%s", diff)
		}
		if diff := cmp.Diff(before, node); diff != "" {
			t.Errorf("the node was modified:\n%s", diff)
		}
	})
}

func TestAStateIsTheSameAfterJSON(t *testing.T) {
	everyNode(t, func(t *testing.T, node *hardware.Node) {
		state := engine.New(node)
		if diff := cmp.Diff(state, throughJSON(t, state), cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("(-before +after):\n%s", diff)
		}
	})
}

// Calls change lists in place, so a copy that shared one would change with them.
func TestACopyOfAStateSharesNothing(t *testing.T) {
	m, err := machine.Load("a100-vgpu")
	if err != nil {
		t.Fatal(err)
	}
	node := m.Instantiate(machine.Identity{Name: "node-a", Seed: 1}).Nodes[0].Hardware
	e := open(t, node, engine.New(node), newClock())
	first, second := node.GPUs[0].Address, node.GPUs[1].Address
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(e.SetMIGMode(second, true))
	must(e.Reset(second))
	instance, err := e.CreateGPUInstance(second, 9, nil)
	must(err)
	for range 2 {
		must(e.CreateVGPU(first, len(e.State().GPUs[0].VGPU.Active), 471, engine.AnySlot))
		_, err := e.CreateComputeInstance(second, instance, 0)
		must(err)
	}
	must(e.InjectXID(first, 31, engine.Everywhere))
	copied, before := e.State().Clone(), throughJSON(t, e.State())
	must(e.DestroyVGPU(first, 0))
	must(e.DestroyComputeInstance(second, instance, 0))
	must(e.InjectXID(first, 31, engine.Everywhere))
	must(e.SetMIGProcesses(second, instance, 1, 1))
	if diff := cmp.Diff(before, copied, cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("the copy changed (-before +after):\n%s", diff)
	}
}

func throughJSON(t interface{ Fatal(...any) }, state *engine.State) *engine.State {
	text, err := json.Marshal(state)
	if err != nil {
		t.Fatal(err)
	}
	var read engine.State
	if err := json.Unmarshal(text, &read); err != nil {
		t.Fatal(err)
	}
	return &read
}
