package allocator_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	corev1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/utils/ptr"

	"github.com/dray-dev/dray/allocator"
	"github.com/dray-dev/dray/allocator/allocatortest"
)

// inputErrorTest changes a sound scenario, in which claim default/c wants one of
// two devices in request r, and says what the error names.
type inputErrorTest struct {
	name   string
	change func(s *allocatortest.Scenario)
	want   allocator.InputError // without Err
	says   string
}

func request(s *allocatortest.Scenario) *resourceapi.ExactDeviceRequest {
	return s.Claims[0].Spec.Devices.Requests[0].Exactly
}

// asSubRequest makes the request the only subrequest, named sub.
func asSubRequest(s *allocatortest.Scenario) *resourceapi.DeviceSubRequest {
	r := &s.Claims[0].Spec.Devices.Requests[0]
	r.FirstAvailable = []resourceapi.DeviceSubRequest{{
		Name: "sub", DeviceClassName: r.Exactly.DeviceClassName, AllocationMode: r.Exactly.AllocationMode, Count: r.Exactly.Count,
	}}
	r.Exactly = nil
	return &r.FirstAvailable[0]
}

func device(s *allocatortest.Scenario, i int) *resourceapi.Device {
	return &s.Slices[0].Spec.Devices[i]
}

const gpu0, gpu1 = driver + "/" + nodeName + "/gpu-0", driver + "/" + nodeName + "/gpu-1"

func badSelector() *corev1.NodeSelector {
	return &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{
		MatchExpressions: []corev1.NodeSelectorRequirement{{Key: "zone", Operator: "Near", Values: []string{"x"}}},
	}}}
}

func hostSelector() *corev1.NodeSelector {
	return &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{
		MatchExpressions: []corev1.NodeSelectorRequirement{{Key: "kubernetes.io/hostname", Operator: corev1.NodeSelectorOpIn, Values: []string{nodeName}}},
	}}}
}

func derived(expression string) []resourceapi.DeviceDerivedAttribute {
	return []resourceapi.DeviceDerivedAttribute{{Name: "example.com/derived", Expression: expression}}
}

func matching(attribute string) []resourceapi.DeviceConstraint {
	return []resourceapi.DeviceConstraint{{MatchAttribute: ptr.To(resourceapi.FullyQualifiedName(attribute))}}
}

// perDevice lets each device say which node reaches it.
func perDevice(s *allocatortest.Scenario, selectors ...*corev1.NodeSelector) {
	spec := &s.Slices[0].Spec
	spec.NodeName, spec.PerDeviceNodeSelection = nil, ptr.To(true)
	for i := range spec.Devices {
		spec.Devices[i].NodeSelector = selectors[i]
	}
}

