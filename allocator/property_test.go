package allocator_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/dynamic-resource-allocation/structured/schedulerapi"

	"github.com/dray-dev/dray/allocator"
	"github.com/dray-dev/dray/allocator/allocatortest"
)

// checkProperties asks about every node of a scenario and checks what holds for
// any input, however broken:
//
//  1. No panic, and no InternalError. An error is of exactly one kind.
//  2. Results are one for each claim; an error or nil comes alone.
//  3. Nothing is modified.
//  4. The same question has the same answer, also when it is put to an inventory
//     that knows nothing yet, with the slices in another order.
//
// Long searches are given up, at a counted step; only 4 is not checked for them.
func checkProperties(t *testing.T, s *allocatortest.Scenario) {
	t.Helper()
	before, inUse := s.Clone(), s.AllocatedState()
	shuffled := *s
	shuffled.Slices = slices.Clone(s.Slices)
	rng := rand.New(rand.NewPCG(1, uint64(len(s.Slices))))
	rng.Shuffle(len(shuffled.Slices), func(i, j int) {
		shuffled.Slices[i], shuffled.Slices[j] = shuffled.Slices[j], shuffled.Slices[i]
	})

	inventory := allocator.NewInventory()
	first := newQuestion(t, inventory, s, inUse)
	again := newQuestion(t, inventory, s, inUse)
	fresh := newQuestion(t, allocator.NewInventory(), &shuffled, inUse)
	for _, node := range s.Nodes {
		want := first.ask(t, node)
		if diff := diffUnlessGivenUp(want, first.ask(t, node)); diff != "" {
			t.Errorf("node %s, the same allocator again: %s", node.Name, diff)
		}
		if diff := diffUnlessGivenUp(want, again.ask(t, node)); diff != "" {
			t.Errorf("node %s, another allocator of the inventory: %s", node.Name, diff)
		}
		if !orderDecides(s.Slices) {
			if diff := diffUnlessGivenUp(want, fresh.ask(t, node)); diff != "" {
				t.Errorf("node %s, slices in another order: %s", node.Name, diff)
			}
		}
	}
	if !equalScenarios(before, s) {
		t.Errorf("the scenario was modified")
	}
	if !equalStates(inUse, s.AllocatedState()) {
		t.Errorf("the allocated state was modified")
	}
	if t.Failed() {
		t.Logf("the scenario is\n%s", dump(s))
	}
}

type question struct {
	scenario  *allocatortest.Scenario
	allocator *allocator.Allocator
	err       error
}

func newQuestion(t *testing.T, inv *allocator.Inventory, s *allocatortest.Scenario, inUse schedulerapi.AllocatedState) question {
	t.Helper()
	a, err := inv.NewAllocator(context.Background(), s.Features, inUse, s.ClassLister(), s.Slices, celCaches.For(s))
	checkKind(t, err)
	return question{s, a, err}
}

// maxLooks bounds a search to some ten thousand steps.
const maxLooks = 200

func (q question) ask(t *testing.T, node *corev1.Node) allocatortest.Outcome {
	t.Helper()
	return allocatortest.Observe(allocator.ErrFailedOnNode, func() ([]resourceapi.AllocationResult, error) {
		if q.err != nil {
			return nil, q.err
		}
		results, err := q.allocator.Allocate(endsAtLook(maxLooks, nil), node, q.scenario.Claims)
		checkKind(t, err)
		switch {
		case err != nil && results != nil:
			t.Errorf("an error %v beside results %v", err, results)
		case results != nil && len(results) != len(q.scenario.Claims):
			t.Errorf("%d results for %d claims", len(results), len(q.scenario.Claims))
		}
		return results, err
	})
}

func checkKind(t *testing.T, err error) {
	t.Helper()
	if err == nil {
		return
	}
	var internal *allocator.InternalError
	if errors.As(err, &internal) {
		t.Errorf("%v\n%s", err, internal.Stack)
	}
	if kinds := kindsOf(err); len(kinds) != 1 {
		t.Errorf("an error is %q: %v", kinds, err)
	}
	if err.Error() == "" {
		t.Errorf("an error without a text: %#v", err)
	}
}

func diffUnlessGivenUp(want, got allocatortest.Outcome) string {
	if want.Class == allocatortest.GaveUp || got.Class == allocatortest.GaveUp {
		return ""
	}
	return allocatortest.Diff(want, got)
}

// orderDecides: a name occurs twice, or the error is about a place in the list.
// No API server lets that happen.
func orderDecides(list []*resourceapi.ResourceSlice) bool {
	seen := make(map[string]bool)
	for _, slice := range list {
		if slice == nil || seen[slice.Name] {
			return true
		}
		seen[slice.Name] = true
	}
	return false
}

func equalStates(a, b schedulerapi.AllocatedState) bool {
	if !a.AllocatedDevices.Equal(b.AllocatedDevices) || !a.AllocatedSharedDeviceIDs.Equal(b.AllocatedSharedDeviceIDs) || len(a.AggregatedCapacity) != len(b.AggregatedCapacity) {
		return false
	}
	for id, capacity := range a.AggregatedCapacity {
		if len(capacity) != len(b.AggregatedCapacity[id]) {
			return false
		}
		for name, quantity := range capacity {
			if other := b.AggregatedCapacity[id][name]; other == nil || *other != *quantity && other.Cmp(*quantity) != 0 {
				return false
			}
		}
	}
	return true
}

// words makes the stream that rapid draws from: each bit of the input decides
// one draw of a bit; when the input is used up, a generator with the seed goes on.
// So a scenario is never cut short, and a change of one bit is a small change.
func words(seed uint64, bits []byte) []byte {
	const tail = 30_000
	stream := make([]byte, 0, 8*(8*len(bits)+tail))
	for _, b := range bits {
		for i := range 8 {
			stream = append(stream, b>>i&1, 0, 0, 0, 0, 0, 0, 0)
		}
	}
	rng := rand.New(rand.NewPCG(seed, 0))
	for range tail {
		word := rng.Uint64()
		for i := range 8 {
			stream = append(stream, byte(word>>(8*i)))
		}
	}
	return stream
}
