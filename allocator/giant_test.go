package allocator_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/utils/ptr"

	"github.com/dray-dev/dray/allocator"
	"github.com/dray-dev/dray/allocator/allocatortest"
)

func repeated(n int, request resourceapi.DeviceRequest) []resourceapi.DeviceRequest {
	requests := make([]resourceapi.DeviceRequest, n)
	for i := range requests {
		requests[i] = request
		requests[i].Name = fmt.Sprintf("r%d", i)
	}
	return requests
}

func TestGiantClaimsHaveAnAnswer(t *testing.T) {
	checkHostile(t, []hostileTest{
		{"more requests than a claim can have devices", func(s *allocatortest.Scenario) {
			s.Claims[0].Spec.Devices.Requests = repeated(10_000, wants("", 1))
		}, failed, "claim default/c, request r32: adding 1 devices exceeds the claim limit of 32, with 32 already accounted for"},
		{"requests for nothing", func(s *allocatortest.Scenario) {
			s.Claims[0].Spec.Devices.Requests = repeated(10_000, wants("", 0))
		}, fits, ""},
		{"claims", func(s *allocatortest.Scenario) {
			for range 10_000 {
				s.Claims = append(s.Claims, newClaim("empty"))
			}
		}, fits, ""},
		{"alternatives", func(s *allocatortest.Scenario) {
			alternatives := []resourceapi.DeviceSubRequest{}
			asSubRequest(s).Count = 3
			for i := range 5_000 {
				alternative := s.Claims[0].Spec.Devices.Requests[0].FirstAvailable[0]
				alternative.Name = fmt.Sprintf("sub%d", i)
				alternatives = append(alternatives, alternative)
			}
			alternatives[len(alternatives)-1].Count = 2
			s.Claims[0].Spec.Devices.Requests[0].FirstAvailable = alternatives
		}, fits, ""},
		{"an alternative that needs more devices than there are numbers", func(s *allocatortest.Scenario) {
			asSubRequest(s).Count = 1<<63 - 1
			alternatives := &s.Claims[0].Spec.Devices.Requests[0].FirstAvailable
			*alternatives = append(*alternatives, resourceapi.DeviceSubRequest{Name: "one", DeviceClassName: driver, AllocationMode: "ExactCount", Count: 1})
		}, fits, ""},
		{"constraints", func(s *allocatortest.Scenario) {
			request(s).Count = 2
			for range 10_000 {
				s.Claims[0].Spec.Devices.Constraints = append(s.Claims[0].Spec.Devices.Constraints, matching(driver+"/model")...)
			}
		}, fits, ""},
		{"selectors, more than a pool remembers", func(s *allocatortest.Scenario) {
			for i := range 600 {
				request(s).Selectors = append(request(s).Selectors, celSelectors([]string{fmt.Sprintf("%d == %d", i, i)})...)
			}
		}, fits, ""},
		{"an expression", func(s *allocatortest.Scenario) {
			request(s).Selectors = celSelectors([]string{"true" + strings.Repeat(" && true", 200_000)})
		}, failed, "claim default/c: selector #0: CEL compile error"},
		{"tolerations and taints", func(s *allocatortest.Scenario) {
			for i := range 1_000 {
				key := fmt.Sprintf("key%d", i)
				device(s, 0).Taints = append(device(s, 0).Taints, resourceapi.DeviceTaint{Key: key, Effect: resourceapi.DeviceTaintEffectNoSchedule})
				request(s).Tolerations = append(request(s).Tolerations, resourceapi.DeviceToleration{Key: key, Operator: resourceapi.DeviceTolerationOpExists})
			}
		}, fits, ""},
	})
}

// The last of many devices, over many slices and pools, is found by one selector.
func TestTheLastOfThousandsOfDevicesIsFound(t *testing.T) {
	const perSlice, slicesPerPool, pools = 128, 4, 16
	s := newScenario(0, newClaim("c", wants("r", 1, fmt.Sprintf(`device.attributes["gpu.example.com"].index == %d`, perSlice*slicesPerPool*pools-1))))
	s.Slices = nil
	for i := range slicesPerPool * pools {
		slice := newSlice(fmt.Sprintf("slice-%04d", i), nodeName)
		slice.Spec.Pool = resourceapi.ResourcePool{Name: fmt.Sprintf("pool-%04d", i/slicesPerPool), Generation: 1, ResourceSliceCount: slicesPerPool}
		for j := range perSlice {
			slice.Spec.Devices = append(slice.Spec.Devices, newGPU(i*perSlice+j))
		}
		s.Slices = append(s.Slices, slice)
	}
	inventory := allocator.NewInventory()
	for range 2 {
		results, err := ask(t, inventory, s)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff([][]string{{"r=gpu-8191"}}, devicesOf(results)); diff != "" {
			t.Errorf("devices differ (-want +got)\n%s", diff)
		}
	}
	checkGood(t, inventory)
}

