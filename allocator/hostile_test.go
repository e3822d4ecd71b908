package allocator_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/dynamic-resource-allocation/structured/schedulerapi"
	"k8s.io/utils/ptr"

	"github.com/dray-dev/dray/allocator"
	"github.com/dray-dev/dray/allocator/allocatortest"
)

// hostileTest changes a sound scenario, in which claim default/c wants one of
// two devices in request r, into one that no API server would let through.
type hostileTest struct {
	name   string
	change func(s *allocatortest.Scenario)
	want   allocatortest.Class
	says   string // contained in the error's text, if there is one
}

const (
	fits         = allocatortest.Fits
	doesNotFit   = allocatortest.DoesNotFit
	failedOnNode = allocatortest.FailedOnNode
	failed       = allocatortest.Failed
)

// checkHostile asks one inventory about all of them, twice, with a sound
// question after each.
func checkHostile(t *testing.T, tests []hostileTest) {
	inventory := allocator.NewInventory()
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			s := newScenario(2, newClaim("c", wants("r", 1)))
			test.change(s)
			first := observe(t, inventory, s)
			if first.Class != test.want || !strings.Contains(first.Text, test.says) {
				t.Errorf("got %q, want %q that says %q", first, test.want, test.says)
			}
			checkGood(t, inventory)
			if diff := allocatortest.Diff(first, observe(t, inventory, s)); diff != "" {
				t.Errorf("the second time: %s", diff)
			}
		})
	}
}

// observe is ask for a test that compares whole outcomes. No test of hostile
// input wants an InternalError, so that ends the test.
func observe(t testing.TB, inv *allocator.Inventory, s *allocatortest.Scenario) allocatortest.Outcome {
	t.Helper()
	return allocatortest.Observe(allocator.ErrFailedOnNode, func() ([]resourceapi.AllocationResult, error) {
		results, err := ask(t, inv, s)
		var internal *allocator.InternalError
		if errors.As(err, &internal) {
			t.Fatalf("%v\n%s", err, internal.Stack)
		}
		return results, err
	})
}

func TestMissingObjectsAreErrorsThatSayWhich(t *testing.T) {
	checkHostile(t, []hostileTest{
		{"node", func(s *allocatortest.Scenario) { s.Nodes[0] = nil }, failed, "node is nil"},
		{"slice", func(s *allocatortest.Scenario) { s.Slices = append(s.Slices, nil) }, failed, "resource slice 2 of 2 is nil"},
		{"claim", func(s *allocatortest.Scenario) { s.Claims = append(s.Claims, nil, s.Claims[0]) }, failed, "claim 2 of 3 is nil"},
		{"only claim", func(s *allocatortest.Scenario) { s.Claims = []*resourceapi.ResourceClaim{nil} }, failed, "claim 1 of 1 is nil"},
	})
}

func TestEmptyObjectsHaveAnAnswer(t *testing.T) {
	checkHostile(t, []hostileTest{
		{"node", func(s *allocatortest.Scenario) { s.Nodes[0] = &corev1.Node{} }, doesNotFit, ""},
		{"slice", func(s *allocatortest.Scenario) { s.Slices = append(s.Slices, &resourceapi.ResourceSlice{}) }, fits, ""},
		{"only slice", func(s *allocatortest.Scenario) { s.Slices[0] = &resourceapi.ResourceSlice{} }, doesNotFit, ""},
		{"class", func(s *allocatortest.Scenario) { s.Classes = append(s.Classes, &resourceapi.DeviceClass{}) }, fits, ""},
		{"claim", func(s *allocatortest.Scenario) { s.Claims[0] = &resourceapi.ResourceClaim{} }, fits, ""},
		{"request", func(s *allocatortest.Scenario) {
			s.Claims[0].Spec.Devices.Requests = append(s.Claims[0].Spec.Devices.Requests, resourceapi.DeviceRequest{})
		}, failed, "claim default/c, request : missing device class name"},
		{"subrequest", func(s *allocatortest.Scenario) {
			s.Claims[0].Spec.Devices.Requests[0].FirstAvailable = []resourceapi.DeviceSubRequest{{}}
		}, failed, "missing device class name"},
		{"device", func(s *allocatortest.Scenario) { *device(s, 0) = resourceapi.Device{} }, fits, ""},
		{"device consumption", func(s *allocatortest.Scenario) {
			device(s, 0).ConsumesCounters = []resourceapi.DeviceCounterConsumption{{}}
		}, failedOnNode, "invalid resource pools"},
		{"capacity policy", func(s *allocatortest.Scenario) { withPolicy(s, &resourceapi.CapacityRequestPolicy{}) }, fits, ""},
		{"capacity range", func(s *allocatortest.Scenario) {
			withPolicy(s, &resourceapi.CapacityRequestPolicy{ValidRange: &resourceapi.CapacityRequestPolicyRange{}})
			request(s).Capacity = capacityRequest("1")
		}, fits, ""},
		{"node selector", func(s *allocatortest.Scenario) {
			s.Slices[0].Spec.NodeName, s.Slices[0].Spec.NodeSelector = nil, &corev1.NodeSelector{}
		}, doesNotFit, ""},
		{"taint and toleration", func(s *allocatortest.Scenario) {
			device(s, 0).Taints = []resourceapi.DeviceTaint{{}}
			request(s).Tolerations = []resourceapi.DeviceToleration{{}}
		}, fits, ""},
		{"configuration", func(s *allocatortest.Scenario) {
			s.Claims[0].Spec.Devices.Config = []resourceapi.DeviceClaimConfiguration{{}}
			s.Classes[0].Spec.Config = []resourceapi.DeviceClassConfiguration{{}}
		}, fits, ""},
		{"selector", func(s *allocatortest.Scenario) { request(s).Selectors = celSelectors([]string{""}) }, failed, "claim default/c: selector #0: CEL compile error"},
		{"derived attribute", func(s *allocatortest.Scenario) {
			request(s).DerivedAttributes = []resourceapi.DeviceDerivedAttribute{{}}
			s.Claims[0].Spec.Devices.Constraints = matching("")
		}, failed, "compile derived attribute"},
		{"node selection of devices", func(s *allocatortest.Scenario) { perDevice(s, nil, nil) }, doesNotFit, ""},
	})
}

