package explain_test

import (
	"context"
	"testing"

	"github.com/dray-dev/dray/allocator"
	"github.com/dray-dev/dray/allocator/allocatortest"
)

// TestAVerdictIsTheExplanationInShort compares both where Allocate finds nothing.
// Each node is asked twice: the second time the allocator may know.
func TestAVerdictIsTheExplanationInShort(t *testing.T) {
	ctx := context.Background()
	compared, together := 0, 0
	for seed := range uint64(600) {
		s := allocatortest.FromSeed(seed)
		a, err := allocator.NewInventory().NewAllocator(ctx, s.Features, s.AllocatedState(), s.ClassLister(), s.Slices, celCaches.For(s))
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		for range 2 {
			for _, node := range s.Nodes {
				if results, err := a.Allocate(ctx, node, s.Claims); results != nil || err != nil {
					continue
				}
				verdict, ok, err := a.Why(ctx, node, s.Claims)
				if err != nil {
					t.Fatalf("seed %d, node %s: %v", seed, node.Name, err)
				}
				e, err := a.Explain(ctx, node, s.Claims)
				if err != nil {
					t.Fatalf("seed %d, node %s: %v", seed, node.Name, err)
				}
				if e.Fits || !ok {
					continue // no claims, or too many problems
				}
				compared++
				if e.First.Binding.Together {
					together++
				}
				if verdict.Reason != e.Reason() || verdict.Cause != e.First.Binding.Cause {
					t.Errorf("seed %d, node %s: verdict %q (%s), explanation %q (%s)", seed, node.Name, verdict.Reason, verdict.Cause, e.Reason(), e.First.Binding.Cause)
				}
			}
		}
	}
	t.Logf("compared %d, %d of them failed together", compared, together)
	if compared < 100 || together < 10 {
		t.Errorf("compared %d, %d of them failed together: too few", compared, together)
	}
}
