package allocator_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	resourceapi "k8s.io/api/resource/v1"

	"github.com/dray-dev/dray/allocator"
	"github.com/dray-dev/dray/allocator/allocatortest"
)

func TestClaimsThatFitGetOneResultEachInTheirOrder(t *testing.T) {
	s := newScenario(3, newClaim("pair", wants("two", 2)), newClaim("empty"), newClaim("single", wants("one", 1)))
	results, err := ask(t, allocator.NewInventory(), s)
	if err != nil {
		t.Fatal(err)
	}
	want := [][]string{{"two=gpu-0", "two=gpu-1"}, {}, {"one=gpu-2"}}
	if diff := cmp.Diff(want, devicesOf(results)); diff != "" {
		t.Errorf("devices differ (-want +got)\n%s", diff)
	}
	if terms := results[0].NodeSelector.NodeSelectorTerms; len(terms) != 1 || terms[0].MatchFields[0].Values[0] != nodeName {
		t.Errorf("devices of a node are for the nodes %v", terms)
	}
	if results[1].NodeSelector != nil {
		t.Errorf("a claim without devices is for the nodes %v", results[1].NodeSelector)
	}
}

func TestNoClaimsFitWithoutResults(t *testing.T) {
	results, err := ask(t, allocator.NewInventory(), newScenario(1))
	if err != nil || results == nil || len(results) != 0 {
		t.Errorf("got %v, %v, want results for no claims", results, err)
	}
}

func TestClaimsThatDoNotFitAreNoError(t *testing.T) {
	for name, s := range map[string]*allocatortest.Scenario{
		"one device too few":      newScenario(1, newClaim("pair", wants("two", 2))),
		"claims compete":          newScenario(2, newClaim("pair", wants("two", 2)), newClaim("single", wants("one", 1))),
		"nothing matches":         newScenario(2, newClaim("single", wants("one", 1, "false"))),
		"all of nothing":          newScenario(0, newClaim("every", wantsAll("all"))),
		"no pool reaches":         {Features: everything, Nodes: newScenario(0).Nodes, Classes: newScenario(0).Classes, Claims: newScenario(0, newClaim("single", wants("one", 1))).Claims},
		"only the other node has": onAnotherNode(newScenario(2, newClaim("single", wants("one", 1)))),
	} {
		t.Run(name, func(t *testing.T) {
			if results, err := ask(t, allocator.NewInventory(), s); err != nil || results != nil {
				t.Errorf("got %v, %v, want nil and no error", results, err)
			}
		})
	}
}

func onAnotherNode(s *allocatortest.Scenario) *allocatortest.Scenario {
	for _, slice := range s.Slices {
		*slice.Spec.NodeName = "node-b"
	}
	return s
}

// withSameNameTwice makes the scenario's pool invalid.
func withSameNameTwice(s *allocatortest.Scenario) *allocatortest.Scenario {
	s.Slices[0].Spec.Devices = append(s.Slices[0].Spec.Devices, s.Slices[0].Spec.Devices[0])
	return s
}

// withSliceMissing makes the scenario's pool incomplete.
func withSliceMissing(s *allocatortest.Scenario) *allocatortest.Scenario {
	s.Slices[0].Spec.Pool.ResourceSliceCount++
	return s
}

func TestAPoolThatCannotBeUsedFailsItsNodeOnly(t *testing.T) {
	for name, test := range map[string]struct {
		scenario *allocatortest.Scenario
		says     string
	}{
		"nothing else fits, and the pool is invalid": {withSameNameTwice(newScenario(1, newClaim("c", wants("r", 1)))), "invalid resource pools were encountered"},
		"all devices of an invalid pool":             {withSameNameTwice(newScenario(1, newClaim("c", wantsAll("r")))), "resource pool gpu.example.com/node-a is currently invalid"},
		"all devices of an incomplete pool":          {withSliceMissing(newScenario(1, newClaim("c", wantsAll("r")))), "claim default/c, request r: asks for all devices, but resource pool gpu.example.com/node-a is currently being updated"},
	} {
		t.Run(name, func(t *testing.T) {
			inventory := allocator.NewInventory()
			results, err := ask(t, inventory, test.scenario)
			if !errors.Is(err, allocator.ErrFailedOnNode) || !strings.Contains(err.Error(), test.says) || results != nil {
				t.Errorf("got %v, %v, want an error that matches ErrFailedOnNode and says %q", results, err, test.says)
			}
			if kinds := kindsOf(err); len(kinds) != 1 {
				t.Errorf("the error is all of %v", kinds)
			}
			other := newScenario(1, test.scenario.Claims...)
			other.Nodes[0] = newNode("node-b")
			*other.Slices[0].Spec.NodeName = "node-b"
			other.Slices[0].Spec.Pool.Name, other.Slices[0].Name = "node-b", "slice-b"
			other.Slices = append(other.Slices, test.scenario.Slices...)
			if results, err := ask(t, inventory, other); err != nil || len(results) != 1 {
				t.Errorf("on another node: got %v, %v, want a result", results, err)
			}
		})
	}
}