func TestTheZeroStateAndNoListerAndNoCacheDo(t *testing.T) {
	ctx := context.Background()
	unasked := newScenario(1, newClaim("c"))
	a, err := allocator.NewInventory().NewAllocator(ctx, allocator.Features{}, schedulerapi.AllocatedState{}, nil, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	if results, err := a.Allocate(ctx, unasked.Nodes[0], unasked.Claims); err != nil || len(results) != 1 {
		t.Errorf("a claim without requests: got %v, %v, want a result", results, err)
	}

	plain := newScenario(1, newClaim("c", wants("r", 1)))
	plain.Classes[0].Spec.Selectors = nil
	a, err = allocator.NewInventory().NewAllocator(ctx, everything, schedulerapi.AllocatedState{}, plain.ClassLister(), plain.Slices, nil)
	if err != nil {
		t.Fatal(err)
	}
	if results, err := a.Allocate(ctx, plain.Nodes[0], plain.Claims); err != nil || len(results) != 1 {
		t.Errorf("no selectors and no CEL cache: got %v, %v, want a result", results, err)
	}

	inventory := allocator.NewInventory()
	selecting := newScenario(1, newClaim("c", wants("r", 1)))
	a, err = inventory.NewAllocator(ctx, everything, schedulerapi.AllocatedState{}, selecting.ClassLister(), selecting.Slices, nil)
	if err != nil {
		t.Fatal(err)
	}
	results, err := a.Allocate(ctx, selecting.Nodes[0], selecting.Claims)
	checkInputError(t, results, err, allocator.InputError{Claim: "default/c", Request: "r", Class: driver}, "no CEL cache was given to NewAllocator")
	if results, err := ask(t, inventory, selecting); err != nil || len(results) != 1 {
		t.Errorf("with a CEL cache afterwards: got %v, %v, want a result", results, err)
	}
}

func TestAnAllocatedStateWithHolesIsReadForWhatIsThere(t *testing.T) {
	s := newScenario(2, newClaim("c", wants("r", 1)))
	for i := range s.Slices[0].Spec.Devices {
		device(s, i).AllowMultipleAllocations = ptr.To(true)
	}
	first, second := schedulerapi.MakeDeviceID(driver, nodeName, "gpu-0"), schedulerapi.MakeDeviceID(driver, nodeName, "gpu-1")
	for name, test := range map[string]struct {
		state schedulerapi.AllocatedState
		want  [][]string
	}{
		"no amounts":               {schedulerapi.AllocatedState{AggregatedCapacity: schedulerapi.ConsumedCapacityCollection{first: nil}}, [][]string{{"r=gpu-0"}}},
		"nil amount":               {schedulerapi.AllocatedState{AggregatedCapacity: schedulerapi.ConsumedCapacityCollection{first: {"memory": nil}}}, [][]string{{"r=gpu-0"}}},
		"amount of something else": {schedulerapi.AllocatedState{AggregatedCapacity: schedulerapi.ConsumedCapacityCollection{first: {"cores": quantity("1")}}}, [][]string{{"r=gpu-0"}}},
		"all of it":                {schedulerapi.AllocatedState{AggregatedCapacity: schedulerapi.ConsumedCapacityCollection{first: {"memory": quantity("40Gi")}}}, [][]string{{"r=gpu-1"}}},
		"more than there is":       {schedulerapi.AllocatedState{AggregatedCapacity: schedulerapi.ConsumedCapacityCollection{first: {"memory": quantity("1e30")}}}, [][]string{{"r=gpu-1"}}},
		"share without an ID":      {schedulerapi.AllocatedState{AllocatedSharedDeviceIDs: sets.New(schedulerapi.MakeSharedDeviceID(first, nil))}, [][]string{{"r=gpu-0"}}},
		"unknown devices": {schedulerapi.AllocatedState{
			AllocatedDevices:         sets.New(schedulerapi.DeviceID{}, schedulerapi.MakeDeviceID("", "", ""), schedulerapi.MakeDeviceID(driver, "gone", "gpu-0")),
			AllocatedSharedDeviceIDs: sets.New(schedulerapi.SharedDeviceID{}),
		}, [][]string{{"r=gpu-0"}}},
		"whole and shared at once": {schedulerapi.AllocatedState{
			AllocatedDevices:         sets.New(first),
			AllocatedSharedDeviceIDs: sets.New(schedulerapi.MakeSharedDeviceID(first, ptr.To(types.UID("x")))),
		}, [][]string{{"r=gpu-1"}}},
		"both full": {schedulerapi.AllocatedState{AggregatedCapacity: schedulerapi.ConsumedCapacityCollection{
			first: {"memory": quantity("1")}, second: {"memory": quantity("1")},
		}}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			a, err := allocator.NewInventory().NewAllocator(context.Background(), s.Features, test.state, s.ClassLister(), s.Slices, celCaches.For(s))
			if err != nil {
				t.Fatal(err)
			}
			results, err := a.Allocate(context.Background(), s.Nodes[0], s.Claims)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, devicesOf(results)); diff != "" {
				t.Errorf("devices differ (-want +got)\n%s", diff)
			}
		})
	}
}
