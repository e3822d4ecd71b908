package difftest

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/dynamic-resource-allocation/structured/schedulerapi"

	"github.com/dray-dev/dray/allocator"
	"github.com/dray-dev/dray/allocator/allocatortest"
)

// subject is what is compared with upstream. It lives for a block of
// scenarios.
type subject interface {
	// prepare returns what answers for the nodes of one scenario. What is in
	// use is given beside it so that the caller can see whether it is modified.
	prepare(ctx context.Context, s *allocatortest.Scenario, inUse schedulerapi.AllocatedState) answerer
}

// answerer answers for one node and says how many steps that took.
type answerer func(ctx context.Context, node *corev1.Node) (allocatortest.Outcome, int64)

// ours is the allocator under test: by turns one that searches for each node, and
// one that shares answers between nodes from the first step on.
type ours struct {
	inventories [2]*allocator.Inventory
	scenarios   int
}

func newOurs() subject {
	return &ours{inventories: [2]*allocator.Inventory{allocator.NewInventory(), allocator.NewInventory(allocator.WithSharedSearches(0))}}
}

func (o *ours) prepare(ctx context.Context, s *allocatortest.Scenario, inUse schedulerapi.AllocatedState) answerer {
	var a *allocator.Allocator
	inventory := o.inventories[o.scenarios%len(o.inventories)]
	o.scenarios++
	// An error here is an answer, for upstream has none at this point.
	created := allocatortest.Observe(allocator.ErrFailedOnNode, func() (_ []resourceapi.AllocationResult, err error) {
		a, err = inventory.NewAllocator(ctx, s.Features, inUse, s.ClassLister(), s.Slices, celCaches.For(s))
		return nil, err
	})
	if created.Class != allocatortest.DoesNotFit {
		return func(context.Context, *corev1.Node) (allocatortest.Outcome, int64) { return created, 0 }
	}
	var before int64
	return func(ctx context.Context, node *corev1.Node) (allocatortest.Outcome, int64) {
		outcome := allocatortest.Observe(allocator.ErrFailedOnNode, func() ([]resourceapi.AllocationResult, error) {
			return a.Allocate(ctx, node, s.Claims)
		})
		steps := a.Stats().Steps
		taken := steps - before
		before = steps
		return outcome, taken
	}
}
