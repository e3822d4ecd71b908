package inventory

import (
	"errors"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
)

// unusable is a selector that nobody can evaluate.
func unusable() *corev1.NodeSelector { return selects("zone", "Near", "a") }

func TestASliceNamesItsNodes(t *testing.T) {
	named := func(s *resourceapi.ResourceSlice) {
		s.Spec.NodeSelector = &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{
			MatchFields: []corev1.NodeSelectorRequirement{{Key: "metadata.name", Operator: corev1.NodeSelectorOpIn, Values: []string{"n"}}},
		}}}
	}
	noName := func(s *resourceapi.ResourceSlice) { onNode("")(s) }
	inv := New()
	snapshot := snapshotOf(t, inv,
		newSlice("all", with("a")),
		newSlice("by-field", named, with("a")),
		newSlice("by-label", onNodes("zone", "a"), with("a")),
		newSlice("by-name", onNode("n"), with("a")),
		newSlice("name-is-empty", noName, with("a")),
		newSlice("unknown-way", nowhere, with("a")),
	)
	for _, c := range []struct {
		node *corev1.Node
		want []string
	}{
		{newNodeObject("n", "zone", "a"), []string{"driver/all/a", "driver/by-field/a", "driver/by-label/a", "driver/by-name/a"}},
		{newNodeObject("n", "zone", "b"), []string{"driver/all/a", "driver/by-field/a", "driver/by-name/a"}},
		{newNodeObject("m", "zone", "a"), []string{"driver/all/a", "driver/by-label/a"}},
	} {
		if got := names(view(t, snapshot, c.node, all)); !slices.Equal(got, c.want) {
			t.Errorf("node %q in zone %q sees %v, want %v", c.node.Name, c.node.Labels["zone"], got, c.want)
		}
	}
}

func TestDevicesNameTheirNodes(t *testing.T) {
	everywhere := func(d *resourceapi.Device) { yes := true; d.AllNodes = &yes }
	list := []*resourceapi.ResourceSlice{
		newSlice("p", perDevice, with("mine", deviceOn("n")), with("others", deviceOn("m")),
			with("zone-a", deviceOnNodes(selects("zone", corev1.NodeSelectorOpIn, "a"))), with("all", everywhere), with("nobodys")),
		newSlice("q", perDevice, with("others", deviceOn("m"))),
	}
	// All devices of a slice in reach are numbered; Reach says which are the node's.
	n := view(t, snapshotOf(t, New(), list...), newNodeObject("n", "zone", "a"), all)
	want := "driver/p usable: mine reached=true,false,<nil> others reached=false,false,<nil>" +
		" zone-a reached=true,false,<nil> all reached=true,false,<nil> nobodys reached=false,false,<nil>\n"
	if got := describe(n); got != want {
		t.Errorf("n sees\n%swant\n%s", got, want)
	}
	if got := see(t, "stranger", list...); len(got.Pools) != 1 || got.Reach[0].Matches.Count() != 1 {
		t.Errorf("a stranger sees\n%swant the device for all nodes", describe(got))
	}
}

// Nodes that reach the same pools share what is said about them, but for devices
// that name their nodes themselves: there each node has its own answer.
func TestWhatNodesShare(t *testing.T) {
	shared := snapshotOf(t, New(), newSlice("a", with("1")), newSlice("b", with("2")))
	n, m := view(t, shared, newNodeObject("n"), all), view(t, shared, newNodeObject("m"), all)
	if &n.Pools[0] != &m.Pools[0] {
		t.Error("two nodes that reach the same pools do not share the list of them")
	}
	own := snapshotOf(t, New(), newSlice("p", perDevice, with("n's", deviceOn("n")), with("m's", deviceOn("m"))))
	for _, node := range []string{"n", "m", "n"} {
		got := view(t, own, newNodeObject(node), all)
		if want := map[string]string{"n": "{0}", "m": "{1}"}[node]; got.Reach[0].Matches.String() != want {
			t.Errorf("%s reaches the devices %s, want %s", node, got.Reach[0].Matches, want)
		}
	}
}

// A slice that names its nodes itself can let its devices choose among them.
func TestDevicesChooseAmongTheNodesOfTheirSlice(t *testing.T) {
	n := see(t, "n", newSlice("p", onNode("n"), perDevice, with("mine", deviceOn("n")), with("others", deviceOn("m"))))
	if got, want := describe(n), "driver/p usable: mine reached=true,false,<nil> others reached=false,false,<nil>\n"; got != want {
		t.Errorf("n sees\n%swant\n%s", got, want)
	}
}