var refusals = []inputErrorTest{
	{"alternatives while they are off", func(s *allocatortest.Scenario) { s.Features.PrioritizedList = false; asSubRequest(s) },
		allocator.InputError{Claim: "default/c", Request: "r"}, "claim default/c, request r: has subrequests, but the DRAPrioritizedList feature is disabled"},
	{"capacity while it is off", func(s *allocatortest.Scenario) {
		s.Features.ConsumableCapacity = false
		request(s).Capacity = &resourceapi.CapacityRequirements{}
	}, allocator.InputError{Claim: "default/c", Request: "r"}, "request r: has capacity requests, but the DRAConsumableCapacity feature is disabled"},
	{"capacity of a subrequest while it is off", func(s *allocatortest.Scenario) {
		s.Features.ConsumableCapacity = false
		asSubRequest(s).Capacity = &resourceapi.CapacityRequirements{}
	}, allocator.InputError{Claim: "default/c", Request: "r"}, "subrequest sub: has capacity requests, but the DRAConsumableCapacity feature is disabled"},
	{"derived attributes while they are off", func(s *allocatortest.Scenario) {
		s.Features.DerivedAttributes = false
		asSubRequest(s).DerivedAttributes = derived("1")
	}, allocator.InputError{Claim: "default/c", Request: "r/sub"}, "request sub: cannot handle request with derived attributes"},
	{"admin access while it is off", func(s *allocatortest.Scenario) {
		s.Features.AdminAccess = false
		request(s).AdminAccess = ptr.To(false)
	}, allocator.InputError{Claim: "default/c", Request: "r"}, "claim default/c, request r: admin access is requested, but the feature is disabled"},
	{"neither exactly nor alternatives", func(s *allocatortest.Scenario) { s.Claims[0].Spec.Devices.Requests[0].Exactly = nil },
		allocator.InputError{Claim: "default/c", Request: "r"}, "claim default/c, request r: missing device class name"},
	{"no class named", func(s *allocatortest.Scenario) { asSubRequest(s).DeviceClassName = "" },
		allocator.InputError{Claim: "default/c", Request: "r/sub"}, "missing device class name"},
	{"class that does not exist", func(s *allocatortest.Scenario) { request(s).DeviceClassName = "none" },
		allocator.InputError{Claim: "default/c", Request: "r", Class: "none"}, "could not retrieve device class none"},
	{"selector of the class that is not CEL", func(s *allocatortest.Scenario) {
		s.Classes[0].Spec.Selectors = append(s.Classes[0].Spec.Selectors, resourceapi.DeviceSelector{})
	}, allocator.InputError{Claim: "default/c", Request: "r", Class: driver}, "class " + driver + ": selector #1: CEL expression empty"},
	{"selector of the request that is not CEL", func(s *allocatortest.Scenario) { request(s).Selectors = []resourceapi.DeviceSelector{{}} },
		allocator.InputError{Claim: "default/c", Request: "r"}, "claim default/c, request r, selector #0: CEL expression empty"},
	{"negative count", func(s *allocatortest.Scenario) { request(s).Count = -1 },
		allocator.InputError{Claim: "default/c", Request: "r"}, "claim default/c, request r: count -1 is negative"},
	{"count of no claim's size", func(s *allocatortest.Scenario) { request(s).Count = 1<<63 - 1 },
		allocator.InputError{Claim: "default/c", Request: "r"}, "claim default/c, request r: adding 9223372036854775807 devices exceeds the claim limit of 32"},
	{"mode that is unknown", func(s *allocatortest.Scenario) { request(s).AllocationMode = "Some" },
		allocator.InputError{Claim: "default/c", Request: "r"}, "claim default/c, request r: unsupported count mode Some"},
	{"constraint of an unknown kind", func(s *allocatortest.Scenario) {
		s.Claims[0].Spec.Devices.Constraints = []resourceapi.DeviceConstraint{{}}
	}, allocator.InputError{Claim: "default/c"}, "claim default/c, constraint #0: empty constraint"},
}

