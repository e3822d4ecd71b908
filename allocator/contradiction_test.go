package allocator_test

import (
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"
	resourceapi "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/dray-dev/dray/allocator"
	"github.com/dray-dev/dray/allocator/allocatortest"
)

func oneOf(counter string) map[string]resourceapi.Counter {
	return map[string]resourceapi.Counter{counter: {Value: *quantity("1")}}
}

// withCounters lets each device draw the amount from a counter of the value.
func withCounters(s *allocatortest.Scenario, value, amount string) {
	counters := newSlice("counters", nodeName)
	counters.Spec.SharedCounters = []resourceapi.CounterSet{{Name: "set", Counters: map[string]resourceapi.Counter{"slots": {Value: *quantity(value)}}}}
	s.Slices = append(s.Slices, counters)
	for _, slice := range s.Slices {
		slice.Spec.Pool.ResourceSliceCount = 2
	}
	for i := range s.Slices[0].Spec.Devices {
		device(s, i).ConsumesCounters = []resourceapi.DeviceCounterConsumption{{CounterSet: "set", Counters: map[string]resourceapi.Counter{"slots": {Value: *quantity(amount)}}}}
	}
}

func TestSlicesThatContradictEachOtherFailTheNode(t *testing.T) {
	const invalid = "invalid resource pools were encountered"
	checkHostile(t, []hostileTest{
		{"counters that the pool does not have", func(s *allocatortest.Scenario) {
			device(s, 1).ConsumesCounters = []resourceapi.DeviceCounterConsumption{{CounterSet: "none", Counters: oneOf("slots")}}
		}, failedOnNode, invalid},
		{"a counter that its set does not have", func(s *allocatortest.Scenario) {
			withCounters(s, "2", "1")
			device(s, 1).ConsumesCounters[0].Counters = oneOf("none")
		}, failedOnNode, invalid},
		{"a counter set twice", func(s *allocatortest.Scenario) {
			withCounters(s, "2", "1")
			s.Slices[1].Spec.SharedCounters = append(s.Slices[1].Spec.SharedCounters, s.Slices[1].Spec.SharedCounters[0])
		}, failedOnNode, invalid},
		{"a device twice", func(s *allocatortest.Scenario) { device(s, 1).Name = "gpu-0" }, failedOnNode, invalid},
		{"the same object twice", func(s *allocatortest.Scenario) {
			s.Slices = append(s.Slices, s.Slices[0])
			s.Slices[0].Spec.Pool.ResourceSliceCount = 2
		}, failedOnNode, invalid},
		{"two counts of slices", func(s *allocatortest.Scenario) {
			s.Slices = append(s.Slices, newSlice("slice-b", nodeName))
			s.Slices[1].Spec.Pool.ResourceSliceCount = 2
		}, failedOnNode, invalid},
	})
}

func TestAPoolWithAnotherNumberOfSlicesIsBeingPublished(t *testing.T) {
	var tests []hostileTest
	for name, count := range map[string]int64{"none": 0, "two": 2, "negative": -1, "smallest": math.MinInt64, "largest": math.MaxInt64} {
		tests = append(tests, hostileTest{name, func(s *allocatortest.Scenario) { s.Slices[0].Spec.Pool.ResourceSliceCount = count }, doesNotFit, ""})
	}
	checkHostile(t, tests)
}

func TestGenerationsOfAnySizeCompare(t *testing.T) {
	s := newScenario(0, newClaim("c", wants("r", 1)))
	for i, generation := range []int64{0, math.MaxInt64, math.MinInt64, -1} {
		slice := newSlice("slice-"+string(rune('a'+i)), nodeName, newGPU(i))
		slice.Spec.Pool.Generation = generation
		s.Slices = append(s.Slices, slice)
	}
	results, err := ask(t, allocator.NewInventory(), s)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([][]string{{"r=gpu-1"}}, devicesOf(results)); diff != "" {
		t.Errorf("devices differ (-want +got)\n%s", diff)
	}
}

