//go:build !race

package gate_test

import (
	"context"
	"runtime/debug"
	"testing"

	"k8s.io/dynamic-resource-allocation/cel"

	"github.com/dray-dev/dray/allocator"
	"github.com/dray-dev/dray/bench/family"
)

// What no family's claims fit costs no memory from the second question on, at any
// size, whether it is searched each time or nodes are compared. Each count is of
// one call, not a mean that hides a fraction of one.
func TestNoUnsatisfiableFamilyAllocatesWhenAskedAgain(t *testing.T) {
	// A collection empties the pool of workspaces.
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	unsatisfiable := 0
	for _, f := range family.All() {
		sizes := append([]family.Size{f.Gate, f.Bench[0]}, f.Test...)
		if !testing.Short() {
			sizes = append(sizes, f.Bench[1:]...)
		}
		for _, size := range sizes {
			if refuses(t, f.Case(size)) {
				unsatisfiable++
			}
		}
	}
	if unsatisfiable < 50 {
		t.Errorf("only %d cases do not fit, too few to prove anything", unsatisfiable)
	}
}

// refuses checks the nodes of a case that its claims do not fit; it is false where
// there are none.
func refuses(t *testing.T, c *family.Case) (some bool) {
	ctx, s := context.Background(), c.Scenario
	cache := cel.NewCache(c.CELCacheSize, cel.Features{EnableConsumableCapacity: s.Features.ConsumableCapacity, EnableListTypeAttributes: s.Features.ListTypeAttributes})
	ask := func(options ...allocator.Option) *allocator.Allocator {
		a, err := allocator.NewInventory(options...).NewAllocator(ctx, s.Features, s.AllocatedState(), s.ClassLister(), s.Slices, cache)
		if err != nil {
			t.Fatalf("%s: %v", c.Name(), err)
		}
		return a
	}
	node := c.Nodes()[0]
	if results, err := ask().Allocate(ctx, node, s.Claims); results != nil || err != nil {
		return false
	}
	for name, options := range map[string][]allocator.Option{
		"by default":                      nil,
		"searched for each time":          {allocator.WithSharedSearches(1 << 62)},
		"compared from the first step on": {allocator.WithSharedSearches(0)},
	} {
		a := ask(options...)
		// AllocsPerRun asks once before it counts.
		if count := testing.AllocsPerRun(1, func() { _, _ = a.Allocate(ctx, node, s.Claims) }); count != 0 {
			t.Errorf("%s, %s: %v allocations when asked again, want none", c.Name(), name, count)
		}
	}
	return true
}
