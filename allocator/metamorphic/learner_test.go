package metamorphic

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"

	corev1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/dynamic-resource-allocation/structured/schedulerapi"

	"github.com/dray-dev/dray/allocator"
)

// learner is an inventory that lives through a history with Holdings, which learn of
// each claim that is allocated or released and of nothing else. Its allocators have
// the answers of earlier ones.
type learner struct {
	inventory *allocator.Inventory

	mu       sync.Mutex
	holdings *allocator.Holdings
	holders  []*resourceapi.ResourceClaim
}

func newLearner() *learner {
	return &learner{inventory: allocator.NewInventory(), holdings: allocator.NewHoldings(true)}
}

// held brings the holdings to the claims of the question.
func (l *learner) held(q *question) allocator.Held {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, claim := range l.holders {
		if !slices.Contains(q.Allocated, claim) && claim.Status.Allocation != nil {
			l.holdings.Release(claim.Status.Allocation.Devices.Results)
		}
	}
	for _, claim := range q.Allocated {
		if !slices.Contains(l.holders, claim) && claim.Status.Allocation != nil {
			l.holdings.Hold(claim.Status.Allocation.Devices.Results)
		}
	}
	l.holders = q.Allocated
	return l.holdings.Held()
}

// subject asks on behalf of two pods, one after the other, whose claims are equal and
// not the same objects.
func (l *learner) subject(q *question, list []*resourceapi.ResourceSlice) (asker, error) {
	var pods [2]*allocator.Allocator
	for i := range pods {
		var err error
		pods[i], err = l.inventory.NewAllocatorHeld(context.Background(), q.Features, l.held(q), q.ClassLister(), list, caches.For(&q.Scenario))
		if err != nil {
			return nil, err
		}
	}
	copied := make([]*resourceapi.ResourceClaim, len(q.Claims))
	for i, claim := range q.Claims {
		copied[i] = claim.DeepCopy()
	}
	return askerFunc(func(ctx context.Context, node *corev1.Node, claims []*resourceapi.ResourceClaim) ([]resourceapi.AllocationResult, error) {
		if slices.Equal(claims, q.Claims) && len(claims) == len(copied) {
			_, _ = pods[0].Allocate(ctx, node, copied)
		}
		if known, ok, err := pods[1].Known(ctx, node, claims); ok && !known.Fits {
			if err == nil {
				err = l.sameVerdicts(ctx, q, list, pods, node, [2][]*resourceapi.ResourceClaim{copied, claims})
			}
			return nil, err
		}
		found, err := pods[1].Find(ctx, node, claims)
		if found == nil {
			return nil, err
		}
		return found.Results(ctx)
	}), nil
}

// sameVerdicts says whether the second pod is told why in the words of an inventory
// that has learnt nothing, after the first one has asked.
func (l *learner) sameVerdicts(ctx context.Context, q *question, list []*resourceapi.ResourceSlice, pods [2]*allocator.Allocator,
	node *corev1.Node, claims [2][]*resourceapi.ResourceClaim) error {
	fresh, err := allocator.NewInventory().NewAllocator(ctx, q.Features, q.AllocatedState(), q.ClassLister(), list, caches.For(&q.Scenario))
	if err != nil {
		return err
	}
	want, _, _ := fresh.Why(ctx, node, claims[1])
	_, _, _ = pods[0].Why(ctx, node, claims[0])
	got, _, _ := pods[1].Why(ctx, node, claims[1])
	if got != want {
		return fmt.Errorf("why not is %q by what was learnt, and %q without", got, want)
	}
	return nil
}

// askLearner compares the learner's answers, and what it says is held.
func (r *run) askLearner(mode mode, q *question, order *rand.Rand) string {
	before := r.learning.inventory.Stats()
	if what := r.askSubject("the inventory that learns", r.learning.subject, mode, q, order); what != "" {
		return what
	}
	after := r.learning.inventory.Stats()
	r.stats.learned(after.Searches-before.Searches, after.Reused-before.Reused)
	if !sameState(r.learning.held(q).State(), q.AllocatedState()) {
		return "what is held is not what the claims have"
	}
	return ""
}

func sameState(a, b schedulerapi.AllocatedState) bool {
	if !a.AllocatedDevices.Equal(b.AllocatedDevices) || !a.AllocatedSharedDeviceIDs.Equal(b.AllocatedSharedDeviceIDs) {
		return false
	}
	return consumes(a.AggregatedCapacity, b.AggregatedCapacity) && consumes(b.AggregatedCapacity, a.AggregatedCapacity)
}

// consumes says whether b has all that a has; nothing and zero are the same.
func consumes(a, b schedulerapi.ConsumedCapacityCollection) bool {
	for id, capacity := range a {
		for name, quantity := range capacity {
			other := b[id][name]
			if other == nil && !quantity.IsZero() || other != nil && other.Cmp(*quantity) != 0 {
				return false
			}
		}
	}
	return true
}