func TestObjectsThatSayTwoThingsHaveAnAnswer(t *testing.T) {
	checkHostile(t, []hostileTest{
		{"a slice for one node and for all", func(s *allocatortest.Scenario) {
			s.Slices[0].Spec.AllNodes, s.Slices[0].Spec.NodeSelector = ptr.To(true), badSelector()
		}, fits, ""},
		{"a slice for all nodes and for those of its devices", func(s *allocatortest.Scenario) {
			perDevice(s, hostSelector(), hostSelector())
			s.Slices[0].Spec.AllNodes = ptr.To(true)
		}, fits, ""},
		{"devices for nodes in a slice that does not ask them", func(s *allocatortest.Scenario) {
			device(s, 0).NodeName, device(s, 0).NodeSelector = ptr.To("node-b"), badSelector()
		}, fits, ""},
		{"devices in a slice of counters", func(s *allocatortest.Scenario) {
			withCounters(s, "1", "1")
			s.Slices[1].Spec.Devices = newGPUs(2)
		}, fits, ""},
		{"an attribute of two types", func(s *allocatortest.Scenario) {
			attribute := resourceapi.DeviceAttribute{StringValue: ptr.To("x"), IntValue: ptr.To(int64(1)), BoolValues: []bool{true}}
			device(s, 0).Attributes["twice"], device(s, 1).Attributes["twice"] = attribute, attribute
			s.Claims[0].Spec.Devices.Requests[0] = wants("r", 2)
			s.Claims[0].Spec.Devices.Constraints = matching(driver + "/twice")
		}, fits, ""},
		{"an attribute with and without the domain", func(s *allocatortest.Scenario) {
			device(s, 0).Attributes[driver+"/model"] = resourceapi.DeviceAttribute{StringValue: ptr.To("h100")}
			s.Claims[0].Spec.Devices.Requests[0] = wants("r", 2)
			s.Claims[0].Spec.Devices.Constraints = matching(driver + "/model")
		}, doesNotFit, ""},
		{"a constraint that matches and distinguishes", func(s *allocatortest.Scenario) {
			s.Claims[0].Spec.Devices.Constraints = matching(driver + "/model")
			s.Claims[0].Spec.Devices.Constraints[0].DistinctAttribute = s.Claims[0].Spec.Devices.Constraints[0].MatchAttribute
		}, fits, ""},
		{"two constraints that exclude each other", func(s *allocatortest.Scenario) {
			s.Claims[0].Spec.Devices.Requests[0] = wants("r", 2)
			s.Claims[0].Spec.Devices.Constraints = append(matching(driver+"/model"),
				resourceapi.DeviceConstraint{DistinctAttribute: ptr.To(resourceapi.FullyQualifiedName(driver + "/model"))})
		}, doesNotFit, ""},
		{"a constraint for requests that do not exist", func(s *allocatortest.Scenario) {
			s.Claims[0].Spec.Devices.Constraints = matching(driver + "/none")
			s.Claims[0].Spec.Devices.Constraints[0].Requests = []string{"none", "r/none", "", "/"}
		}, fits, ""},
		{"requests of one name", func(s *allocatortest.Scenario) {
			s.Claims[0].Spec.Devices.Requests = []resourceapi.DeviceRequest{wants("r", 1), wants("r", 1)}
		}, fits, ""},
		{"a request with exactly and alternatives", func(s *allocatortest.Scenario) {
			exactly := request(s)
			asSubRequest(s)
			s.Claims[0].Spec.Devices.Requests[0].Exactly = exactly
			exactly.Count = 3
		}, fits, ""},
		{"a claim that is allocated already", func(s *allocatortest.Scenario) {
			s.Claims[0].Status.Allocation = &resourceapi.AllocationResult{Devices: resourceapi.DeviceAllocationResult{
				Results: []resourceapi.DeviceRequestAllocationResult{{Request: "r", Driver: driver, Pool: nodeName, Device: "gpu-0"}},
			}}
		}, fits, ""},
		{"configuration for requests that do not exist", func(s *allocatortest.Scenario) {
			s.Claims[0].Spec.Devices.Config = []resourceapi.DeviceClaimConfiguration{{Requests: []string{"none", "r/none"}}}
		}, fits, ""},
		{"a counter below zero", func(s *allocatortest.Scenario) { withCounters(s, "-1", "0") }, doesNotFit, ""},
		{"a device that gives to a counter", func(s *allocatortest.Scenario) { withCounters(s, "0", "-1") }, fits, ""},
		{"names that are no names", func(s *allocatortest.Scenario) {
			name := "\xff/\x00//" + string(make([]byte, 1000))
			s.Slices[0].Name, s.Slices[0].Spec.Pool.Name, device(s, 0).Name = name, name, name
			s.Claims[0].Name, s.Claims[0].Spec.Devices.Requests[0].Name = name, name
		}, fits, ""},
	})
}

