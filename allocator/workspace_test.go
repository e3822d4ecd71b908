package allocator_test

import (
	"context"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	resourceapi "k8s.io/api/resource/v1"

	"github.com/dray-dev/dray/allocator"
)

// Allocators of one inventory hand the memory of their calls to each other, with
// the claims in it that they have compiled. None takes them for its own: not
// where classes or features differ, nor after claims that are larger.
func TestAllocatorsThatTakeTurnsDoNotMixUpTheirClaims(t *testing.T) {
	const index = `device.attributes["gpu.example.com"].index`
	large := newClaim("large", wants("one", 1), wants("two", 1, index+" < 3", "true"))
	claim := newClaim("c", wants("r", 1))
	alternatives := newClaim("alternatives", resourceapi.DeviceRequest{Name: "r", FirstAvailable: []resourceapi.DeviceSubRequest{
		{Name: "none", DeviceClassName: driver, AllocationMode: resourceapi.DeviceAllocationModeExactCount, Count: 1, Selectors: celSelectors([]string{"false"})},
		{Name: "some", DeviceClassName: driver, AllocationMode: resourceapi.DeviceAllocationModeExactCount, Count: 1},
	}})
	plain := everything
	plain.PrioritizedList = false

	inventory := allocator.NewInventory()
	s := newScenario(3)
	type caller struct {
		allocator *allocator.Allocator
		claims    []*resourceapi.ResourceClaim
		want      [][]string // nil is an InputError
	}
	var callers []caller
	add := func(features allocator.Features, selector string, claims []*resourceapi.ResourceClaim, want [][]string) {
		v := *s
		v.Features, v.Classes = features, []*resourceapi.DeviceClass{newClass(driver, selector)}
		a, err := newAllocator(inventory, &v)
		if err != nil {
			t.Fatal(err)
		}
		callers = append(callers, caller{a, claims, want})
	}
	claims := []*resourceapi.ResourceClaim{claim}
	add(everything, index+" == 0", claims, [][]string{{"r=gpu-0"}})
	add(everything, index+" == 1", claims, [][]string{{"r=gpu-1"}})
	add(everything, index+" > 0", []*resourceapi.ResourceClaim{large}, [][]string{{"one=gpu-1", "two=gpu-2"}})
	add(everything, index+" == 2", claims, [][]string{{"r=gpu-2"}})
	add(everything, index+" == 2", []*resourceapi.ResourceClaim{alternatives}, [][]string{{"r/some=gpu-2"}})
	add(plain, index+" == 2", []*resourceapi.ResourceClaim{alternatives}, nil)

	for round := range 3 {
		for i, c := range callers {
			results, err := c.allocator.Allocate(context.Background(), s.Nodes[0], c.claims)
			var input *allocator.InputError
			if c.want == nil && !errors.As(err, &input) || c.want != nil && err != nil {
				t.Fatalf("round %d, caller %d: got %v, %v", round, i, results, err)
			}
			if diff := cmp.Diff(c.want, devicesOf(results)); c.want != nil && diff != "" {
				t.Errorf("round %d, caller %d: devices differ (-want +got)\n%s", round, i, diff)
			}
		}
	}
}

// laterPanics is a lister that panics when it is asked for so many classes more.
type laterPanics struct {
	allocator.DeviceClassLister
	left int
}

func (l *laterPanics) Get(name string) (*resourceapi.DeviceClass, error) {
	if l.left--; l.left == 0 {
		panic("a defect of the lister")
	}
	return l.DeviceClassLister.Get(name)
}

func TestClaimsThatWereHalfOverwrittenAreNotReused(t *testing.T) {
	const index = `device.attributes["gpu.example.com"].index`
	s := newScenario(2, newClaim("pair", wants("one", 1), wants("two", 1)))
	// Two classes for the first question, one and a panic for the second.
	lister := &laterPanics{DeviceClassLister: s.ClassLister(), left: 4}
	a, err := allocator.NewInventory().NewAllocator(context.Background(), s.Features, s.AllocatedState(), lister, s.Slices, celCaches.For(s))
	if err != nil {
		t.Fatal(err)
	}
	allocate := func(claims ...*resourceapi.ResourceClaim) ([]resourceapi.AllocationResult, error) {
		return a.Allocate(context.Background(), s.Nodes[0], claims)
	}
	pair := func() {
		t.Helper()
		results, err := allocate(s.Claims...)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff([][]string{{"one=gpu-0", "two=gpu-1"}}, devicesOf(results)); diff != "" {
			t.Errorf("devices differ (-want +got)\n%s", diff)
		}
	}
	pair()
	var internal *allocator.InternalError
	if _, err := allocate(newClaim("other", wants("last", 1, index+" == 1"), wants("first", 1))); !errors.As(err, &internal) {
		t.Fatalf("got %v, want an *InternalError", err)
	}
	pair()
}
