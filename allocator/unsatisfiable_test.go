//go:build !race

package allocator_test

import (
	"context"
	"runtime/debug"
	"testing"

	corev1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/dray-dev/dray/allocator"
	"github.com/dray-dev/dray/allocator/allocatortest"
)

// Claims that do not fit a node cost no memory from the second question about the
// node on: whether each question is searched for, or nodes are compared from the
// first step on, or as by default. The first question may compile.
//
// Scenarios with amounts that have no exact form in 64 bits are left out: such
// amounts are big numbers of package math/big (docs/invariants.md, I18).
//
// Each count is of one call, not a mean that hides a fraction of one. The race
// detector allocates, so this is not for it.
func TestWhatDoesNotFitAllocatesNothingWhenAskedAgain(t *testing.T) {
	const first, wanted, most = 1, 500, 4000
	// A collection empties the pool of workspaces.
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	settings := []struct {
		name    string
		options []allocator.Option
	}{
		{"by default", nil},
		{"searched for each time", []allocator.Option{allocator.WithSharedSearches(1 << 62)}},
		{"compared from the first step on", []allocator.Option{allocator.WithSharedSearches(0)}},
	}
	found := 0
	for seed := uint64(first); found < wanted; seed++ {
		if seed == first+most {
			t.Fatalf("only %d of %d scenarios do not fit, too few to prove anything", found, most)
		}
		s := allocatortest.FromSeed(seed)
		if !narrow(s) {
			continue
		}
		nodes := nodesWithoutRoom(s)
		if len(nodes) > 0 {
			found++
		}
		for _, setting := range settings {
			for _, node := range nodes {
				a, err := newAllocator(allocator.NewInventory(setting.options...), s)
				if err != nil {
					t.Fatalf("seed %d: %v", seed, err)
				}
				// AllocsPerRun asks once before it counts.
				count := testing.AllocsPerRun(1, func() { _, _ = a.Allocate(context.Background(), node, s.Claims) })
				if count != 0 {
					t.Errorf("seed %d, node %s, %s: %v allocations when asked again, want none", seed, node.Name, setting.name, count)
				}
			}
		}
	}
}

// nodesWithoutRoom are the nodes that the claims do not fit.
func nodesWithoutRoom(s *allocatortest.Scenario) (nodes []*corev1.Node) {
	a, err := newAllocator(allocator.NewInventory(), s)
	if err != nil {
		return nil
	}
	for _, node := range s.Nodes {
		if results, err := a.Allocate(context.Background(), node, s.Claims); results == nil && err == nil {
			nodes = append(nodes, node)
		}
	}
	return nodes
}

// narrow says whether all quantities of a scenario are thousandths, so few that
// they add up in 64 bits.
func narrow(s *allocatortest.Scenario) bool {
	ok := true
	check := func(q resource.Quantity) {
		milli := q.DeepCopy()
		ok = ok && milli.CmpInt64(1<<45) < 0 && milli.CmpInt64(-1<<45) > 0 && milli.Cmp(*resource.NewMilliQuantity(q.MilliValue(), q.Format)) == 0
	}
	for _, slice := range s.Slices {
		for _, set := range slice.Spec.SharedCounters {
			for _, counter := range set.Counters {
				check(counter.Value)
			}
		}
		for i := range slice.Spec.Devices {
			for _, consumption := range slice.Spec.Devices[i].ConsumesCounters {
				for _, counter := range consumption.Counters {
					check(counter.Value)
				}
			}
			for _, capacity := range slice.Spec.Devices[i].Capacity {
				check(capacity.Value)
				if p := capacity.RequestPolicy; p != nil && p.Default != nil {
					check(*p.Default)
				}
			}
		}
	}
	for _, claim := range s.Claims {
		for _, request := range claim.Spec.Devices.Requests {
			if request.Exactly != nil {
				checkAll(check, request.Exactly.Capacity)
			}
			for i := range request.FirstAvailable {
				checkAll(check, request.FirstAvailable[i].Capacity)
			}
		}
	}
	for _, capacities := range s.AllocatedState().AggregatedCapacity {
		for _, quantity := range capacities {
			check(*quantity)
		}
	}
	return ok
}

func checkAll(check func(resource.Quantity), capacity *resourceapi.CapacityRequirements) {
	if capacity == nil {
		return
	}
	for _, quantity := range capacity.Requests {
		check(quantity)
	}
}
