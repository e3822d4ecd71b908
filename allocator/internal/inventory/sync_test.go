package inventory

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
)

// cluster has n nodes with two slices each and one pool that all of them reach.
func cluster(n int) (nodes []*corev1.Node, list []*resourceapi.ResourceSlice) {
	for i := range n {
		name := fmt.Sprintf("node-%02d", i)
		nodes = append(nodes, newNodeObject(name))
		list = append(list,
			newSlice(name+"-gpu", pool(name, 2), onNode(name), with("gpu-0"), with("gpu-1")),
			newSlice(name+"-nic", pool(name, 2), onNode(name), with("nic-0")))
	}
	return nodes, append(list, newSlice("shared", with("switch")))
}

func views(t *testing.T, s *Snapshot, nodes []*corev1.Node) []*Node {
	t.Helper()
	list := make([]*Node, len(nodes))
	for i, node := range nodes {
		list[i] = view(t, s, node, all)
	}
	return list
}

// changedViews are the names of the nodes whose view is not the same object.
func changedViews(nodes []*corev1.Node, before, after []*Node) []string {
	var changed []string
	for i, node := range nodes {
		if before[i] != after[i] {
			changed = append(changed, node.Name)
		}
	}
	return changed
}

func TestTheSameListGivesTheSameSnapshot(t *testing.T) {
	_, list := cluster(3)
	inv := New()
	first := snapshotOf(t, inv, list...)
	if again := snapshotOf(t, inv, slices.Clone(list)...); again != first {
		t.Error("a copy of the list gives another snapshot")
	}
	slices.Reverse(list)
	if again := snapshotOf(t, inv, list...); again != first {
		t.Error("the list in another order gives another snapshot")
	}
}

func TestOneChangedSliceChangesOneNode(t *testing.T) {
	nodes, list := cluster(20)
	inv := New()
	first := snapshotOf(t, inv, list...)
	before := views(t, first, nodes)

	list[2*7+1] = newSlice("node-07-nic", pool("node-07", 2), onNode("node-07"), with("nic-0"), with("nic-1"), version("2"))
	second := snapshotOf(t, inv, list...)
	after := views(t, second, nodes)
	if got := changedViews(nodes, before, after); !slices.Equal(got, []string{"node-07"}) {
		t.Errorf("changed: %v, want node-07 only", got)
	}
	want := []string{"driver/node-07/gpu-0", "driver/node-07/gpu-1", "driver/node-07/nic-0", "driver/node-07/nic-1", "driver/shared/switch"}
	if got := names(after[7]); !slices.Equal(got, want) {
		t.Errorf("node-07 sees %v, want %v", got, want)
	}
	if before[7].Pools[1] != after[7].Pools[1] {
		t.Error("node-07 has a new object for the shared pool, which did not change")
	}
	// The first snapshot is what it was, for whoever still has it.
	if got := names(view(t, first, nodes[7], all)); len(got) != 4 {
		t.Errorf("in the first snapshot node-07 now sees %v", got)
	}
}

func TestAChangedSharedSliceKeepsTheLocalPools(t *testing.T) {
	nodes, list := cluster(3)
	inv := New()
	before := views(t, snapshotOf(t, inv, list...), nodes)
	list[len(list)-1] = newSlice("shared", with("switch"), with("switch-1"), version("2"))
	after := views(t, snapshotOf(t, inv, list...), nodes)
	if got := changedViews(nodes, before, after); len(got) != len(nodes) {
		t.Errorf("changed: %v, want all %d nodes", got, len(nodes))
	}
	for i := range nodes {
		if before[i].Pools[0] != after[i].Pools[0] {
			t.Errorf("%s has a new object for its own pool, which did not change", nodes[i].Name)
		}
	}
	if after[0].Pools[1] != after[2].Pools[1] {
		t.Error("two nodes have different objects for a pool that they see alike")
	}
}