// Quantities have no limit in the API. These are larger and finer than 64 bits
// hold, up to exponents that could not be written out in digits.
func TestQuantitiesOfAnySizeHaveAnAnswer(t *testing.T) {
	const tooLarge = `capacity "memory": exponent`
	sharedMemory := func(s *allocatortest.Scenario, value string) {
		for i := range s.Slices[0].Spec.Devices {
			device(s, i).AllowMultipleAllocations = ptr.To(true)
			device(s, i).Capacity["memory"] = resourceapi.DeviceCapacity{Value: *quantity(value)}
		}
	}
	rangePolicy := func(min, max, step string) *resourceapi.CapacityRequestPolicy {
		return &resourceapi.CapacityRequestPolicy{Default: quantity(min), ValidRange: &resourceapi.CapacityRequestPolicyRange{Min: quantity(min), Max: quantity(max), Step: quantity(step)}}
	}
	tests := []hostileTest{
		{"more than 64 bits of capacity", func(s *allocatortest.Scenario) {
			sharedMemory(s, "10E")
			request(s).Capacity = capacityRequest("10E")
		}, fits, ""},
		{"a little more than there is", func(s *allocatortest.Scenario) {
			sharedMemory(s, "10E")
			request(s).Capacity = capacityRequest("10000000000000000001")
		}, doesNotFit, ""},
		{"a billionth", func(s *allocatortest.Scenario) {
			sharedMemory(s, "1n")
			request(s).Capacity = capacityRequest("1n")
		}, fits, ""},
		{"a billionth beside a quintillion", func(s *allocatortest.Scenario) {
			sharedMemory(s, "10E")
			request(s).Capacity = capacityRequest("1n")
			s.Claims[0].Spec.Devices.Requests = append(s.Claims[0].Spec.Devices.Requests, wants("rest", 1, "device.allowMultipleAllocations"))
			s.Claims[0].Spec.Devices.Requests[1].Exactly.Capacity = capacityRequest("9999999999999999999.999999999")
			s.Slices[0].Spec.Devices = s.Slices[0].Spec.Devices[:1]
		}, fits, ""},
		{"a counter of more than 64 bits", func(s *allocatortest.Scenario) { withCounters(s, "100E", "100E") }, fits, ""},
		{"a counter of a billionth", func(s *allocatortest.Scenario) { withCounters(s, "1n", "2n") }, doesNotFit, ""},
		{"a counter with an absurd exponent", func(s *allocatortest.Scenario) { withCounters(s, "1e1000000000", "1") }, failedOnNode, "invalid resource pools"},
		{"consumption with an absurd exponent", func(s *allocatortest.Scenario) { withCounters(s, "1", "1e1000000000") }, failedOnNode, "invalid resource pools"},
		{"a counter of zero with an absurd exponent", func(s *allocatortest.Scenario) { withCounters(s, "0e1000000000", "1") }, doesNotFit, ""},
		{"capacity with an absurd exponent", func(s *allocatortest.Scenario) { sharedMemory(s, "1e1000000000") }, failed, tooLarge},
		{"zero with an absurd exponent", func(s *allocatortest.Scenario) { sharedMemory(s, "0e1000000000") }, fits, ""},
		{"a request with an absurd exponent", func(s *allocatortest.Scenario) { request(s).Capacity = capacityRequest("1e1000000000") }, failed, tooLarge},
		{"a request with an absurd exponent, under a policy", func(s *allocatortest.Scenario) {
			withPolicy(s, rangePolicy("1", "10", "2"))
			request(s).Capacity = capacityRequest("1e1000000000")
		}, failed, tooLarge},
		{"a request of zero with an absurd exponent, under a policy", func(s *allocatortest.Scenario) {
			withPolicy(s, rangePolicy("1", "10", "2"))
			request(s).Capacity = capacityRequest("0e1000000000")
		}, failed, tooLarge},
		{"a value of a policy with an absurd exponent", func(s *allocatortest.Scenario) {
			withPolicy(s, &resourceapi.CapacityRequestPolicy{ValidValues: []resource.Quantity{*quantity("1"), *quantity("1e1000000000")}})
			request(s).Capacity = capacityRequest("2")
		}, failed, tooLarge},
	}
	for i, name := range []string{"minimum", "maximum", "step"} {
		bounds := []string{"1", "10", "2"}
		bounds[i] = "1e1000000000"
		tests = append(tests, hostileTest{"a " + name + " of a policy with an absurd exponent", func(s *allocatortest.Scenario) {
			withPolicy(s, rangePolicy(bounds[0], bounds[1], bounds[2]))
			request(s).Capacity = capacityRequest("3")
		}, failed, tooLarge})
	}
	for _, fractional := range []bool{false, true} {
		tests = append(tests, hostileTest{fmt.Sprintf("bounds at the ends of 64 bits, fractional %v", fractional), func(s *allocatortest.Scenario) {
			s.Features.FractionalCapacityRange = fractional
			withPolicy(s, rangePolicy("-9223372036854775808", "9223372036854775807", "9223372036854775807"))
			request(s).Capacity = capacityRequest("9223372036854775807")
		}, doesNotFit, ""})
	}
	checkHostile(t, tests)
}