func TestASelectorThatCannotBeUsedIsAnError(t *testing.T) {
	for _, c := range []struct {
		name  string
		slice *resourceapi.ResourceSlice
		want  string
	}{
		{"of a slice", newSlice("s", func(s *resourceapi.ResourceSlice) { s.Spec.NodeSelector = unusable() }, with("a")), "for slice s: "},
		{"of a device, with no device in reach before it", newSlice("s", perDevice, with("b", deviceOn("m")), with("a", deviceOnNodes(unusable()))), "for device &Device{Name:a,"},
	} {
		inv := New()
		snapshot := snapshotOf(t, inv, c.slice, newSlice("t", with("a")))
		_, err := snapshot.Node(newNodeObject("n"), all)
		var selection *SelectionError
		if !errors.As(err, &selection) || selection.Slice != "s" || selection.Unwrap() == nil {
			t.Errorf("%s: the error is %v", c.name, err)
			continue
		}
		if want := "gather pool information: failed to perform node selection " + c.want; !strings.HasPrefix(err.Error(), want) || !strings.Contains(err.Error(), "Near") {
			t.Errorf("%s: the error is\n%v, want\n%s...Near", c.name, err, want)
		}
		// Nothing is remembered: once the slice is right, so is the view.
		fixed := newSlice("s", version("2"), with("a"))
		if got := names(view(t, snapshotOf(t, inv, fixed, newSlice("t", with("a"))), newNodeObject("n"), all)); len(got) != 2 {
			t.Errorf("%s: after the slice was corrected the node sees %v", c.name, got)
		}
	}
}

// After a device in reach, the selectors of later devices are asked only for the
// devices themselves: a fault there is the device's.
func TestASelectorOfADeviceIsTheDevicesFault(t *testing.T) {
	n := see(t, "n", newSlice("p", perDevice, with("a", deviceOn("n")), with("b", deviceOnNodes(unusable()))))
	reach := n.Reach[0]
	if reach.Matches.String() != "{0}" || reach.Faulty.String() != "{1}" || reach.Errors[1] == nil || reach.Errors[0] != nil {
		t.Errorf("reach is %v, %v, %v; want device 0 reached and device 1 at fault", reach.Matches, reach.Faulty, reach.Errors)
	}
}

func TestChangedLabelsChangeTheView(t *testing.T) {
	snapshot := snapshotOf(t, New(),
		newSlice("by-label", onNodes("zone", "a"), with("a")),
		newSlice("per-device", onNode("n"), perDevice, with("b", deviceOnNodes(selects("zone", corev1.NodeSelectorOpIn, "b")))),
	)
	in := func(zone string) *Node { return view(t, snapshot, newNodeObject("n", "zone", zone), all) }
	a := in("a")
	if again := in("a"); again != a {
		t.Error("a node object with equal labels gets another view")
	}
	want := "driver/by-label usable: a\ndriver/per-device usable: b reached=false,false,<nil>\n"
	if got := describe(a); got != want {
		t.Errorf("in zone a the node sees\n%swant\n%s", got, want)
	}
	want = "driver/per-device usable: b reached=true,false,<nil>\n"
	if got := describe(in("b")); got != want {
		t.Errorf("in zone b the node sees\n%swant\n%s", got, want)
	}
	if got := describe(in("a")); got != describe(a) {
		t.Errorf("back in zone a the node sees\n%s", got)
	}
}

// A node that reaches some slices by name and others by label loses the latter
// with the label, and no others.
func TestNamedAndSelectedSlicesOfOnePool(t *testing.T) {
	snapshot := snapshotOf(t, New(), newSlice("s0", pool("p", 4), onNodes("zone", "a"), with("z")),
		newSlice("s1", pool("p", 4), onNode("n"), with("a")), newSlice("s2", pool("p", 4), onNode("n"), with("b")), newSlice("s3", pool("p", 4), onNode("n"), with("c")))
	for _, c := range []struct{ zone, want string }{{"a", "driver/p usable: z a b c\n"}, {"b", "driver/p usable: a b c\n"}, {"a", "driver/p usable: z a b c\n"}, {"b", "driver/p usable: a b c\n"}} {
		if got := describe(view(t, snapshot, newNodeObject("n", "zone", c.zone), all)); got != c.want {
			t.Errorf("in zone %s the node sees\n%swant\n%s", c.zone, got, c.want)
		}
	}
}

func TestLabelsDoNotMatterWithoutSelectors(t *testing.T) {
	snapshot := snapshotOf(t, New(), newSlice("s", onNode("n"), with("a")))
	first := view(t, snapshot, newNodeObject("n", "zone", "a"), all)
	if other := view(t, snapshot, newNodeObject("n", "zone", "b"), all); other != first {
		t.Error("a label that no selector reads changes the view")
	}
}

// The labels of the caller's object are not kept: it may be changed afterwards.
func TestTheNodeObjectIsNotKept(t *testing.T) {
	snapshot := snapshotOf(t, New(), newSlice("s", onNodes("zone", "a"), with("a")))
	node := newNodeObject("n", "zone", "a")
	view(t, snapshot, node, all)
	node.Labels["zone"] = "b"
	if got := names(view(t, snapshot, node, all)); len(got) != 0 {
		t.Errorf("after its label changed in place the node sees %v", got)
	}
}

// Nodes that no slice names share what they reach; a node that is asked about
// for the first time is no special case.
func TestNodesWithoutSlicesOfTheirOwn(t *testing.T) {
	snapshot := snapshotOf(t, New(), newSlice("s", with("a")), newSlice("t", onNode("n"), with("b")))
	x, y := view(t, snapshot, newNodeObject("x"), all), view(t, snapshot, newNodeObject("y"), all)
	if x.Pools[0] != y.Pools[0] {
		t.Error("two nodes have different objects for one pool")
	}
	if again := view(t, snapshot, newNodeObject("x"), all); again != x {
		t.Error("the view of a node without slices is not remembered")
	}
	if got := names(x); !slices.Equal(got, []string{"driver/s/a"}) {
		t.Errorf("x sees %v", got)
	}
}
