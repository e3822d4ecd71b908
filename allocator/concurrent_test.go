package allocator_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"github.com/dray-dev/dray/allocator"
	"github.com/dray-dev/dray/allocator/allocatortest"
)

const goroutines = 16

// variations are what several callers of one inventory may have of one cluster:
// the same slices in another order, in fresh copies, not all of them yet, with
// other features, in another state.
func variations(s *allocatortest.Scenario) []*allocatortest.Scenario {
	vary := func(change func(v *allocatortest.Scenario)) *allocatortest.Scenario {
		v := *s
		change(&v)
		return &v
	}
	return []*allocatortest.Scenario{
		s,
		vary(func(v *allocatortest.Scenario) { v.Slices = slices.Clone(s.Slices); slices.Reverse(v.Slices) }),
		vary(func(v *allocatortest.Scenario) { v.Slices = s.Clone().Slices }),
		vary(func(v *allocatortest.Scenario) { v.Slices = s.Slices[min(1, len(s.Slices)):] }),
		vary(func(v *allocatortest.Scenario) { v.Features = allocator.Features{PartitionableDevices: true} }),
		vary(func(v *allocatortest.Scenario) { v.Features = allocator.Features{} }),
		vary(func(v *allocatortest.Scenario) { v.Allocated = nil }),
		vary(func(v *allocatortest.Scenario) { v.Claims = v.Claims[:len(v.Claims)-1] }),
	}
}

// answers asks about each node in turn.
func answers(inv *allocator.Inventory, s *allocatortest.Scenario) []allocatortest.Outcome {
	outcomes := make([]allocatortest.Outcome, len(s.Nodes))
	a, err := newAllocator(inv, s)
	for i, node := range s.Nodes {
		outcomes[i] = allocatortest.Observe(allocator.ErrFailedOnNode, func() ([]resourceapi.AllocationResult, error) {
			if err != nil {
				return nil, err
			}
			return a.Allocate(context.Background(), node, s.Claims)
		})
	}
	return outcomes
}

func diffAnswers(want, got []allocatortest.Outcome) string {
	for i := range want {
		if diff := allocatortest.Diff(want[i], got[i]); diff != "" {
			return fmt.Sprintf("node %d: %s", i, diff)
		}
	}
	return ""
}

func TestOneInventoryAnswersManyCallersLikeOneEach(t *testing.T) {
	const seeds, rounds = 8, 1
	var scenarios []*allocatortest.Scenario
	var want [][]allocatortest.Outcome
	classes := make(map[allocatortest.Class]int)
	for seed := range uint64(seeds) {
		for _, s := range variations(allocatortest.FromSeed(seed)) {
			scenarios = append(scenarios, s)
			want = append(want, answers(allocator.NewInventory(), s))
			for _, outcome := range want[len(want)-1] {
				classes[outcome.Class]++
			}
		}
	}
	if classes[fits] < seeds || classes[doesNotFit] < seeds {
		t.Errorf("the answers are %v: too much alike to prove anything", classes)
	}
	before := make([]*allocatortest.Scenario, len(scenarios))
	for i, s := range scenarios {
		before[i] = s.Clone()
	}

	inventory := allocator.NewInventory()
	var callers sync.WaitGroup
	for caller := range goroutines {
		callers.Go(func() {
			for i := range rounds * len(scenarios) {
				// All begin elsewhere; half of them go backwards, so that they meet.
				number := (caller*len(scenarios)/goroutines + i) % len(scenarios)
				if caller%2 == 1 {
					number = len(scenarios) - 1 - number
				}
				if diff := diffAnswers(want[number], answers(inventory, scenarios[number])); diff != "" {
					t.Errorf("seed %d, variation %d: %s", number/8, number%8, diff)
				}
			}
		})
	}
	callers.Wait()
	for i, s := range scenarios {
		if !equalScenarios(before[i], s) {
			t.Errorf("seed %d, variation %d: the inputs were modified", i/8, i%8)
		}
	}
}

