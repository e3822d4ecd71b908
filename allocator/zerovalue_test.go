package allocator_test

import (
	"context"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	resourceapi "k8s.io/api/resource/v1"

	"github.com/dray-dev/dray/allocator"
)

func TestTheZeroInventoryIsReady(t *testing.T) {
	s := newScenario(2, newClaim("c", wants("r", 1)))
	var inv allocator.Inventory
	var calls sync.WaitGroup
	for range 4 { // The first use may be several at once.
		calls.Go(func() {
			a, err := newAllocator(&inv, s)
			if err != nil {
				t.Error(err)
				return
			}
			results, err := a.Allocate(context.Background(), s.Nodes[0], s.Claims)
			if err != nil {
				t.Error(err)
				return
			}
			if diff := cmp.Diff([][]string{{"r=gpu-0"}}, devicesOf(results)); diff != "" {
				t.Errorf("devices differ (-want +got)\n%s", diff)
			}
		})
	}
	calls.Wait()

	a, err := newAllocator(&inv, s)
	if err != nil {
		t.Fatal(err)
	}
	e, err := a.Explain(context.Background(), s.Nodes[0], []*resourceapi.ResourceClaim{newClaim("c", wants("r", 3))})
	if err != nil || e.First == nil || e.First.Binding.Cause == allocator.CauseUndecided {
		t.Errorf("an explanation is %+v, %v", e, err)
	}
}
