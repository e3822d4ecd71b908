package request

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/dynamic-resource-allocation/structured/schedulerapi"

	"github.com/dray-dev/dray/allocator/internal/bitset"
	"github.com/dray-dev/dray/allocator/internal/search"
)

// deviceNames are the devices at positions of a bound problem.
func (b *Bound) deviceNames(positions bitset.Set) string {
	var list []string
	for position := range positions.All {
		pool, device := b.Node.Locate(position)
		list = append(list, b.Node.Pools[pool].At(device).Name)
	}
	return strings.Join(list, " ")
}

func (b *Bound) position(t *testing.T, name string) int {
	t.Helper()
	for pool, p := range b.Node.Pools {
		for device := range p.Devices {
			if p.At(device).Name == name {
				return b.Node.Position(pool, device)
			}
		}
	}
	t.Fatalf("no device %s", name)
	return 0
}

// edits of devices.
func model(name string) func(*resourceapi.Device) {
	return func(d *resourceapi.Device) {
		d.Attributes["model"] = resourceapi.DeviceAttribute{StringValue: &name}
	}
}

func multi(d *resourceapi.Device) { yes := true; d.AllowMultipleAllocations = &yes }

func capacity(pairs ...string) func(*resourceapi.Device) {
	return func(d *resourceapi.Device) { d.Capacity = capacities(pairs...).Capacity }
}

func taint(key string, effect resourceapi.DeviceTaintEffect) func(*resourceapi.Device) {
	return func(d *resourceapi.Device) {
		d.Taints = append(d.Taints, resourceapi.DeviceTaint{Key: key, Effect: effect})
	}
}

func bound(d *resourceapi.Device) { d.BindingConditions = []string{"ready"} }

func draws(d *resourceapi.Device) {
	d.ConsumesCounters = []resourceapi.DeviceCounterConsumption{{CounterSet: "card", Counters: map[string]resourceapi.Counter{"memory": {Value: resource.MustParse("1")}}}}
}

const isA = `device.attributes["driver"].model == "a"`

