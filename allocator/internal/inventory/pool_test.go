package inventory

import (
	"slices"
	"testing"

	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// What a node sees of one pool, by the rules for generations, completeness and
// contradictions. The node is n; other is another one.
func TestPools(t *testing.T) {
	const same = "as with all features"
	p := func(count int64) change { return pool("p", count) }
	for _, c := range []struct {
		name  string
		list  []*resourceapi.ResourceSlice
		want  string // as describe has it
		basic string // with no features
	}{
		{
			"a complete pool is usable: slices by name, devices as listed",
			[]*resourceapi.ResourceSlice{newSlice("s2", p(2), with("a")), newSlice("s1", p(2), with("z"), with("b"))},
			"driver/p usable: z b a\n", same,
		}, {
			"a slice is missing",
			[]*resourceapi.ResourceSlice{newSlice("s1", p(3), with("a")), newSlice("s2", p(3), with("b"))},
			"driver/p incomplete (2 of 3 slices are published):\n", same,
		}, {
			"a slice too many",
			[]*resourceapi.ResourceSlice{newSlice("s1", p(1), with("a")), newSlice("s2", p(1), with("b"))},
			"driver/p incomplete (2 of 1 slices are published):\n", same,
		}, {
			"a pool that says it has no slices has one too many",
			[]*resourceapi.ResourceSlice{newSlice("s1", p(0), with("a"))},
			"driver/p incomplete (1 of 0 slices are published):\n", same,
		}, {
			"the other slice is another node's: the pool is complete all the same",
			[]*resourceapi.ResourceSlice{newSlice("s1", p(2), onNode("n"), with("a")), newSlice("s2", p(2), onNode("other"), with("b"))},
			"driver/p usable: a\n", same,
		}, {
			"two slices that name the node",
			[]*resourceapi.ResourceSlice{newSlice("s1", p(2), onNode("n"), with("a")), newSlice("s2", p(2), onNode("n"), with("b"))},
			"driver/p usable: a b\n", same,
		}, {
			"as many as there should be are in reach, although more are published",
			[]*resourceapi.ResourceSlice{newSlice("s1", p(1), onNode("n"), with("a")), newSlice("s2", p(1), onNode("other"), with("b"))},
			"driver/p usable: a\n", same,
		}, {
			"a slice that nobody reaches counts",
			[]*resourceapi.ResourceSlice{newSlice("s1", p(2), with("a")), newSlice("s2", p(2), nowhere, with("b"))},
			"driver/p usable: a\n", same,
		}, {
			"nothing of the pool is in reach",
			[]*resourceapi.ResourceSlice{newSlice("s1", p(1), onNode("other"), with("a")), newSlice("s2", pool("q", 1), nowhere, with("b"))},
			"", same,
		}, {
			"an older generation is dropped",
			[]*resourceapi.ResourceSlice{newSlice("s1", p(1), generation(1), with("a")), newSlice("s2", p(1), generation(2), with("b"))},
			"driver/p usable: b\n", same,
		}, {
			"an older generation does not complete a newer one",
			[]*resourceapi.ResourceSlice{newSlice("s1", p(2), generation(1), with("a")), newSlice("s2", p(2), generation(2), with("b"))},
			"driver/p incomplete (1 of 2 slices are published):\n", same,
		}, {
			"an older generation is dropped even if the newer one is elsewhere (docs/deviations.md 5)",
			[]*resourceapi.ResourceSlice{newSlice("s1", p(1), generation(1), onNode("n"), with("a")), newSlice("s2", p(1), generation(2), onNode("other"), with("b"))},
			"", same,
		}, {
			"slices that disagree about their number (docs/deviations.md 2)",
			[]*resourceapi.ResourceSlice{newSlice("s2", p(2), with("a")), newSlice("s1", p(1), with("b")), newSlice("s3", p(2), with("c"))},
			"driver/p invalid (slices disagree about resourceSliceCount: s1 says 1, s2 says 2):\n", same,
		}, {
			"an older generation may disagree",
			[]*resourceapi.ResourceSlice{newSlice("s1", p(7), generation(1), with("a")), newSlice("s2", p(1), generation(2), with("b"))},
			"driver/p usable: b\n", same,
		}, {
			"a device name twice in a slice",
			[]*resourceapi.ResourceSlice{newSlice("s1", p(1), with("a"), with("b"), with("a"))},
			"driver/p invalid (duplicate device name a):\n", same,
		}, {
			"a device name in two slices",
			[]*resourceapi.ResourceSlice{newSlice("s1", p(2), with("a"), with("b")), newSlice("s2", p(2), with("c"), with("b"))},
			"driver/p invalid (duplicate device name b):\n", same,
		}, {
			"a device name that is another node's, too, is not seen",
			[]*resourceapi.ResourceSlice{newSlice("s1", p(2), onNode("n"), with("a")), newSlice("s2", p(2), onNode("other"), with("a"))},
			"driver/p usable: a\n", same,
		}, {
			"an incomplete pool is not looked into",
			[]*resourceapi.ResourceSlice{newSlice("s1", p(2), with("a"), with("a"))},
			"driver/p incomplete (1 of 2 slices are published):\n", same,
		}, {
			"a pool of another driver is another pool",
			[]*resourceapi.ResourceSlice{newSlice("s1", p(1), with("a")), newSlice("s2", p(1), driver("b.driver"), with("a"))},
			"b.driver/p usable: a\ndriver/p usable: a\n", same,
		}, {
			"a slice without devices",
			[]*resourceapi.ResourceSlice{newSlice("s1", p(1))},
			"driver/p usable:\n", same,
		}, {
			"a counter set that no slice defines",
			[]*resourceapi.ResourceSlice{newSlice("s1", p(1), with("a", draws("card", "memory", "1")))},
			"driver/p invalid (counter set card not found):\n", "driver/p usable: a counters\n",
		}, {
			"a counter that the set does not have",
			[]*resourceapi.ResourceSlice{newSlice("s1", p(2), counters("card", "slices", "1")), newSlice("s2", p(2), with("a", draws("card", "memory", "1")))},
			"driver/p invalid (counter memory not found in counter set card):\n", "driver/p usable: a counters\n",
		}, {
			"a counter set twice; without the feature, slices with counters are for nobody",
			[]*resourceapi.ResourceSlice{newSlice("s1", p(2), counters("card", "memory", "1")), newSlice("s2", p(2), counters("card", "memory", "1"))},
			"driver/p invalid (duplicate counter set name card):\n", "",
		}, {
			"a device with two entries for one counter set",
			[]*resourceapi.ResourceSlice{newSlice("s1", p(2), counters("card", "memory", "2")), newSlice("s2", p(2), with("a", draws("card", "memory", "1"), draws("card", "memory", "1")))},
			"driver/p invalid (device a consumes counter set card in two entries):\n", "driver/p usable: a counters\n",
		}, {
			"a counter that no computer holds",
			[]*resourceapi.ResourceSlice{newSlice("s1", p(2), counters("card", "memory", "1e2000")), newSlice("s2", p(2), with("a"))},
			"driver/p invalid (counter memory in counter set card: exponent 2000 is outside ±1000):\n", "driver/p usable: a\n",
		}, {
			"a device that draws more than a computer holds",
			[]*resourceapi.ResourceSlice{newSlice("s1", p(2), counters("card", "memory", "1")), newSlice("s2", p(2), with("a", draws("card", "memory", "1e2000")))},
			"driver/p invalid (device a, counter memory in counter set card: exponent 2000 is outside ±1000):\n", "driver/p usable: a counters\n",
		}, {
			"counters on another node's slice are checked, too",
			[]*resourceapi.ResourceSlice{newSlice("s1", p(2), onNode("n"), with("a")), newSlice("s2", p(2), onNode("other"), with("b", draws("card", "memory", "1")))},
			"driver/p invalid (counter set card not found):\n", "driver/p usable: a\n",
		}, {
			"but not if the pool is complete without it",
			[]*resourceapi.ResourceSlice{newSlice("s1", p(1), onNode("n"), with("a")), newSlice("s2", p(1), onNode("other"), with("b", draws("card", "memory", "1")))},
			"driver/p usable: a\n", same,
		},
	} {
		inv := New()
		snapshot := snapshotOf(t, inv, c.list...)
		node := newNodeObject("n")
		if got := describe(view(t, snapshot, node, all)); got != c.want {
			t.Errorf("%s:\n%swant\n%s", c.name, got, c.want)
		}
		if c.basic == same {
			c.basic = c.want
		}
		if got := describe(view(t, snapshot, node, Variant{})); got != c.basic {
			t.Errorf("%s, without features:\n%swant\n%s", c.name, got, c.basic)
		}
	}
}

// What a feature that is off makes invisible.
func TestVariants(t *testing.T) {
	list := []*resourceapi.ResourceSlice{
		// Counters are understood or not; the device is there either way.
		newSlice("c1", pool("counters", 2), counters("card", "memory", "4"), with("hidden")),
		newSlice("c2", pool("counters", 2), with("a", draws("card", "memory", "1"))),
		// Groups make the slice count for nothing, hence the pool is incomplete.
		newSlice("g1", pool("groups", 3), counters("card", "memory", "4")),
		newSlice("g2", pool("groups", 3), with("a", draws("card", "memory", "1"), grouped("x"))),
		newSlice("g3", pool("groups", 3), with("b")),
		// Devices that name their nodes are for nobody, but their slice counts.
		newSlice("p1", pool("per-device", 2), perDevice, with("a", deviceOn("n"))),
		newSlice("p2", pool("per-device", 2), with("b")),
		// Even where the field says false.
		newSlice("q1", pool("per-slice", 1), func(s *resourceapi.ResourceSlice) {
			no, yes := false, true
			s.Spec.PerDeviceNodeSelection, s.Spec.AllNodes = &no, &yes
		}, with("a")),
	}
	inv := New()
	snapshot := snapshotOf(t, inv, list...)
	for _, c := range []struct {
		variant Variant
		want    string
	}{
		{all, "driver/counters usable: a counters member 0 sets [{card 0 1}] [memory] available {[4000] []} uses [0 1] [{0}] drawn {[1000] []} groups [0 1] [{0 []}]\n" +
			"driver/groups usable: a counters member 0 b member 1 sets [{card 0 1}] [memory] available {[4000] []} uses [0 1 1] [{0}] drawn {[1000] []} groups [0 1 1] [{0 [0]}]\n" +
			"driver/per-device usable: a reached=true,false,<nil> b\n" +
			"driver/per-slice usable: a\n"},
		{Variant{Partitionable: true}, "driver/counters usable: a counters member 0 sets [{card 0 1}] [memory] available {[4000] []} uses [0 1] [{0}] drawn {[1000] []} groups [0 1] [{0 []}]\n" +
			"driver/groups incomplete (2 of 3 slices are published):\n" +
			"driver/per-device usable: a reached=true,false,<nil> b\n" +
			"driver/per-slice usable: a\n"},
		{Variant{CompatibilityGroups: true}, "driver/counters usable: a counters\n" +
			"driver/groups usable: a counters b\n" +
			"driver/per-device usable: b\n"},
		{Variant{}, "driver/counters usable: a counters\n" +
			"driver/groups incomplete (2 of 3 slices are published):\n" +
			"driver/per-device usable: b\n"},
	} {
		if got := describe(view(t, snapshot, newNodeObject("n"), c.variant)); got != c.want {
			t.Errorf("with %+v the node sees\n%swant\n%s", c.variant, got, c.want)
		}
	}
}

// Pools come by driver and name; those with binding conditions after all others,
// and even an empty list of conditions makes a pool one of those.
func TestPoolOrder(t *testing.T) {
	n := see(t, "n",
		newSlice("s1", pool("b", 1), driver("y"), with("1")),
		newSlice("s2", pool("a", 1), driver("y"), with("2", bindingConditions), with("3")),
		newSlice("s3", pool("a", 1), driver("x"), with("4", func(d *resourceapi.Device) { d.BindingConditions = []string{} })),
		newSlice("s4", pool("c", 1), driver("x"), with("5")),
		newSlice("s5", pool("c", 2), driver("y"), with("6")),
		newSlice("s6", pool("aa", 1), driver("x"), with("7")),
		newSlice("s7", pool("a", 1), driver("xx"), with("8")),
	)
	var order []string
	for _, p := range n.Pools {
		order = append(order, p.String())
	}
	if want := []string{"x/aa", "x/c", "xx/a", "y/b", "y/c", "x/a", "y/a"}; !slices.Equal(order, want) {
		t.Errorf("pools are tried in the order %v, want %v", order, want)
	}
	for position, want := range map[int]string{0: "7", 64: "5", 128: "8", 192: "1", 256: "4", 320: "2", 321: "3"} {
		pool, device := n.Locate(position)
		if got := n.Pools[pool].At(device).Name; got != want {
			t.Errorf("at position %d is device %s, want %s", position, got, want)
		}
	}
	if n.Invalid() != nil {
		t.Errorf("Invalid is %s, want none", n.Invalid())
	}
}

func TestInvalidIsTheFirstInvalidPool(t *testing.T) {
	n := see(t, "n",
		newSlice("s1", pool("a", 2), with("1")),
		newSlice("s2", pool("c", 1), with("1"), with("1")),
		newSlice("s3", pool("b", 1), with("2"), with("2")),
	)
	if got := n.Invalid(); got == nil || got.Name != "b" {
		t.Errorf("Invalid is %v, want pool b", got)
	}
	if got := see(t, "n", newSlice("s1", with("1"), with("1"))).Invalid(); got == nil || got.Name != "s1" {
		t.Errorf("Invalid is %v, want the only pool", got)
	}
}

func TestWhatIsKnownOfADevice(t *testing.T) {
	one, negative := resource.MustParse("1"), resource.MustParse("-1")
	capacity := func(c resourceapi.DeviceCapacity) func(*resourceapi.Device) {
		return func(d *resourceapi.Device) {
			d.Capacity = map[resourceapi.QualifiedName]resourceapi.DeviceCapacity{"c": c}
		}
	}
	multi := func(yes bool) func(*resourceapi.Device) {
		return func(d *resourceapi.Device) { d.AllowMultipleAllocations = &yes }
	}
	n := see(t, "n",
		newSlice("s1", pool("p", 2),
			with("plain", capacity(resourceapi.DeviceCapacity{Value: one})),
			with("shared", multi(true)),
			with("exclusive", multi(false)),
			with("policy", capacity(resourceapi.DeviceCapacity{Value: one, RequestPolicy: &resourceapi.CapacityRequestPolicy{}})),
			with("negative", capacity(resourceapi.DeviceCapacity{Value: negative})),
			with("no-schedule", tainted("k", resourceapi.DeviceTaintEffectNoSchedule)),
			with("no-execute", tainted("l", resourceapi.DeviceTaintEffectNone), tainted("k", resourceapi.DeviceTaintEffectNoExecute)),
			with("informed", tainted("k", resourceapi.DeviceTaintEffectNone)),
			with("future", tainted("k", "Scold")),
			with("binding", bindingConditions)),
		newSlice("s2", pool("p", 2), with("skips"), func(s *resourceapi.ResourceSlice) {
			s.Spec.SkipNodeOperations = []resourceapi.SkipNodeOperation{resourceapi.SkipNodeOperationAll}
		}),
	)
	want := "driver/p usable: plain shared multi exclusive policy metered negative metered no-schedule tainted no-execute tainted informed future binding binding skips skips\n"
	if got := describe(n); got != want {
		t.Errorf("the node sees\n%swant\n%s", got, want)
	}
}

func TestDeviceAndIDAgree(t *testing.T) {
	list := []*resourceapi.ResourceSlice{
		newSlice("s1", pool("p", 3), with("a"), with("b")), newSlice("s2", pool("p", 3)), newSlice("s3", pool("p", 3), with("c")),
	}
	p := see(t, "n", list...).Pools[0]
	for number, want := range []string{"a", "b", "c"} {
		device, slice := p.Device(number)
		if device.Name != want || p.DeviceID(number).String() != "driver/p/"+want || p.At(number) != device {
			t.Errorf("device %d is %s, its ID %s, want %s", number, device.Name, p.DeviceID(number), want)
		}
		if !slices.Contains(list, slice) || !slices.ContainsFunc(slice.Spec.Devices, func(d resourceapi.Device) bool { return d.Name == want }) {
			t.Errorf("device %s is said to be from slice %s", want, slice.Name)
		}
	}
	if p.Len() != 3 || p.DriverName() != "driver" || p.String() != "driver/p" {
		t.Errorf("the pool is %d devices of %s, %s", p.Len(), p.DriverName(), p)
	}
}
