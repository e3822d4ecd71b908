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