// The taint tracker hands out copies after each status write of a taint rule.
func TestFreshCopies(t *testing.T) {
	same := func(*resourceapi.ResourceSlice) {}
	for _, c := range []struct {
		name    string
		before  change
		after   change
		changes bool
	}{
		{"of equal content", same, same, false},
		{"with another resource version", same, version("2"), true},
		{"with a new taint", same, taint(resourceapi.DeviceTaint{Key: "k", Effect: "NoSchedule"}), true},
		{"with another taint key", taint(resourceapi.DeviceTaint{Key: "k"}), taint(resourceapi.DeviceTaint{Key: "l"}), true},
		{"with another taint value", taint(resourceapi.DeviceTaint{Key: "k"}), taint(resourceapi.DeviceTaint{Key: "k", Value: "v"}), true},
		{"with another taint effect", taint(resourceapi.DeviceTaint{Key: "k", Effect: "None"}), taint(resourceapi.DeviceTaint{Key: "k", Effect: "NoSchedule"}), true},
		{"without the taint", taint(resourceapi.DeviceTaint{Key: "k"}), same, true},
		{"with the same taint", taint(resourceapi.DeviceTaint{Key: "k", Value: "v", Effect: "None"}), taint(resourceapi.DeviceTaint{Key: "k", Value: "v", Effect: "None"}), false},
		{"without a resource version", version(""), version(""), true},
		{"without a UID", withoutUID, withoutUID, true},
	} {
		nodes, list := cluster(2)
		list = append(list, newSlice("node-01-x", onNode("node-01"), with("x"), c.before))
		inv := New()
		before := views(t, snapshotOf(t, inv, list...), nodes)
		list[len(list)-1] = newSlice("node-01-x", onNode("node-01"), with("x"), c.after)
		after := views(t, snapshotOf(t, inv, list...), nodes)
		if got := changedViews(nodes, before, after); len(got) > 0 != c.changes || len(got) == 2 {
			t.Errorf("a copy %s changes the views of %v, want a change of node-01: %v", c.name, got, c.changes)
		}
		if _, slice := after[1].Pools[1].Device(0); slice != list[len(list)-1] && c.changes {
			t.Errorf("a copy %s: the view still has the old object", c.name)
		}
	}
}

func taint(taint resourceapi.DeviceTaint) change {
	return func(s *resourceapi.ResourceSlice) {
		devices := s.Spec.Devices
		devices[0].Taints = append(devices[0].Taints, taint)
	}
}

func withoutUID(s *resourceapi.ResourceSlice) { s.UID = "" }

// UIDs and resource versions are the API server's; objects that a test or a
// simulation makes can have them in common and still be different.
func TestEqualVersionsOfDifferentSlices(t *testing.T) {
	sameUID := func(s *resourceapi.ResourceSlice) { s.UID = "uid" }
	inv := New()
	for _, c := range []struct {
		list []*resourceapi.ResourceSlice
		want string
	}{
		{[]*resourceapi.ResourceSlice{newSlice("a", sameUID, with("1"))}, "driver/a usable: 1\n"},
		{[]*resourceapi.ResourceSlice{newSlice("b", sameUID, with("1"))}, "driver/b usable: 1\n"},
		{[]*resourceapi.ResourceSlice{newSlice("b", sameUID, driver("other"), with("1"))}, "other/b usable: 1\n"},
		{[]*resourceapi.ResourceSlice{newSlice("b", sameUID, driver("other"), with("1"), with("2"))}, "other/b usable: 1 2\n"},
		{[]*resourceapi.ResourceSlice{newSlice("b", sameUID, driver("other"), generation(2), with("1"), with("2")), newSlice("c", with("3"))}, "driver/c usable: 3\nother/b usable: 1 2\n"},
	} {
		if got := describe(view(t, snapshotOf(t, inv, c.list...), newNodeObject("n"), all)); got != c.want {
			t.Errorf("the node sees\n%swant\n%s", got, c.want)
		}
	}
}

// A copy can stand in the list while the object that was compiled has gone, and
// be replaced by another copy in turn.
func TestCopiesOfCopies(t *testing.T) {
	node := newNodeObject("n")
	inv := New()
	first := view(t, snapshotOf(t, inv, newSlice("s", with("a"))), node, all)
	for i := range 3 {
		if got := view(t, snapshotOf(t, inv, newSlice("s", with("a"))), node, all); got != first {
			t.Errorf("copy %d changes the view", i+1)
		}
	}
	changed := view(t, snapshotOf(t, inv, newSlice("s", with("b"), version("2"))), node, all)
	back := view(t, snapshotOf(t, inv, newSlice("s", with("a"))), node, all)
	if got := fmt.Sprint(names(first), names(changed), names(back)); got != "[driver/s/a] [driver/s/b] [driver/s/a]" {
		t.Errorf("the views are %s", got)
	}
	if snapshotOf(t, inv); len(inv.known)+len(inv.byUID)+len(inv.pools) != 0 {
		t.Errorf("after an empty list the inventory still knows %v, %v, %v", inv.known, inv.byUID, inv.pools)
	}
}