// Which devices a request for one may take, and on which it would fail, before
// anything is taken.
func TestCandidates(t *testing.T) {
	skipping := slice("skipping", device("skips"))
	skipping.Spec.SkipNodeOperations = []resourceapi.SkipNodeOperation{resourceapi.SkipNodeOperationAll}
	counters := slice("zcounters", device("draws", draws))
	counters.Spec.Pool.ResourceSliceCount = 2
	sets := slice("zcounters")
	sets.Name, sets.UID, sets.Spec.Pool.ResourceSliceCount = "zsets", "zsets", 2
	sets.Spec.SharedCounters = []resourceapi.CounterSet{{Name: "card", Counters: map[string]resourceapi.Counter{"memory": {Value: resource.MustParse("4")}}}}
	broken := slice("broken", device("twin"), device("twin"))
	half := slice("half", device("half"))
	half.Spec.Pool.ResourceSliceCount = 2

	tolerates := func(keys ...string) func(*resourceapi.ExactDeviceRequest) {
		return func(r *resourceapi.ExactDeviceRequest) {
			for _, key := range keys {
				r.Tolerations = append(r.Tolerations, resourceapi.DeviceToleration{Key: key, Operator: resourceapi.DeviceTolerationOpExists})
			}
		}
	}
	tainted := slice("tainted", device("plain"), device("one", taint("x", "NoSchedule")), device("two", taint("x", "NoExecute"), taint("y", "NoSchedule")), device("told", taint("z", "None")),
		device("both", taint("z", "None"), taint("x", "NoSchedule")))
	models := slice("models", device("a", model("a")), device("b", model("b")), device("none"))
	sized := slice("sized", device("small", capacity("memory", "10")), device("large", capacity("memory", "80")), device("other", capacity("links", "4")),
		device("shared", multi, capacity("memory", "80")), device("negative", capacity("memory", "-1")))

	for _, c := range []struct {
		name       string
		off        func(*Features)
		slices     []*resourceapi.ResourceSlice
		declared   string
		request    resourceapi.DeviceRequest
		candidates string
		faulty     string
	}{
		{name: "a selector", slices: []*resourceapi.ResourceSlice{models}, request: exactly("r", that(isA)), candidates: "a", faulty: "none"},
		{name: "several selectors: the first no ends it", slices: []*resourceapi.ResourceSlice{models}, request: exactly("r", that(`"model" in device.attributes["driver"]`, isA)), candidates: "a"},
		{name: "a fault after a match", slices: []*resourceapi.ResourceSlice{models}, request: exactly("r", that("true", isA)), candidates: "a", faulty: "none"},
		{name: "unusable pools are passed over", slices: []*resourceapi.ResourceSlice{broken, half, models}, request: exactly("r"), candidates: "a b none"},

		{name: "taints", slices: []*resourceapi.ResourceSlice{tainted}, request: exactly("r"), candidates: "plain told"},
		{name: "one taint is tolerated", slices: []*resourceapi.ResourceSlice{tainted}, request: exactly("r", tolerates("x")), candidates: "plain one told both"},
		{name: "all taints are tolerated", slices: []*resourceapi.ResourceSlice{tainted}, request: exactly("r", tolerates("y", "x")), candidates: "plain one two told both"},
		{name: "admin access does not tolerate", slices: []*resourceapi.ResourceSlice{tainted}, request: exactly("r", admin), candidates: "plain told"},
		{name: "taints without the feature", off: func(f *Features) { f.DeviceTaints = false }, slices: []*resourceapi.ResourceSlice{tainted}, request: exactly("r"), candidates: "plain one two told both"},

		{name: "binding conditions", slices: []*resourceapi.ResourceSlice{slice("p", device("waits", bound), device("plain"))}, request: exactly("r"), candidates: "waits plain"},
		{name: "binding conditions without the feature", off: func(f *Features) { f.DeviceBindingAndStatus = false }, slices: []*resourceapi.ResourceSlice{slice("p", device("waits", bound), device("plain"))}, request: exactly("r"), candidates: "plain"},
		{name: "then their selectors are not asked", off: func(f *Features) { f.DeviceBindingAndStatus = false }, slices: []*resourceapi.ResourceSlice{slice("p", device("waits", bound))}, request: exactly("r", that(isA))},

		{name: "skipped operations on a node that can", slices: []*resourceapi.ResourceSlice{models, skipping}, declared: SkippingFeature, request: exactly("r"), candidates: "a b none skips"},
		{name: "skipped operations on a node that cannot", slices: []*resourceapi.ResourceSlice{models, skipping}, declared: "Other", request: exactly("r"), candidates: "a b none"},
		{name: "skipped operations without the feature", off: func(f *Features) { f.OptionalNodeOperations = false }, slices: []*resourceapi.ResourceSlice{models, skipping}, declared: SkippingFeature, request: exactly("r"), candidates: "a b none"},
		{name: "but their selectors are asked", slices: []*resourceapi.ResourceSlice{skipping}, request: exactly("r", that(isA)), faulty: "skips"},

		{name: "counters", slices: []*resourceapi.ResourceSlice{models, counters, sets}, request: exactly("r"), candidates: "a b none draws"},
		{name: "counters without the feature", off: func(f *Features) { f.PartitionableDevices = false }, slices: []*resourceapi.ResourceSlice{models, counters, sets}, request: exactly("r"), candidates: "a b none"},

		{name: "capacity: enough, and there at all", slices: []*resourceapi.ResourceSlice{sized}, request: exactly("r", needs("memory", "20")), candidates: "large shared"},
		{name: "capacity: nothing asked for", slices: []*resourceapi.ResourceSlice{sized}, request: exactly("r"), candidates: "small large other shared", faulty: "negative"},
		{name: "capacity: an empty list asks for nothing", slices: []*resourceapi.ResourceSlice{sized}, request: exactly("r", needs()), candidates: "small large other shared", faulty: "negative"},
	} {
		s := on(c.slices...)
		if c.off != nil {
			c.off(&s.features)
		}
		s.declared = []string{"A", c.declared}
		b := s.mustBind(t, claim("c", c.request))
		a := &b.Problem.Claims[0].Requests[0].Alternatives[0]
		toBeHad := a.Candidates.Clone()
		if a.Full != nil {
			toBeHad.AndNot(a.Full)
		}
		if got := b.deviceNames(toBeHad); got != c.candidates {
			t.Errorf("%s: the candidates are %q, want %q", c.name, got, c.candidates)
		}
		if got := b.deviceNames(a.Faulty); got != c.faulty {
			t.Errorf("%s: faulty are %q, want %q", c.name, got, c.faulty)
		}
		if a.Count != 1 || a.All || a.Members != nil {
			t.Errorf("%s: the request has become %+v", c.name, a)
		}
	}
}

