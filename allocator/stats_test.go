package allocator_test

import (
	"context"
	"fmt"
	"slices"
	"testing"

	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/utils/ptr"

	"github.com/dray-dev/dray/allocator"
	"github.com/dray-dev/dray/allocator/allocatortest"
)

// The families below do not fit, each for its own reason, and upstream walks
// the whole tree to find that out. The formulas were confirmed on upstream's
// count of allocateOne calls.

func sumOf(from, to int, term func(j int) int64) int64 {
	sum := int64(0)
	for j := from; j <= to; j++ {
		sum += term(j)
	}
	return sum
}

// arrangements is the number of ordered choices of k out of n.
func arrangements(n, k int) int64 {
	product := int64(1)
	for i := range k {
		product *= int64(n - i)
	}
	return product
}

func combinations(n, k int) int64 { return arrangements(n, k) / arrangements(k, k) }

// oneTooMany has a request for more devices than there are.
func oneTooMany(devices int) (*allocatortest.Scenario, int64) {
	return newScenario(devices, newClaim("c", wants("r", int64(devices+1)))), 1 << devices
}

// oneRequestTooMany has more requests for one device than there are devices.
func oneRequestTooMany(devices int) (*allocatortest.Scenario, int64) {
	s := newScenario(devices, newClaim("c", repeated(devices+1, wants("", 1))...))
	return s, 1 + 2*sumOf(1, devices, func(j int) int64 { return arrangements(devices, j) })
}

const noDevice = "false"

// hopelessSecondRequest has a first request that every choice satisfies, and a
// second one that nothing does.
func hopelessSecondRequest(devices, count int) (*allocatortest.Scenario, int64) {
	s := newScenario(devices, newClaim("c", wants("first", int64(count)), wants("second", 1, noDevice)))
	return s, sumOf(0, count, func(j int) int64 { return combinations(devices, j) }) + combinations(devices, count)
}

// grouped gives the devices an attribute with as many values as there are sizes.
func grouped(s *allocatortest.Scenario, sizes ...int) {
	i := 0
	for value, size := range sizes {
		for range size {
			device(s, i).Attributes["group"] = resourceapi.DeviceAttribute{IntValue: ptr.To(int64(value))}
			i++
		}
	}
}

// noGroupLargeEnough wants one device more that match than the largest group has.
func noGroupLargeEnough(sizes ...int) (*allocatortest.Scenario, int64) {
	devices, want := 0, int64(1)
	for _, size := range sizes {
		devices += size
		want += 1<<size - 1
	}
	s := newScenario(devices, newClaim("c", wants("r", int64(slices.Max(sizes)+1))))
	grouped(s, sizes...)
	s.Claims[0].Spec.Devices.Constraints = matching(driver + "/group")
	return s, want
}

// oneGroupTooFew wants more devices of distinct groups than there are groups.
func oneGroupTooFew(sizes ...int) (*allocatortest.Scenario, int64) {
	devices, want := 0, int64(1)
	for _, size := range sizes {
		devices += size
		want *= int64(1 + size)
	}
	s := newScenario(devices, newClaim("c", wants("r", int64(len(sizes)+1))))
	grouped(s, sizes...)
	s.Claims[0].Spec.Devices.Constraints = []resourceapi.DeviceConstraint{{DistinctAttribute: ptr.To(resourceapi.FullyQualifiedName(driver + "/group"))}}
	return s, want
}

// hopelessLastClaim has claims that every choice satisfies, and a last one that
// nothing does.
func hopelessLastClaim(devices, claims int) (*allocatortest.Scenario, int64) {
	s := newScenario(devices)
	for i := range claims {
		s.Claims = append(s.Claims, newClaim(fmt.Sprintf("c%d", i), wants("r", 1)))
	}
	s.Claims = append(s.Claims, newClaim("last", wants("r", 1, noDevice)))
	return s, 1 + 3*sumOf(1, claims, func(j int) int64 { return arrangements(devices, j) })
}

// fewSteps bounds what a hopeless family may take: a walk down to the first dead
// end and back, where upstream walks the whole tree.
const fewSteps = 64