func TestRemovedSlicesAreGone(t *testing.T) {
	nodes, list := cluster(2)
	inv := New()
	snapshotOf(t, inv, list...)
	for _, c := range []struct {
		name string
		list []*resourceapi.ResourceSlice
		want string
	}{
		{"one slice of a pool", list[1:], "driver/node-00 incomplete (1 of 2 slices are published):\ndriver/shared usable: switch\n"},
		{"the pool", list[2:], "driver/shared usable: switch\n"},
		{"the shared pool, too", list[2:4], ""},
		{"everything", nil, ""},
	} {
		if got := describe(view(t, snapshotOf(t, inv, c.list...), nodes[0], all)); got != c.want {
			t.Errorf("without %s node-00 sees\n%swant\n%s", c.name, got, c.want)
		}
	}
	if got := snapshotOf(t, inv, list...); describe(view(t, got, nodes[0], all)) != describe(see(t, "node-00", list...)) {
		t.Errorf("after everything has come back node-00 sees\n%s", describe(view(t, got, nodes[0], all)))
	}
}

func TestManyChangesInOneList(t *testing.T) {
	nodes, list := cluster(20)
	inv := New()
	views(t, snapshotOf(t, inv, list...), nodes)
	var next []*resourceapi.ResourceSlice
	for i, s := range list {
		switch i / 2 % 3 {
		case 0: // This node has no slices any more.
		case 1:
			c := s.DeepCopy()
			c.ResourceVersion = "2"
			c.Spec.Devices = append(c.Spec.Devices, resourceapi.Device{Name: "new"}) // In both slices: the pool is invalid now.
			next = append(next, c)
		default:
			next = append(next, s)
		}
	}
	snapshot := snapshotOf(t, inv, next...)
	for _, node := range nodes {
		if got, want := describe(view(t, snapshot, node, all)), describe(see(t, node.Name, next...)); got != want {
			t.Errorf("%s sees\n%swant\n%s", node.Name, got, want)
		}
	}
}

// TestAnotherOrderIsNoChangeAndAnotherListIs: lists of one length, in all orders.
func TestAnotherOrderIsNoChangeAndAnotherListIs(t *testing.T) {
	inv := New()
	a, b, c := newSlice("a", onNode("a"), with("gpu-0")), newSlice("b", onNode("b"), with("gpu-0")), newSlice("c", onNode("c"), with("gpu-0"))
	sync := func(list ...*resourceapi.ResourceSlice) *Snapshot {
		t.Helper()
		snapshot, err := inv.Sync(list)
		if err != nil {
			t.Fatal(err)
		}
		return snapshot
	}
	before := sync(a, b, c)
	for _, order := range [][]*resourceapi.ResourceSlice{{b, c, a}, {c, a, b}, {c, b, a}, {a, c, b}, {b, a, c}} {
		if sync(order...) != before {
			t.Errorf("%s, %s, %s is another snapshot", order[0].Name, order[1].Name, order[2].Name)
		}
	}
	// What is there twice takes the place of what is gone, in three ways.
	for _, list := range [][]*resourceapi.ResourceSlice{{a, b, b}, {b, a, b}, {b, b, a}} {
		if sync(list...) == before {
			t.Errorf("%s, %s, %s is the same snapshot", list[0].Name, list[1].Name, list[2].Name)
		}
		before = sync(c, a, b)
	}
}

// A slice that stands in the list twice is two slices: too many for its pool, as
// upstream counts.
func TestASliceListedTwice(t *testing.T) {
	node := newNodeObject("n")
	s := newSlice("s", with("a"))
	inv := New()
	for i, c := range []struct {
		list []*resourceapi.ResourceSlice
		want string
	}{
		{[]*resourceapi.ResourceSlice{s}, "driver/s usable: a\n"},
		{[]*resourceapi.ResourceSlice{s, s}, "driver/s incomplete (2 of 1 slices are published):\n"},
		{[]*resourceapi.ResourceSlice{s, s}, "driver/s incomplete (2 of 1 slices are published):\n"},
		{[]*resourceapi.ResourceSlice{s, s, s}, "driver/s incomplete (3 of 1 slices are published):\n"},
		{[]*resourceapi.ResourceSlice{s}, "driver/s usable: a\n"},
	} {
		if got := describe(view(t, snapshotOf(t, inv, c.list...), node, all)); got != c.want {
			t.Errorf("list %d: %swant %s", i, got, c.want)
		}
	}
}