var faults = []inputErrorTest{
	{"selector of the class does not compile", func(s *allocatortest.Scenario) {
		s.Classes[0].Spec.Selectors = celSelectors([]string{"true", "no such thing"})
	}, allocator.InputError{Claim: "default/c", Request: "r", Class: driver}, "class " + driver + ": selector #1: CEL compile error"},
	{"selector of the request does not compile", func(s *allocatortest.Scenario) { request(s).Selectors = celSelectors([]string{"1 + 1"}) },
		allocator.InputError{Claim: "default/c", Request: "r"}, "claim default/c: selector #0: CEL compile error"},
	{"selector of the class fails on a device", func(s *allocatortest.Scenario) {
		s.Classes[0].Spec.Selectors = celSelectors([]string{`device.attributes["gpu.example.com"].none == 1`})
	}, allocator.InputError{Claim: "default/c", Request: "r", Class: driver, Device: gpu0}, "class " + driver + ": selector #0 on device " + gpu0 + ": CEL runtime error"},
	{"selector of the request fails on the second device", func(s *allocatortest.Scenario) {
		delete(device(s, 1).Attributes, "model")
		request(s).Selectors = celSelectors([]string{`device.attributes["gpu.example.com"].model == "h100"`})
	}, allocator.InputError{Claim: "default/c", Request: "r", Device: gpu1}, "claim default/c: selector #0 on device " + gpu1 + ": CEL runtime error"},
	{"attribute without a value", func(s *allocatortest.Scenario) {
		device(s, 0).Attributes["model"] = resourceapi.DeviceAttribute{}
	}, allocator.InputError{Claim: "default/c", Request: "r", Class: driver, Device: gpu0}, "on device " + gpu0},
	{"derived attribute does not compile", func(s *allocatortest.Scenario) {
		request(s).DerivedAttributes = derived("no such thing")
		s.Claims[0].Spec.Devices.Constraints = matching("example.com/derived")
	}, allocator.InputError{Claim: "default/c", Request: "r"}, "compile derived attribute example.com/derived failed"},
	{"derived attribute fails on a device", func(s *allocatortest.Scenario) {
		asSubRequest(s).DerivedAttributes = derived(`device.attributes["gpu.example.com"].none`)
		s.Claims[0].Spec.Devices.Constraints = matching("example.com/derived")
	}, allocator.InputError{Claim: "default/c", Request: "r/sub", Device: gpu0}, "evaluate derived attribute example.com/derived on device " + gpu0},
	{"all devices and a constraint between them", func(s *allocatortest.Scenario) {
		s.Claims[0].Spec.Devices.Requests[0] = wantsAll("r")
		s.Claims[0].Spec.Devices.Constraints = matching(driver + "/index")
	}, allocator.InputError{Claim: "default/c", Request: "r", Device: gpu1}, "claim default/c, request r: cannot add device " + gpu1},
	{"negative capacity", func(s *allocatortest.Scenario) {
		request(s).Capacity = capacityRequest("-1")
	}, allocator.InputError{Claim: "default/c", Request: "r", Device: gpu0}, `checking capacity for device ` + gpu0 + `: capacity "memory": capacity value is negative`},
	{"capacity beyond any device", func(s *allocatortest.Scenario) {
		request(s).Capacity = capacityRequest("1e1000000")
	}, allocator.InputError{Claim: "default/c", Request: "r", Device: gpu0}, `capacity "memory"`},
	{"capacity policy with a step of zero", func(s *allocatortest.Scenario) {
		withPolicy(s, &resourceapi.CapacityRequestPolicy{ValidRange: &resourceapi.CapacityRequestPolicyRange{Min: quantity("1"), Step: quantity("0")}})
		request(s).Capacity = capacityRequest("2")
	}, allocator.InputError{Claim: "default/c", Request: "r", Device: gpu0}, `capacity "memory": request policy cannot be applied: step is zero`},
	{"capacity policy with a step and no minimum", func(s *allocatortest.Scenario) {
		withPolicy(s, &resourceapi.CapacityRequestPolicy{ValidRange: &resourceapi.CapacityRequestPolicyRange{Step: quantity("2")}})
		request(s).Capacity = capacityRequest("2")
	}, allocator.InputError{Claim: "default/c", Request: "r", Device: gpu0}, `capacity "memory": request policy cannot be applied: validRange has a step and no min`},
	{"node selector of a slice", func(s *allocatortest.Scenario) {
		s.Slices[0].Spec.NodeName, s.Slices[0].Spec.NodeSelector = nil, badSelector()
	}, allocator.InputError{Slice: "slice-a"}, "failed to perform node selection for slice slice-a"},
	{"node selector of the device that decides", func(s *allocatortest.Scenario) { perDevice(s, badSelector(), hostSelector()) },
		allocator.InputError{Device: gpu0, Slice: "slice-a"}, "in slice slice-a"},
	{"node selector of a device behind another", func(s *allocatortest.Scenario) {
		perDevice(s, hostSelector(), badSelector())
		request(s).Selectors = celSelectors([]string{`device.attributes["gpu.example.com"].index == 1`})
	}, allocator.InputError{Claim: "default/c", Request: "r", Device: gpu1}, "failed to parse node selector"},
	{"node selector of a device with alternatives", func(s *allocatortest.Scenario) {
		two := hostSelector()
		two.NodeSelectorTerms = append(two.NodeSelectorTerms, two.NodeSelectorTerms[0])
		perDevice(s, two, hostSelector())
	}, allocator.InputError{Claim: "default/c", Device: gpu0}, "unsupported ResourceSlice.NodeSelector with 2 terms"},
}

