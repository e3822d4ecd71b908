package difftest

import (
	"context"
	"fmt"
	"reflect"
	"sync"

	corev1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/dynamic-resource-allocation/structured"

	"github.com/dray-dev/dray/allocator"
	"github.com/dray-dev/dray/allocator/allocatortest"
)

// variant names one of upstream's implementations.
type variant string

const (
	experimental variant = "experimental"
	incubating   variant = "incubating"
)

// incubatingSupports are the switches that the incubating allocator knows.
func incubatingSupports(f allocator.Features) bool {
	return !f.CompatibilityGroups && !f.DerivedAttributes && !f.ListTypeAttributes && !f.OptionalNodeOperations
}

// choosing serialises the choice of an implementation, which upstream keeps in
// a variable of the process. Allocating runs in parallel.
var choosing sync.Mutex

var celCaches = allocatortest.NewCELCaches()

// askUpstream uses a new allocator each time: upstream remembers the counters
// of a pool from the first node that asks, whatever generation that node saw.
func askUpstream(ctx context.Context, v variant, s *allocatortest.Scenario, node *corev1.Node) (allocatortest.Outcome, int64) {
	choosing.Lock()
	structured.EnableAllocators(string(v))
	upstream, err := structured.NewAllocator(ctx, structured.Features(s.Features), s.AllocatedState(), s.ClassLister(), s.Slices, celCaches.For(s))
	choosing.Unlock()
	if err != nil {
		panic(fmt.Sprintf("create %s allocator: %v", v, err))
	}
	outcome := allocatortest.Observe(structured.ErrFailedAllocationOnNode, func() ([]resourceapi.AllocationResult, error) {
		return upstream.Allocate(ctx, node, s.Claims)
	})
	return outcome, stepsOf(upstream)
}

// stepsOf reads a count from a type that cannot be named outside of upstream.
func stepsOf(upstream structured.Allocator) int64 {
	stats := reflect.ValueOf(upstream).MethodByName("GetStats").Call(nil)[0]
	return stats.FieldByName("NumAllocateOneInvocations").Int()
}