func TestANilSliceIsAnErrorThatChangesNothing(t *testing.T) {
	inv := New()
	s := newSlice("s", with("a"))
	before := snapshotOf(t, inv, s)
	for want, list := range map[string][]*resourceapi.ResourceSlice{
		"slice 1 of 1 is nil": {nil},
		"slice 2 of 3 is nil": {newSlice("t"), nil, newSlice("u")},
	} {
		if _, err := inv.Sync(list); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("the error is %v, want %s", err, want)
		}
	}
	if after := snapshotOf(t, inv, s); after != before {
		t.Error("the list with nil left a trace")
	}
}

// A panic leaves nothing half done: the next list is compiled from nothing.
func TestSyncAfterAPanic(t *testing.T) {
	nodes, list := cluster(2)
	inv := New()
	snapshotOf(t, inv, list...)
	clear(inv.pools) // Now removing a slice fails.
	func() {
		defer func() {
			if recover() == nil {
				t.Error("there was no panic")
			}
		}()
		inv.Sync(list[1:])
	}()
	after := snapshotOf(t, inv, list...)
	for _, node := range nodes {
		if got, want := describe(view(t, after, node, all)), describe(see(t, node.Name, list...)); got != want {
			t.Errorf("after a panic %s sees\n%swant\n%s", node.Name, got, want)
		}
	}
}

// Whatever happened before, a snapshot is that of its list: views equal those of
// an inventory that has seen nothing else. The lists are shuffled on top.
func TestHistoryDoesNotMatter(t *testing.T) {
	const seed = 23
	r := rand.New(rand.NewPCG(seed, seed))
	var nodes []*corev1.Node
	for i := range 4 {
		nodes = append(nodes, newNodeObject(fmt.Sprintf("node-%d", i), "zone", fmt.Sprint(i%2)))
	}
	inv := New()
	var list []*resourceapi.ResourceSlice
	seen := map[string]int{}
	for step := range 2000 {
		list = randomStep(r, list, step)
		if step%2 == 0 { // Else most slices stand where they stood.
			r.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
		}
		snapshot := snapshotOf(t, inv, list...)
		checkBooks(t, inv, list)
		other := slices.Clone(list)
		slices.Reverse(other)
		fresh := snapshotOf(t, New(), other...)
		for _, node := range nodes {
			for _, v := range []Variant{{}, {Partitionable: true}, {CompatibilityGroups: true}, all} {
				got, want := describe(view(t, snapshot, node, v)), describe(view(t, fresh, node, v))
				if got != want {
					t.Fatalf("seed %d, step %d, %s, %+v: sees\n%s, without history\n%s", seed, step, node.Name, v, got, want)
				}
				for _, word := range statuses {
					seen[word] += strings.Count(got, word)
				}
			}
		}
	}
	for _, word := range statuses {
		if seen[word] < 50 {
			t.Errorf("%q was seen %d times: too few to prove anything", word, seen[word])
		}
	}
}

// checkBooks counts again what the inventory has counted of its latest list.
func checkBooks(t *testing.T, inv *Inventory, list []*resourceapi.ResourceSlice) {
	t.Helper()
	if len(inv.list) != len(list) || len(inv.at) != len(list) {
		t.Fatalf("the inventory has %d places and %d entries there, want %d", len(inv.list), len(inv.at), len(list))
	}
	times, entries := map[*entry]int32{}, map[*Slice]int{}
	for i, api := range list {
		e := inv.at[i]
		if times[e]++; times[e] == 1 {
			entries[e.slice]++
		}
		if inv.list[i] != api || e.api != api || inv.known[api] != e || e.before != 0 || e.next != nil {
			t.Fatalf("place %d has the slice %p and the entry %+v, want %p", i, inv.list[i], e, api)
		}
	}
	if len(inv.known) != len(times) {
		t.Fatalf("the inventory knows %d pointers, want %d", len(inv.known), len(times))
	}
	for e, n := range times {
		if e.times != n || e.slice.entries != entries[e.slice] {
			t.Fatalf("%s stands in the list %d times in %d objects, want %d in %d", e.api.Name, e.times, e.slice.entries, n, entries[e.slice])
		}
	}
	for uid, s := range inv.byUID {
		if entries[s] == 0 {
			t.Fatalf("%s is still known by its UID %s", s.API.Name, uid)
		}
	}
}