// Devices beyond the first word of a set are metered like the others.
func TestManyDevicesAreMetered(t *testing.T) {
	var list []resourceapi.Device
	for i := range 200 {
		memory := "8"
		if i%3 == 0 {
			memory = "80"
		}
		list = append(list, device(fmt.Sprint(i), capacity("memory", memory)))
	}
	b := on(slice("p", list...)).mustBind(t, claim("c", exactly("r", needs("memory", "10"))))
	candidates := b.Problem.Claims[0].Requests[0].Alternatives[0].Candidates
	for i := range list {
		if got, want := candidates.Has(b.Node.Position(0, i)), i%3 == 0; got != want {
			t.Errorf("device %d is a candidate: %v, want %v", i, got, want)
		}
	}
}

// A request for all lists its devices beforehand, whether or not they can be had.
func TestMembersOfAll(t *testing.T) {
	p := slice("p", device("a", model("a"), capacity("memory", "8")), device("b", model("a"), capacity("memory", "8"), taint("x", "NoSchedule")), device("c", model("c"), capacity("memory", "2")))
	s := on(p)
	s.state.AggregatedCapacity = schedulerapi.NewConsumedCapacityCollection()
	s.state.AggregatedCapacity.Insert(schedulerapi.NewDeviceConsumedCapacity(schedulerapi.MakeDeviceID("driver", "p", "a"), map[resourceapi.QualifiedName]resource.Quantity{"memory": resource.MustParse("5")}))
	for _, c := range []struct {
		name                string
		request             resourceapi.DeviceRequest
		members, candidates string
	}{
		{"all", exactly("r", allDevices), "a b c", "c"},                                          // b is tainted, others have shares of a
		{"all that match", exactly("r", allDevices, that(isA)), "a b", ""},                       //
		{"all that are large enough", exactly("r", allDevices, needs("memory", "3")), "a b", ""}, // a has 3 left, but its shares keep it
		{"all with admin access", exactly("r", allDevices, admin), "a b c", "c"},                 // nothing of a is left for all it has
		{"all with admin access, for a part", exactly("r", allDevices, admin, needs("memory", "3")), "a b", "a"},
		{"none", exactly("r", allDevices, that("false")), "", ""},
	} {
		b := s.mustBind(t, claim("c", c.request))
		a := &b.Problem.Claims[0].Requests[0].Alternatives[0]
		members := b.Node.NewSet()
		for _, position := range a.Members {
			members.Add(position)
		}
		if got := b.deviceNames(members); got != c.members || !a.All || a.Count != len(a.Members) || !slices.IsSorted(a.Members) {
			t.Errorf("%s: the members are %q, count %d; want %q", c.name, got, a.Count, c.members)
		}
		toBeHad := a.Candidates.Clone()
		if a.Full != nil {
			toBeHad.AndNot(a.Full)
		}
		if got := b.deviceNames(toBeHad); got != c.candidates {
			t.Errorf("%s: to be had are %q, want %q", c.name, got, c.candidates)
		}
	}
}

func TestAllOverAnUnusablePoolFailsTheNode(t *testing.T) {
	half, twins := slice("half", device("a")), slice("twins", device("a"), device("a"))
	half.Spec.Pool.ResourceSliceCount = 2
	all := claim("c", exactly("r", allDevices))
	for _, c := range []struct {
		slices []*resourceapi.ResourceSlice
		want   string
	}{
		{[]*resourceapi.ResourceSlice{half, twins}, "claim ns/c, request r: asks for all devices, but resource pool driver/half is currently being updated"},
		{[]*resourceapi.ResourceSlice{twins}, "claim ns/c, request r: asks for all devices, but resource pool driver/twins is currently invalid"},
		// A fault in a pool before it comes first.
		{[]*resourceapi.ResourceSlice{slice("first", device("a", capacity("memory", "-1"))), twins}, `claim ns/c, request r: checking capacity for device a: capacity "memory": capacity value is negative`},
	} {
		_, err := on(c.slices...).bind(t, all)
		if text(err) != c.want {
			t.Errorf("the error is %v, want %s", err, c.want)
		}
		var input *InputError
		if onNode := errors.Is(err, ErrFailedOnNode); onNode == errors.As(err, &input) {
			t.Errorf("%v: of the node: %v, of an input: %v", err, onNode, !onNode)
		}
	}
}