func quantity(text string) *resource.Quantity { return ptr.To(resource.MustParse(text)) }

func capacityRequest(text string) *resourceapi.CapacityRequirements {
	return &resourceapi.CapacityRequirements{Requests: map[resourceapi.QualifiedName]resource.Quantity{"memory": *quantity(text)}}
}

func withPolicy(s *allocatortest.Scenario, policy *resourceapi.CapacityRequestPolicy) {
	for i := range s.Slices[0].Spec.Devices {
		device(s, i).Capacity["memory"] = resourceapi.DeviceCapacity{Value: *quantity("40Gi"), RequestPolicy: policy}
	}
}

func TestInputErrorsNameTheObjectsAtFault(t *testing.T) {
	inventory := allocator.NewInventory()
	for _, test := range append(refusals, faults...) {
		t.Run(test.name, func(t *testing.T) {
			s := newScenario(2, newClaim("c", wants("r", 1)))
			test.change(s)
			results, err := ask(t, inventory, s)
			checkInputError(t, results, err, test.want, test.says)
			checkGood(t, inventory)
		})
	}
}

func checkInputError(t *testing.T, results []resourceapi.AllocationResult, err error, want allocator.InputError, says string) {
	t.Helper()
	var got *allocator.InputError
	if !errors.As(err, &got) || results != nil {
		t.Fatalf("got %v, %v, want an *InputError", results, err)
	}
	if diff := cmp.Diff(want, *got, cmpopts.IgnoreFields(allocator.InputError{}, "Err")); diff != "" {
		t.Errorf("%v\nnames other objects (-want +got)\n%s", err, diff)
	}
	if !strings.Contains(err.Error(), says) {
		t.Errorf("the text is %q, want it to say %q", err, says)
	}
	if kinds := kindsOf(err); len(kinds) != 1 {
		t.Errorf("the error is all of %v", kinds)
	}
}

func TestTheClassListersOwnErrorIsInTheChain(t *testing.T) {
	s := newScenario(1, newClaim("c", wants("r", 1)))
	for name, test := range map[string]struct {
		lister allocator.DeviceClassLister
		says   string
	}{
		"error":         {lister: getterFunc(func() (*resourceapi.DeviceClass, error) { return nil, errLister }), says: errLister.Error()},
		"no class":      {lister: getterFunc(func() (*resourceapi.DeviceClass, error) { return nil, nil }), says: "the class lister returned none"},
		"nil interface": {lister: nil, says: "no class lister was given to NewAllocator"},
	} {
		t.Run(name, func(t *testing.T) {
			a, err := allocator.NewInventory().NewAllocator(context.Background(), s.Features, s.AllocatedState(), test.lister, s.Slices, celCaches.For(s))
			if err != nil {
				t.Fatal(err)
			}
			results, err := a.Allocate(context.Background(), s.Nodes[0], s.Claims)
			checkInputError(t, results, err, allocator.InputError{Claim: "default/c", Request: "r", Class: driver}, test.says)
			if errors.Is(err, errLister) != (name == "error") {
				t.Errorf("errors.Is(%v, the lister's error) is wrong", err)
			}
		})
	}
}

var errLister = errors.New("the informer has not synced")

type getterFunc func() (*resourceapi.DeviceClass, error)

func (f getterFunc) List() ([]*resourceapi.DeviceClass, error)    { return nil, nil }
func (f getterFunc) Get(string) (*resourceapi.DeviceClass, error) { return f() }
