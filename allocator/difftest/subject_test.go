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

// ours is the allocator under test.
type ours struct{ inventory *allocator.Inventory }

func newOurs() subject { return ours{allocator.NewInventory()} }

func (o ours) prepare(ctx context.Context, s *allocatortest.Scenario, inUse schedulerapi.AllocatedState) answerer {
	var a *allocator.Allocator
	// An error here is an answer, for upstream has none at this point.
	created := allocatortest.Observe(allocator.ErrFailedOnNode, func() (_ []resourceapi.AllocationResult, err error) {
		a, err = o.inventory.NewAllocator(ctx, s.Features, inUse, s.ClassLister(), s.Slices, celCaches.For(s))
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