// What other claims hold comes from the allocated state, by position.
func TestBoundUsage(t *testing.T) {
	s := on(slice("p", device("a"), device("b", multi), device("c")), slice("q", device("d", multi), device("e")))
	id := schedulerapi.MakeDeviceID
	s.state = schedulerapi.AllocatedState{
		AllocatedDevices:         sets.New(id("driver", "p", "c"), id("driver", "q", "e")),
		AllocatedSharedDeviceIDs: sets.New(schedulerapi.MakeSharedDeviceID(id("driver", "q", "d"), nil), schedulerapi.MakeSharedDeviceID(id("driver", "p", "a"), nil)),
	}
	b := s.mustBind(t, claim("c", exactly("r"), exactly("s", admin)))
	p := &b.Problem
	if got := [3]string{b.deviceNames(p.InUse), b.deviceNames(p.Shared), b.deviceNames(p.MultiAllocatable)}; got != [3]string{"c e", "a d", "b d"} {
		t.Errorf("in use, shared and to be shared are %q", got)
	}
	// docs/deviations.md 4: a cannot be shared any more and somebody has a share.
	for i, want := range []string{"b c d e", "a b c d e"} {
		if got := b.deviceNames(p.Claims[0].Requests[i].Alternatives[0].Candidates); got != want {
			t.Errorf("candidates of request %d are %q, want %q", i, got, want)
		}
	}
	s.features.ConsumableCapacity = false
	b = s.mustBind(t, claim("c", exactly("r")))
	if got := b.deviceNames(b.Problem.MultiAllocatable); got != "" {
		t.Errorf("without the feature %q can be shared", got)
	}
	for position, share := range b.Problem.ShareOf {
		if share != -1 {
			t.Errorf("without the feature there is a share at %d", position)
		}
	}
}

// Counters and groups come with the pool that they are of, less what other claims hold.
func TestBoundCounters(t *testing.T) {
	p, counters := slice("q", device("a", draws), device("b", draws)), slice("q")
	counters.Name, counters.UID = "counters", "counters"
	p.Spec.Pool.ResourceSliceCount, counters.Spec.Pool.ResourceSliceCount = 2, 2
	counters.Spec.SharedCounters = []resourceapi.CounterSet{{Name: "card", Counters: map[string]resourceapi.Counter{"memory": {Value: resource.MustParse("4")}}}}
	p.Spec.Devices[0].ConsumesCounters[0].CompatibilityGroups = []string{"x"}
	s := on(slice("p", device("plain")), p, counters)
	s.state.AllocatedDevices = sets.New(schedulerapi.MakeDeviceID("driver", "q", "a"))
	b := s.mustBind(t, claim("c", exactly("r")))
	problem := &b.Problem
	if problem.Pools[0].Counters != nil || problem.Pools[0].First != b.position(t, "plain") {
		t.Errorf("the pool without counters is %+v", problem.Pools[0])
	}
	q := problem.Pools[1]
	if q.First != b.position(t, "a") || q.Counters == nil || !slices.Equal(q.MemberOf, []int{0, 1}) || !slices.Equal(q.Left.Narrow, []int64{3000}) {
		t.Errorf("the pool with counters begins at %d, its devices are members %v, %v is left", q.First, q.MemberOf, q.Left)
	}
	if len(q.Groups) != 1 || q.Groups[0].Admits(nil) || !q.Groups[0].Admits(q.Counters.GroupsOf(0)[0].Groups) {
		t.Errorf("the groups are %+v, want those of the allocated device", q.Groups)
	}
	if !problem.GroupsEnforced {
		t.Error("groups are not enforced with the feature")
	}
	s.features.CompatibilityGroups = false
	if s.mustBind(t, claim("c", exactly("r"))).Problem.GroupsEnforced {
		t.Error("groups are enforced without the feature")
	}
}

