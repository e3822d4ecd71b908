package allocator_test

import (
	"context"
	"errors"
	"testing"

	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/dray-dev/dray/allocator"
)

// lateLister knows no class the first time it is asked.
type lateLister struct {
	allocator.DeviceClassLister
	asked int
}

func (l *lateLister) Get(name string) (*resourceapi.DeviceClass, error) {
	if l.asked++; l.asked == 1 {
		return nil, errors.New("cache not filled yet")
	}
	return l.DeviceClassLister.Get(name)
}

func TestAClassThatAppearsIsSeenByTheSameAllocator(t *testing.T) {
	s := newScenario(1, newClaim("c", wants("r", 1)))
	lister := &lateLister{DeviceClassLister: s.ClassLister()}
	a, err := allocator.NewInventory().NewAllocator(context.Background(), s.Features, s.AllocatedState(), lister, s.Slices, celCaches.For(s))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := a.Allocate(context.Background(), s.Nodes[0], s.Claims); err == nil {
		t.Fatal("the lister's error is lost")
	}
	if results, err := a.Allocate(context.Background(), s.Nodes[0], s.Claims); err != nil || len(results) != 1 {
		t.Errorf("the second call says %v, %v; want a result", results, err)
	}
}

func TestConsumedCapacityIsNotTheClaimsOwnQuantity(t *testing.T) {
	s := newScenario(1, newClaim("c", wants("r", 1)))
	asked := resource.MustParse("5")
	asked.AsDec() // Now it refers to memory.
	shareable := true
	s.Slices[0].Spec.Devices[0].AllowMultipleAllocations = &shareable
	s.Slices[0].Spec.Devices[0].Capacity = map[resourceapi.QualifiedName]resourceapi.DeviceCapacity{"memory": {
		Value: resource.MustParse("10"), RequestPolicy: &resourceapi.CapacityRequestPolicy{},
	}}
	request(s).Capacity = &resourceapi.CapacityRequirements{Requests: map[resourceapi.QualifiedName]resource.Quantity{"memory": asked}}
	results, err := ask(t, allocator.NewInventory(), s)
	if err != nil || results == nil {
		t.Fatalf("got %v, %v, want results", results, err)
	}
	consumed := results[0].Devices.Results[0].ConsumedCapacity["memory"]
	consumed.Add(resource.MustParse("3"))
	if own := request(s).Capacity.Requests["memory"]; own.Value() != 5 {
		t.Errorf("adding to the result has made the claim's own quantity %s", own.String())
	}
}