func TestHopelessClaimsTakeFewStepsAndNeverMoreThanUpstream(t *testing.T) {
	type family func() (*allocatortest.Scenario, int64)
	for name, instances := range map[string][]family{
		"one device too few": {
			func() (*allocatortest.Scenario, int64) { return oneTooMany(1) },
			func() (*allocatortest.Scenario, int64) { return oneTooMany(5) },
			func() (*allocatortest.Scenario, int64) { return oneTooMany(12) },
		},
		"one request too many": {
			func() (*allocatortest.Scenario, int64) { return oneRequestTooMany(1) },
			func() (*allocatortest.Scenario, int64) { return oneRequestTooMany(4) },
			func() (*allocatortest.Scenario, int64) { return oneRequestTooMany(6) },
		},
		"hopeless second request": {
			func() (*allocatortest.Scenario, int64) { return hopelessSecondRequest(3, 1) },
			func() (*allocatortest.Scenario, int64) { return hopelessSecondRequest(8, 3) },
			func() (*allocatortest.Scenario, int64) { return hopelessSecondRequest(16, 4) },
		},
		"no group large enough": {
			func() (*allocatortest.Scenario, int64) { return noGroupLargeEnough(2, 2) },
			func() (*allocatortest.Scenario, int64) { return noGroupLargeEnough(6, 6, 6, 2) },
			func() (*allocatortest.Scenario, int64) { return noGroupLargeEnough(12, 12, 12, 12, 12, 4) },
		},
		"one group too few": {
			func() (*allocatortest.Scenario, int64) { return oneGroupTooFew(2, 1) },
			func() (*allocatortest.Scenario, int64) { return oneGroupTooFew(4, 4, 3) },
			func() (*allocatortest.Scenario, int64) { return oneGroupTooFew(6, 6, 5, 5, 5, 5) },
		},
		"hopeless last claim": {
			func() (*allocatortest.Scenario, int64) { return hopelessLastClaim(2, 1) },
			func() (*allocatortest.Scenario, int64) { return hopelessLastClaim(8, 2) },
			func() (*allocatortest.Scenario, int64) { return hopelessLastClaim(16, 3) },
		},
	} {
		for i, instance := range instances {
			t.Run(fmt.Sprintf("%s/%d", name, i), func(t *testing.T) {
				s, want := instance()
				a, err := newAllocator(allocator.NewInventory(), s)
				if err != nil {
					t.Fatal(err)
				}
				for round := int64(1); round <= 2; round++ {
					if results, err := a.Allocate(context.Background(), s.Nodes[0], s.Claims); err != nil || results != nil {
						t.Fatalf("got %v, %v, want nil and no error", results, err)
					}
					if got, most := a.Stats().Steps, round*min(want, fewSteps); got > most {
						t.Errorf("after call %d the steps are %d, want at most %d; upstream takes %d each", round, got, most, want)
					}
				}
			})
		}
	}
}

// evaluationsOf asks with an allocator of its own and counts.
func evaluationsOf(t *testing.T, inv *allocator.Inventory, s *allocatortest.Scenario) int64 {
	t.Helper()
	a, err := newAllocator(inv, s)
	if err != nil {
		t.Fatal(err)
	}
	var first int64
	for call := range 2 {
		if _, err := a.Allocate(context.Background(), s.Nodes[0], s.Claims); err != nil {
			t.Fatal(err)
		}
		if call == 0 {
			first = a.Stats().SelectorEvaluations
		}
	}
	if again := a.Stats().SelectorEvaluations - first; again != 0 {
		t.Errorf("the second call of one allocator evaluated %d times", again)
	}
	return first
}

func TestASelectorIsEvaluatedOnceForEachValueThatItReads(t *testing.T) {
	s := newScenario(5, newClaim("c", wants("r", 1, `device.attributes["gpu.example.com"].index >= 0`), wants("again", 1, `device.attributes["gpu.example.com"].index >= 0`)))
	other := newSlice("slice-other", nodeName, newGPUs(3)...)
	other.Spec.Pool.Name = "other"
	s.Slices = append(s.Slices, other)
	s.Stamp()
	inventory := allocator.NewInventory()
	check := func(what string, want int64) {
		t.Helper()
		if got := evaluationsOf(t, inventory, s); got != want {
			t.Errorf("%s: %d evaluations, want %d", what, got, want)
		}
	}
	check("one driver for the class's selector, five indices for the requests'", 1+5)
	check("a second allocator", 0)
	slices.Reverse(s.Slices)
	check("another order of the list", 0)
	s.Slices = s.Clone().Slices
	check("fresh copies of the same content", 0)
	s.Allocated = []*resourceapi.ResourceClaim{{Status: resourceapi.ResourceClaimStatus{Allocation: &resourceapi.AllocationResult{
		Devices: resourceapi.DeviceAllocationResult{Results: []resourceapi.DeviceRequestAllocationResult{{Driver: driver, Pool: "other", Device: "gpu-0"}}},
	}}}}
	check("a device in use", 0)
	s.Slices = s.Clone().Slices
	s.Slices[0].Spec.Devices[2].Attributes["model"] = resourceapi.DeviceAttribute{StringValue: ptr.To("h100")}
	s.Stamp()
	check("a change that no selector reads", 0)
	request(s).Selectors = celSelectors([]string{`device.attributes["gpu.example.com"].index >= 1`})
	check("one more selector", 5)
}