// Shares are in one unit for each device: what is left of it, and what each
// alternative takes.
func TestBoundShares(t *testing.T) {
	s := on(slice("p",
		device("whole", capacity("memory", "80")),
		device("a", multi, capacity("memory", "80", "links", "4")),
		device("b", multi, capacity("memory", "1")),
		device("bare", multi)))
	s.state.AggregatedCapacity = schedulerapi.NewConsumedCapacityCollection()
	s.state.AggregatedCapacity.Insert(schedulerapi.NewDeviceConsumedCapacity(schedulerapi.MakeDeviceID("driver", "p", "a"), map[resourceapi.QualifiedName]resource.Quantity{"memory": resource.MustParse("30")}))
	b := s.mustBind(t, claim("c", exactly("r", needs("memory", "500m")), exactly("s")))
	p := &b.Problem
	for _, c := range []struct {
		device, left, first, second string
	}{
		// Without a request a share is all there is, of every capacity: links, memory.
		{"a", "[4000 50000]", "[4000 500]", "[4000 80000]"},
		{"b", "[1000]", "[500]", "[1000]"},
		{"bare", "[]", "[]", "[]"},
	} {
		share := p.ShareOf[b.position(t, c.device)]
		if share < 0 {
			t.Errorf("%s cannot be shared", c.device)
			continue
		}
		got := []string{fmt.Sprint(p.Shares[share].Narrow)}
		for _, request := range p.Claims[0].Requests {
			demand := "[]"
			if demands := request.Alternatives[0].Demands; demands != nil {
				demand = fmt.Sprint(demands[share].Narrow)
			}
			got = append(got, demand)
		}
		if want := []string{c.left, c.first, c.second}; !slices.Equal(got, want) {
			t.Errorf("of %s is left %s, the requests take %s and %s; want %s", c.device, got[0], got[1], got[2], want)
		}
	}
	if p.ShareOf[b.position(t, "whole")] != -1 {
		t.Error("a device that cannot be shared has a share")
	}
	if got := b.deviceNames(p.Claims[0].Requests[0].Alternatives[0].Candidates); got != "whole a b" {
		t.Errorf("candidates of request r are %q, want those that have memory", got)
	}
}

// Equal values of a constraint have equal numbers, wherever the devices are.
func TestConstraintValues(t *testing.T) {
	list := func(values ...string) func(*resourceapi.Device) {
		return func(d *resourceapi.Device) {
			d.Attributes["model"] = resourceapi.DeviceAttribute{StringValues: values}
		}
	}
	opaque := func(d *resourceapi.Device) { d.Attributes["model"] = resourceapi.DeviceAttribute{} }
	s := on(slice("p", device("a", model("x")), device("b", model("y")), device("none"), device("strange", opaque), device("ab", list("x", "y"))),
		slice("q", device("c", model("x")), device("ba", list("y", "x", "y")), device("d", list("y"))))
	c := claim("c", exactly("r"), firstAvailable("f", sub("s"), sub("t")))
	c.Spec.Devices.Constraints = []resourceapi.DeviceConstraint{match("driver/model"), match("driver/model", "f/t")}

	for _, lists := range []bool{false, true} {
		s.features.ListTypeAttributes = lists
		b := s.mustBind(t, c)
		claim := &b.Problem.Claims[0]
		if claim.Requests[0].Prioritized || !claim.Requests[1].Prioritized {
			t.Errorf("requests have alternatives: %v and %v, want the second alone", claim.Requests[0].Prioritized, claim.Requests[1].Prioritized)
		}
		covered := []int{len(claim.Requests[0].Alternatives[0].Tests), len(claim.Requests[1].Alternatives[0].Tests), len(claim.Requests[1].Alternatives[1].Tests)}
		if !slices.Equal(covered, []int{1, 1, 2}) || claim.Requests[1].Alternatives[1].Tests[1].Constraint != 1 {
			t.Fatalf("the alternatives are under %v constraints", covered)
		}
		test := claim.Requests[0].Alternatives[0].Tests[0]
		value := func(name string) int32 { return test.Values[b.position(t, name)] }
		if value("none") != search.Absent || value("strange") != search.Opaque || value("a") < search.FirstValue {
			t.Errorf("lists %v: a, none and strange have the values %d, %d, %d", lists, value("a"), value("none"), value("strange"))
		}
		if value("a") != value("c") || value("a") == value("b") {
			t.Errorf("lists %v: x, x and y are %d, %d and %d", lists, value("a"), value("c"), value("b"))
		}
		if !lists {
			if value("ab") != search.Opaque || claim.Constraints[0].Lists || len(claim.Constraints[0].Sets) != 0 {
				t.Errorf("without lists a list has the value %d, the constraint is %+v", value("ab"), claim.Constraints[0])
			}
			continue
		}
		set := func(name string) bitset.Set { return claim.Constraints[0].Sets[value(name)-search.FirstValue] }
		if value("ab") != value("ba") || value("d") != value("b") || !claim.Constraints[0].Lists {
			t.Errorf("x,y and y,x,y are %d and %d; y alone is %d and %d", value("ab"), value("ba"), value("d"), value("b"))
		}
		if set("ab").Count() != 2 || !set("ab").Intersects(set("a")) || set("a").Intersects(set("b")) || len(set("a")) != len(set("ab")) {
			t.Errorf("the sets are %v", claim.Constraints[0].Sets)
		}
	}
}