func TestAnIncompletePoolIsPassedOver(t *testing.T) {
	s := withSliceMissing(newScenario(1, newClaim("c", wants("r", 1))))
	if results, err := ask(t, allocator.NewInventory(), s); err != nil || results != nil {
		t.Errorf("got %v, %v, want nil and no error: the driver is still publishing", results, err)
	}
}

func TestAnInvalidPoolDoesNotSpoilTheOthers(t *testing.T) {
	s := withSameNameTwice(newScenario(1, newClaim("c", wants("r", 1))))
	sound := newSlice("sound", nodeName, newGPU(7))
	sound.Spec.Pool.Name = "sound"
	s.Slices = append(s.Slices, sound)
	results, err := ask(t, allocator.NewInventory(), s)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([][]string{{"r=gpu-7"}}, devicesOf(results)); diff != "" {
		t.Errorf("devices differ (-want +got)\n%s", diff)
	}
}

// kindsOf names the outcomes that an error is for a caller that asks.
func kindsOf(err error) []string {
	var kinds []string
	var input *allocator.InputError
	var internal *allocator.InternalError
	if errors.Is(err, allocator.ErrFailedOnNode) {
		kinds = append(kinds, "failed on node")
	}
	if errors.As(err, &input) {
		kinds = append(kinds, "input")
	}
	if errors.Is(err, allocator.ErrGaveUp) {
		kinds = append(kinds, "gave up")
	}
	if errors.As(err, &internal) {
		kinds = append(kinds, "internal")
	}
	return kinds
}

func TestKindsOfErrorsStayApart(t *testing.T) {
	canceled, cancel := context.WithCancel(context.Background())
	cancel()
	for want, test := range map[string]struct {
		ctx      context.Context
		scenario *allocatortest.Scenario
		classes  allocator.DeviceClassLister
	}{
		"failed on node": {context.Background(), withSameNameTwice(newScenario(1, newClaim("c", wants("r", 1)))), nil},
		"input":          {context.Background(), newScenario(1, newClaim("c", wants("r", -1))), nil},
		"gave up":        {canceled, newScenario(1, newClaim("c", wants("r", 1))), nil},
		"internal":       {context.Background(), newScenario(1, newClaim("c", wants("r", 1))), panickingLister{}},
	} {
		t.Run(want, func(t *testing.T) {
			s := test.scenario
			classes := test.classes
			if classes == nil {
				classes = s.ClassLister()
			}
			a, err := allocator.NewInventory().NewAllocator(test.ctx, s.Features, s.AllocatedState(), classes, s.Slices, celCaches.For(s))
			if err != nil {
				t.Fatal(err)
			}
			results, err := a.Allocate(test.ctx, s.Nodes[0], s.Claims)
			if diff := cmp.Diff([]string{want}, kindsOf(err)); diff != "" || results != nil {
				t.Errorf("got %v, %v (-want +got)\n%s", results, err, diff)
			}
		})
	}
}

// panickingLister is a defect of the caller.
type panickingLister struct{}

func (panickingLister) List() ([]*resourceapi.DeviceClass, error) { panic("list of no lister") }

func (panickingLister) Get(name string) (*resourceapi.DeviceClass, error) {
	panic("no lister for class " + name)
}

func TestAPanicIsAnErrorWithAStackAndLeavesTheInventoryGood(t *testing.T) {
	inventory := allocator.NewInventory()
	s := newScenario(1, newClaim("c", wants("r", 1)))
	a, err := inventory.NewAllocator(context.Background(), s.Features, s.AllocatedState(), panickingLister{}, s.Slices, celCaches.For(s))
	if err != nil {
		t.Fatal(err)
	}
	for range 2 { // Nothing is left behind by the first call that makes the second one differ.
		results, err := a.Allocate(context.Background(), s.Nodes[0], s.Claims)
		var internal *allocator.InternalError
		if !errors.As(err, &internal) || results != nil {
			t.Fatalf("got %v, %v, want an *InternalError", results, err)
		}
		if internal.Cause != "no lister for class "+driver || !strings.Contains(err.Error(), "no lister for class") {
			t.Errorf("the cause is %v, the text %q", internal.Cause, err)
		}
		if !strings.Contains(string(internal.Stack), "panickingLister.Get") {
			t.Errorf("the stack does not show where the panic was:\n%s", internal.Stack)
		}
	}
	checkGood(t, inventory)
}

// checkGood fails the test unless the inventory still answers right.
func checkGood(t testing.TB, inv *allocator.Inventory) {
	t.Helper()
	s := newScenario(2, newClaim("good", wants("r", 1, `device.attributes["gpu.example.com"].index == 1`)))
	results, err := ask(t, inv, s)
	if err != nil {
		t.Fatalf("a good claim afterwards: %v", err)
	}
	if diff := cmp.Diff([][]string{{"r=gpu-1"}}, devicesOf(results)); diff != "" {
		t.Errorf("a good claim afterwards: devices differ (-want +got)\n%s", diff)
	}
}