// One allocator is asked by 16 goroutines at once, as by the scheduler's filter,
// about its nodes and, as nobody does, about different claims.
func TestOneAllocatorAnswersManyGoroutinesLikeOne(t *testing.T) {
	const nodes = 20
	s := newScenario(0)
	s.Nodes, s.Slices = nil, nil
	for i := range nodes {
		name := fmt.Sprintf("node-%d", i)
		s.Nodes = append(s.Nodes, newNode(name))
		s.Slices = append(s.Slices, newSlice("slice-"+name, name, newGPUs(i%5)...))
	}
	open := newSlice("slice-open", "", newGPU(9))
	open.Spec.NodeName, open.Spec.AllNodes, open.Spec.Pool.Name = nil, ptr.To(true), "open"
	s.Slices = append(s.Slices, open)
	questions := [][]*resourceapi.ResourceClaim{
		{newClaim("one", wants("r", 1))},
		{newClaim("three", wants("r", 3, `device.attributes["gpu.example.com"].index != 9`))},
		{newClaim("four", wants("r", 4)), newClaim("one", wants("r", 1))},
		{newClaim("open", wants("r", 1, `device.attributes["gpu.example.com"].index == 9`))},
		{newClaim("wrong", wants("r", -1))},
	}
	a, err := newAllocator(allocator.NewInventory(), s)
	if err != nil {
		t.Fatal(err)
	}
	ask := func(node int, question int) allocatortest.Outcome {
		return allocatortest.Observe(allocator.ErrFailedOnNode, func() ([]resourceapi.AllocationResult, error) {
			return a.Allocate(context.Background(), s.Nodes[node], questions[question])
		})
	}
	fresh, err := newAllocator(allocator.NewInventory(), s)
	if err != nil {
		t.Fatal(err)
	}
	var want [nodes][]allocatortest.Outcome
	for node := range want {
		for _, claims := range questions {
			want[node] = append(want[node], allocatortest.Observe(allocator.ErrFailedOnNode, func() ([]resourceapi.AllocationResult, error) {
				return fresh.Allocate(context.Background(), s.Nodes[node], claims)
			}))
		}
	}
	steps := fresh.Stats().Steps

	var callers sync.WaitGroup
	for caller := range goroutines {
		callers.Go(func() {
			for i := range nodes * len(questions) {
				node, question := (i/len(questions)+caller*7)%nodes, (i+caller)%len(questions)
				if diff := allocatortest.Diff(want[node][question], ask(node, question)); diff != "" {
					t.Errorf("node %d, question %d: %s", node, question, diff)
				}
			}
		})
	}
	callers.Wait()
	if got := a.Stats().Steps; got != goroutines*steps {
		t.Errorf("%d goroutines took %d steps, want %d times %d", goroutines, got, goroutines, steps)
	}
}

// shareClaims asks for shares of the one GPU.
func shareClaims(n int) *allocatortest.Scenario {
	s := newScenario(1)
	device(s, 0).AllowMultipleAllocations = ptr.To(true)
	for range n {
		claim := newClaim("share", wants("r", 1))
		claim.Spec.Devices.Requests[0].Exactly.Capacity = capacityRequest("1Gi")
		s.Claims = append(s.Claims, claim)
	}
	return s
}

func TestShareIDsAreNeverTheSame(t *testing.T) {
	var mu sync.Mutex
	seen := make(map[types.UID]bool)
	inventory := allocator.NewInventory()
	s := shareClaims(8)
	var callers sync.WaitGroup
	for range goroutines {
		callers.Go(func() {
			results, err := ask(t, inventory, s)
			if err != nil || len(results) != len(s.Claims) {
				t.Errorf("got %v, %v, want a result for each claim", results, err)
			}
			mu.Lock()
			defer mu.Unlock()
			for _, result := range results {
				seen[*result.Devices.Results[0].ShareID] = true
			}
		})
	}
	callers.Wait()
	if want := goroutines * len(s.Claims); len(seen) != want {
		t.Errorf("%d shares have %d IDs", want, len(seen))
	}
}

func TestShareIDsComeFromWhereTheCallerSays(t *testing.T) {
	var next atomic.Int64
	inventory := allocator.NewInventory(allocator.WithShareIDs(func() types.UID {
		return types.UID(fmt.Sprintf("share-%d", next.Add(1)))
	}))
	results, err := ask(t, inventory, shareClaims(3))
	if err != nil {
		t.Fatal(err)
	}
	for i, result := range results {
		if id, want := *result.Devices.Results[0].ShareID, types.UID(fmt.Sprintf("share-%d", i+1)); id != want {
			t.Errorf("claim %d has share %s, want %s", i, id, want)
		}
	}
	if n := next.Load(); n != 3 {
		t.Errorf("%d IDs were made for 3 shares", n)
	}
}