func TestDistinctAttribute(t *testing.T) {
	c := claim("c", exactly("r"))
	name := resourceapi.FullyQualifiedName("driver/model")
	c.Spec.Devices.Constraints = []resourceapi.DeviceConstraint{{DistinctAttribute: &name, Requests: []string{"r"}}, match("driver/model", "other")}
	b := on(slice("p", device("a", model("x")))).mustBind(t, c)
	constraints := b.Problem.Claims[0].Constraints
	if len(constraints) != 2 || !constraints[0].Distinct || constraints[1].Distinct {
		t.Errorf("the constraints are %+v, want distinct and match", constraints)
	}
	if tests := b.Problem.Claims[0].Requests[0].Alternatives[0].Tests; len(tests) != 1 || tests[0].Constraint != 0 {
		t.Errorf("the request is under %+v, want the first constraint", tests)
	}
}

// What shares have consumed is input, too.
func TestConsumedCapacityThatNoComputerHolds(t *testing.T) {
	s := on(slice("p", device("a", multi, capacity("memory", "80"))))
	s.state.AggregatedCapacity = schedulerapi.NewConsumedCapacityCollection()
	s.state.AggregatedCapacity.Insert(schedulerapi.NewDeviceConsumedCapacity(schedulerapi.MakeDeviceID("driver", "p", "a"), map[resourceapi.QualifiedName]resource.Quantity{"memory": resource.MustParse("1e2000")}))
	b := s.mustBind(t, claim("c", exactly("r")))
	if got := b.deviceNames(b.Problem.Claims[0].Requests[0].Alternatives[0].Faulty); got != "a" {
		t.Errorf("faulty are %q, want a", got)
	}
}

// A derived attribute takes the place of the published one for its request only.
func TestDerivedValues(t *testing.T) {
	derive := func(expression string) func(*resourceapi.ExactDeviceRequest) {
		return func(r *resourceapi.ExactDeviceRequest) {
			r.DerivedAttributes = []resourceapi.DeviceDerivedAttribute{{Name: "driver/model", Expression: expression}}
		}
	}
	s := on(slice("p", device("a", model("x")), device("b", model("y")), device("none")))
	c := claim("c", exactly("r"), exactly("s", derive(`device.attributes["driver"].model == "x" ? "y" : "x"`)))
	c.Spec.Devices.Constraints = []resourceapi.DeviceConstraint{match("driver/model")}
	b := s.mustBind(t, c)
	published, derived := b.Problem.Claims[0].Requests[0].Alternatives[0].Tests[0].Values, b.Problem.Claims[0].Requests[1].Alternatives[0].Tests[0].Values
	x, y, none := b.position(t, "a"), b.position(t, "b"), b.position(t, "none")
	if derived[x] != published[y] || derived[y] != published[x] || published[x] == published[y] {
		t.Errorf("published are %d and %d, derived %d and %d; want them crossed", published[x], published[y], derived[x], derived[y])
	}
	if published[none] != search.Absent || derived[none] != search.Unknown {
		t.Errorf("without the attribute the values are %d and %d, want absent and unknown", published[none], derived[none])
	}
}

func TestTheEndOfTheContextIsTheError(t *testing.T) {
	cause := errors.New("the pod is gone")
	ctx, cancel := context.WithCancelCause(context.Background())
	cancel(cause)
	slow := `[0,1,2,3,4,5,6,7,8,9].all(a, [0,1,2,3,4,5,6,7,8,9].all(b, [0,1,2,3,4,5,6,7,8,9].all(c, a + b + c >= 0)))`
	derived := exactly("r", func(r *resourceapi.ExactDeviceRequest) {
		r.DerivedAttributes = []resourceapi.DeviceDerivedAttribute{{Name: "driver/model", Expression: slow}}
	})
	for _, request := range []resourceapi.DeviceRequest{exactly("r", that(slow)), exactly("r", allDevices, that(slow)), derived} {
		s := on(slice("p", device("a")))
		b := s.mustBind(t) // for its target
		c := claim("c", request)
		c.Spec.Devices.Constraints = []resourceapi.DeviceConstraint{match("driver/model")}
		compiled, err := Compile(s.features, s.classes, []*resourceapi.ResourceClaim{c})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := Bind(ctx, compiled, b.Target); err != cause {
			t.Errorf("the error is %v, want the context's cause", err)
		}
	}
}
