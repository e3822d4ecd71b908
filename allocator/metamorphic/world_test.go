package metamorphic

import (
	"maps"
	"math/rand/v2"
	"slices"

	resourceapi "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/dray-dev/dray/allocator/allocatortest"
)

// world is the cluster at one moment. Its objects are published: a step that
// changes one puts a changed copy in its place.
type world struct {
	allocatortest.Scenario
	// twice is listed a second time after this step, if it is not nil.
	twice *resourceapi.ResourceSlice
	// gone are slices that were deleted or replaced, oldest first.
	gone []*resourceapi.ResourceSlice
	// answers are those to the latest question, by node.
	answers []allocatortest.Outcome
	serial  int // for names and IDs that were not used before
}

func newWorld(start *allocatortest.Scenario) *world {
	w := &world{Scenario: *start.Clone()}
	w.Classes = append(w.Classes, &resourceapi.DeviceClass{ObjectMeta: metav1.ObjectMeta{Name: probeClass, UID: "class-" + probeClass, ResourceVersion: "1"}})
	return w
}

// probeClass has no selectors, and is always there; see probe.
const probeClass = "probe"

// scenario draws a cluster in which at most one attribute of each device can
// fail to convert. CEL converts the attributes of a device in the order of a
// map, which nobody can influence: of two that fail, the error names either.
func scenario(seed uint64) *allocatortest.Scenario {
	s := allocatortest.FromSeed(seed)
	for _, slice := range s.Slices {
		for i := range slice.Spec.Devices {
			attributes := slice.Spec.Devices[i].Attributes
			found := false
			for _, name := range slices.Sorted(maps.Keys(attributes)) {
				if a := attributes[name]; a.IntValue != nil || a.BoolValue != nil || a.StringValue != nil {
					continue
				}
				if found {
					delete(attributes, name)
				}
				found = true
			}
		}
	}
	s.Stamp()
	return s
}

// maxDevices keeps every search small enough to be done some hundred times a
// second. It is above what one cluster starts with.
const maxDevices = 60

// kinds are the ways in which the world changes. An apply function returns
// what it did, or "" where the world has nothing to do it to.
var kinds = []struct {
	name   string
	weight int
	apply  func(w *world, r *rand.Rand) string
}{
	{"slice changed", 12, changeSlice},
	{"slice recreated", 4, recreateSlice},
	{"slice deleted", 4, deleteSlice},
	{"slice back as it was", 4, restoreSlice},
	{"pool replaced", 8, replacePool},
	{"pool deleted", 2, deletePool},
	{"generation", 6, changeGeneration},
	{"slice count", 5, changeSliceCount},
	{"fresh copies", 6, copySlices},
	{"taint", 8, taintDevices},
	{"untaint", 4, untaintDevices},
	{"listed twice", 2, listTwice},
	{"new claims", 8, replaceClaims},
	{"claims allocated", 10, allocateClaims},
	{"claim released", 4, releaseClaim},
	{"other claims allocated", 3, replaceAllocated},
	{"class changed", 4, changeClass},
	{"node changed", 4, changeNode},
	{"node gone or new", 2, addOrRemoveNode},
	{"feature switched", 3, switchFeature},
}

func drawKind(r *rand.Rand) int {
	total := 0
	for _, k := range kinds {
		total += k.weight
	}
	n := r.IntN(total)
	for i, k := range kinds {
		if n < k.weight {
			return i
		}
		n -= k.weight
	}
	panic("the weights do not add up")
}

// apply changes the world and says how.
func (w *world) apply(s step) string {
	w.twice = nil
	k := kinds[s.kind]
	if did := k.apply(w, rand.New(rand.NewPCG(s.seed, 1))); did != "" {
		return k.name + ": " + did
	}
	return k.name + ": nothing to do"
}

// donor is a cluster of the same vocabulary, to take objects from.
func donor(r *rand.Rand) *allocatortest.Scenario {
	return scenario(r.Uint64() >> 1)
}

func pick[E any](r *rand.Rand, from []E) E { return from[r.IntN(len(from))] }

func (w *world) deviceCount() int {
	n := 0
	for _, slice := range w.Slices {
		n += len(slice.Spec.Devices)
	}
	return n
}

// question is a world that nothing changes any more, and what to ask about it.
type question struct {
	allocatortest.Scenario
	want []allocatortest.Outcome // by node, from a fresh inventory
}

func (w *world) question() *question {
	q := &question{Scenario: w.Scenario}
	q.Nodes = slices.Clone(q.Nodes)
	q.Slices = slices.Clone(q.Slices)
	q.Classes = slices.Clone(q.Classes)
	q.Allocated = slices.Clone(q.Allocated)
	q.Claims = slices.Clone(q.Claims)
	if w.twice != nil {
		q.Slices = append(q.Slices, w.twice)
	}
	return q
}