// statuses are what a description says of pools, in a test that has to see all of it.
var statuses = []string{"usable", "incomplete", "disagree", "duplicate device", "not found", "binding", "tainted", "reached=true", "reached=false", "available"}

// randomStep adds, replaces, copies, repeats or removes one slice; pools are few, so that
// generations, counts and names meet.
func randomStep(r *rand.Rand, list []*resourceapi.ResourceSlice, step int) []*resourceapi.ResourceSlice {
	i := len(list)
	if i > 0 {
		i = r.IntN(len(list))
	}
	switch kind := r.IntN(10); {
	case len(list) > 0 && (kind < 3 || len(list) > 12):
		return slices.Delete(list, i, i+1)
	case len(list) > 0 && kind == 3:
		return append(list, list[i])
	case len(list) > 0 && kind == 4:
		return append(slices.Delete(slices.Clone(list), i, i+1), list[i].DeepCopy())
	case len(list) > 0 && kind == 5:
		c := list[i].DeepCopy()
		for j := range c.Spec.Devices {
			c.Spec.Devices[j].Taints = []resourceapi.DeviceTaint{{Key: "k", Effect: resourceapi.DeviceTaintEffectNoSchedule, Value: fmt.Sprint(step)}}
		}
		list[i] = c
		return list
	case len(list) > 0 && kind < 8:
		return republish(list, list[i].Spec.Pool.Name, step)
	}
	target := []change{
		onNode(fmt.Sprintf("node-%d", r.IntN(4))), onNodes("zone", fmt.Sprint(r.IntN(2))),
		perDevice, perDevice, nowhere, func(*resourceapi.ResourceSlice) {}, func(*resourceapi.ResourceSlice) {},
	}[r.IntN(7)]
	edits := []func(*resourceapi.Device){
		deviceOn(fmt.Sprintf("node-%d", r.IntN(4))), deviceOnNodes(selects("zone", corev1.NodeSelectorOpIn, "1")), draws("card", "memory", "1"), bindingConditions,
	}
	device, other := edits[r.IntN(4)], edits[r.IntN(4)]
	more := func(*resourceapi.ResourceSlice) {}
	switch r.IntN(6) {
	case 0, 1:
		more = counters("card", "memory", "4")
	case 2:
		device = func(d *resourceapi.Device) { draws("card", "memory", "2")(d); grouped("x")(d) }
	}
	name := fmt.Sprintf("slice-%02d-%d", r.IntN(20), step)
	if len(list) > 0 && r.IntN(2) == 0 {
		name = list[i].Name
		list = slices.DeleteFunc(list, func(s *resourceapi.ResourceSlice) bool { return s.Name == name })
	}
	return append(list, newSlice(name, version(fmt.Sprint(step+10)),
		pool(fmt.Sprintf("pool-%d", r.IntN(3)), 1+r.Int64N(5)/2), generation(1+r.Int64N(5)/4), target, more,
		with(fmt.Sprintf("dev-%d", r.IntN(9)), device), with(fmt.Sprintf("dev-%d", 9+r.IntN(9)), other)))
}

// republish is a driver that puts its pool in order: all slices agree.
func republish(list []*resourceapi.ResourceSlice, name string, step int) []*resourceapi.ResourceSlice {
	var others, members []*resourceapi.ResourceSlice
	for _, s := range list {
		if s.Spec.Pool.Name != name {
			others = append(others, s)
		} else if !slices.ContainsFunc(members, func(m *resourceapi.ResourceSlice) bool { return m.Name == s.Name }) {
			members = append(members, s.DeepCopy())
		}
	}
	for _, s := range members {
		s.ResourceVersion = fmt.Sprint(step + 10)
		s.Spec.Pool.Generation, s.Spec.Pool.ResourceSliceCount = 2, int64(len(members))
	}
	return append(others, members...)
}

func bindingConditions(d *resourceapi.Device) { d.BindingConditions = []string{"ready"} }
