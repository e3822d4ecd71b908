package inventory

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/dynamic-resource-allocation/structured/schedulerapi"
)

func TestWithheldDevicesAreThoseOfPoolsThatAreNotInOrder(t *testing.T) {
	snapshot := snapshotOf(t, New(),
		newSlice("sound", onNode("n"), with("a")),
		newSlice("half", onNode("n"), pool("half", 2), with("b"), with("c")),
		newSlice("twice", onNode("n"), with("d"), with("d")),
		newSlice("old-n", onNode("n"), pool("rack", 1), generation(1), with("e")),
		newSlice("new-m", onNode("m"), pool("rack", 1), generation(2), with("f")),
		newSlice("old-picky", perDevice, pool("picky", 1), generation(1), with("g", deviceOn("n")), with("h", deviceOn("m"))),
		newSlice("new-picky", onNode("n"), pool("picky", 1), generation(3), with("i")),
	)
	node := newNodeObject("n")
	n := view(t, snapshot, node, all)
	var got []string
	for _, w := range n.Withheld(node, snapshot.Remnants()) {
		var devices []string
		for i := range w.Len() {
			devices = append(devices, w.At(i).Name)
		}
		got = append(got, fmt.Sprintf("%s/%s %s obsolete=%v %q: %s", w.DriverName(), w.Pool, devices, w.Obsolete(), w.Reason, w.Status))
	}
	want := []string{
		`driver/half [b c] obsolete=false "1 of 2 slices are published": incomplete`,
		`driver/twice [d d] obsolete=false "duplicate device name d": invalid`,
		`driver/picky [g] obsolete=true "an older generation (1, the newest is 3) is left on the node": usable`,
		`driver/rack [e] obsolete=true "an older generation (1, the newest is 2) is left on the node": usable`,
	}
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if n.Reaches("driver", "rack") || !n.Reaches("driver", "picky") {
		t.Errorf("the node reaches the newest slices of picky, not those of rack")
	}
}

func TestRemnantsGoWithTheirSlices(t *testing.T) {
	inv := New()
	old, fresh := newSlice("old", onNode("n"), pool("p", 1), generation(1), with("a")), newSlice("new", onNode("n"), pool("p", 1), generation(2), with("a"))
	if got := len(snapshotOf(t, inv, old, fresh).Remnants()); got != 1 {
		t.Errorf("%d pools with remnants, want 1", got)
	}
	if got := len(snapshotOf(t, inv, fresh).Remnants()); got != 0 {
		t.Errorf("%d pools with remnants after the old slice went, want 0", got)
	}
}

func TestCounterLeftIsWhatTheVectorHas(t *testing.T) {
	list := newSlice("counters", onNode("n"), pool("p", 2), counters("card", "memory", "80Gi", "slots", "7"))
	parts := newSlice("parts", onNode("n"), pool("p", 2),
		with("one", draws("card", "memory", "10Gi", "slots", "1")), with("three", draws("card", "memory", "40Gi", "slots", "3")))
	n := see(t, "n", list, parts)
	usage := NewUsage(schedulerapi.AllocatedState{
		AllocatedDevices: sets.New(schedulerapi.MakeDeviceID("driver", "p", "three")),
	})
	p := n.Pools[0]
	for counter, want := range []string{"memory 40Gi left, one draws 10Gi", "slots 4 left, one draws 1"} {
		left, drawn := usage.CounterLeft(p, counter), p.Draws(0, counter)
		if got := fmt.Sprintf("%s %s left, one draws %s", p.Counters.Names[counter], left.String(), drawn.String()); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
		exact, err := Exact(left)
		if err != nil || usage.Pool(p).Left.Narrow[counter] != exact.Milli {
			t.Errorf("counter %d: the vector has %d, the quantity %d (%v)", counter, usage.Pool(p).Left.Narrow[counter], exact.Milli, err)
		}
	}
}