// Objects refer to each other by owner references and by sharing memory; neither
// may lead anybody in a circle.
func TestReferencesInACircleAreOnlyNames(t *testing.T) {
	owner := func(kind, name string) []metav1.OwnerReference {
		return []metav1.OwnerReference{{APIVersion: "resource.k8s.io/v1", Kind: kind, Name: name, UID: "uid", Controller: ptr.To(true)}}
	}
	checkHostile(t, []hostileTest{
		{"objects that own themselves", func(s *allocatortest.Scenario) {
			s.Claims[0].OwnerReferences = owner("ResourceClaim", "c")
			s.Slices[0].OwnerReferences = owner("ResourceSlice", "slice-a")
			s.Classes[0].OwnerReferences = owner("DeviceClass", driver)
		}, fits, ""},
		{"objects that own each other", func(s *allocatortest.Scenario) {
			s.Claims[0].OwnerReferences = owner("ResourceSlice", "slice-a")
			s.Slices[0].OwnerReferences = owner("Node", nodeName)
			s.Nodes[0].OwnerReferences = owner("ResourceClaim", "c")
		}, fits, ""},
		{"a pool named like its driver, its node and its device", func(s *allocatortest.Scenario) {
			s.Slices[0].Spec.Pool.Name, device(s, 0).Name, s.Slices[0].Name = driver, driver, driver
			s.Nodes[0].Name, *s.Slices[0].Spec.NodeName = driver, driver
		}, fits, ""},
		{"a counter set named like its counter and its device", func(s *allocatortest.Scenario) {
			withCounters(s, "1", "1")
			device(s, 0).Name = "set"
			device(s, 0).ConsumesCounters[0].Counters = oneOf("set")
			s.Slices[1].Spec.SharedCounters[0].Counters["set"] = resourceapi.Counter{Value: *quantity("1")}
		}, fits, ""},
		{"one claim three times", func(s *allocatortest.Scenario) {
			s.Claims = append(s.Claims, s.Claims[0], s.Claims[0])
		}, doesNotFit, ""},
		{"devices that share their maps", func(s *allocatortest.Scenario) {
			device(s, 1).Attributes, device(s, 1).Capacity = device(s, 0).Attributes, device(s, 0).Capacity
			s.Claims[0].Spec.Devices.Constraints = matching(driver + "/index")
			request(s).Count = 2
		}, fits, ""},
		{"requests that share their body", func(s *allocatortest.Scenario) {
			s.Claims[0].Spec.Devices.Requests = append(s.Claims[0].Spec.Devices.Requests, resourceapi.DeviceRequest{Name: "again", Exactly: request(s)})
		}, fits, ""},
	})
}

// Who looks at a device with admin access draws nothing from its counters; who
// shares it afterwards does (docs/deviations.md 3).
func TestAShareAfterAdminAccessPaysForItsDevice(t *testing.T) {
	one, other := `device.attributes["gpu.example.com"].index == 0`, `device.attributes["gpu.example.com"].index == 1`
	look := wants("look", 1, one)
	look.Exactly.AdminAccess = ptr.To(true)
	for name, test := range map[string]struct {
		slots string
		want  [][]string
	}{
		"one slot":  {"1", nil},
		"two slots": {"2", [][]string{{"look=gpu-0", "share=gpu-0", "other=gpu-1"}}},
	} {
		t.Run(name, func(t *testing.T) {
			s := newScenario(2, newClaim("c", look, wants("share", 1, one), wants("other", 1, other)))
			withCounters(s, test.slots, "1")
			device(s, 0).AllowMultipleAllocations, device(s, 0).Capacity = ptr.To(true), nil
			results, err := ask(t, allocator.NewInventory(), s)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, devicesOf(results)); diff != "" {
				t.Errorf("devices differ (-want +got)\n%s", diff)
			}
		})
	}
}
