package explain_test

import (
	"context"
	"testing"

	"github.com/dray-dev/dray/allocator"
	"github.com/dray-dev/dray/allocator/allocatortest"
)

// BenchmarkExplain explains random scenarios, in turn, on each of their nodes.
func BenchmarkExplain(b *testing.B) {
	var scenarios []*allocatortest.Scenario
	var allocators []*allocator.Allocator
	for seed := range uint64(100) {
		s := allocatortest.FromSeed(seed)
		a, err := allocator.NewInventory().NewAllocator(context.Background(), s.Features, s.AllocatedState(), s.ClassLister(), s.Slices, celCaches.For(s))
		if err != nil {
			b.Fatal(err)
		}
		scenarios, allocators = append(scenarios, s), append(allocators, a)
	}
	explained, nodes := 0, 0
	b.ReportAllocs()
	for b.Loop() {
		for i, s := range scenarios {
			for _, node := range s.Nodes {
				e, err := allocators[i].Explain(context.Background(), node, s.Claims)
				if err != nil {
					b.Fatal(err)
				}
				nodes++
				if !e.Fits {
					explained++
				}
			}
		}
	}
	if explained == 0 {
		b.Error("everything fits")
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(nodes), "ns/node")
}
