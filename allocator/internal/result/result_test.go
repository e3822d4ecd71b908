package result

import (
	"fmt"
	"strings"
	"testing"

	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// describeDevices has one device a line with all that is set.
func describeDevices(results []resourceapi.DeviceRequestAllocationResult) string {
	var text []string
	for _, r := range results {
		line := fmt.Sprintf("%s: %s/%s/%s", r.Request, r.Driver, r.Pool, r.Device)
		if r.AdminAccess != nil {
			line += fmt.Sprintf(" admin=%v", *r.AdminAccess)
		}
		if r.ShareID != nil {
			line += " " + string(*r.ShareID)
		}
		if r.ConsumedCapacity != nil {
			line += " consumes"
			for _, name := range []resourceapi.QualifiedName{"links", "memory"} {
				if quantity, found := r.ConsumedCapacity[name]; found {
					line += fmt.Sprintf(" %s=%s", name, quantity.String())
				}
			}
		}
		for _, toleration := range r.Tolerations {
			line += " tolerates " + toleration.Key
		}
		if r.BindingConditions != nil || r.BindingFailureConditions != nil {
			line += fmt.Sprintf(" waits for %v, fails for %v", r.BindingConditions, r.BindingFailureConditions)
		}
		if r.SkipNodeOperations != nil {
			line += fmt.Sprintf(" skips %v", r.SkipNodeOperations)
		}
		text = append(text, line)
	}
	return strings.Join(text, "\n")
}

func TestDevicesComeInTheOrderOfRequests(t *testing.T) {
	count := func(n int64) func(*resourceapi.ExactDeviceRequest) {
		return func(r *resourceapi.ExactDeviceRequest) { r.Count = n }
	}
	list := []*resourceapi.ResourceSlice{slice("p", resourceapi.Device{Name: "a"}, resourceapi.Device{Name: "b"}), slice("q", resourceapi.Device{Name: "c"}, resourceapi.Device{Name: "d"})}
	results, err := write(t, everything, classes{}, list, claim(exactly("r", "plain", count(2)), second("f", "plain")), claim(exactly("s", "plain")), claim())
	if err != nil || len(results) != 3 {
		t.Fatalf("%d results, %v; want one for each claim", len(results), err)
	}
	want := "r: driver/p/a\nr: driver/p/b\nf/small: driver/q/c"
	if got := describeDevices(results[0].Devices.Results); got != want {
		t.Errorf("the first claim gets\n%s, want\n%s", got, want)
	}
	if got := describeDevices(results[1].Devices.Results); got != "s: driver/q/d" {
		t.Errorf("the second claim gets\n%s", got)
	}
	if got := describeDevices(results[2].Devices.Results); got != "" || results[2].NodeSelector != nil {
		t.Errorf("a claim without requests gets %q, on %v", got, results[2].NodeSelector)
	}
	if results[0].AllocationTimestamp != nil {
		t.Error("there is a time stamp; setting it is the scheduler's part")
	}
}

func TestFieldsOfADevice(t *testing.T) {
	yes, no := true, false
	shared := resourceapi.Device{Name: "shared", AllowMultipleAllocations: &yes, Capacity: map[resourceapi.QualifiedName]resourceapi.DeviceCapacity{
		"memory": {Value: resource.MustParse("80Gi"), RequestPolicy: &resourceapi.CapacityRequestPolicy{ValidRange: &resourceapi.CapacityRequestPolicyRange{Min: quantity("1Gi"), Step: quantity("1Gi")}}},
		"links":  {Value: resource.MustParse("4"), RequestPolicy: &resourceapi.CapacityRequestPolicy{Default: quantity("1")}},
	}}
	bare := resourceapi.Device{Name: "bare", AllowMultipleAllocations: &yes}
	whole := resourceapi.Device{Name: "whole", Capacity: map[resourceapi.QualifiedName]resourceapi.DeviceCapacity{"memory": {Value: resource.MustParse("80Gi")}}}
	waits := resourceapi.Device{Name: "waits", BindingConditions: []string{"ready"}, BindingFailureConditions: []string{"lost"}}
	tainted := resourceapi.Device{Name: "tainted", Taints: []resourceapi.DeviceTaint{{Key: "k", Effect: resourceapi.DeviceTaintEffectNoSchedule}}}
	skips := slice("p", resourceapi.Device{Name: "skips"})
	skips.Spec.SkipNodeOperations = []resourceapi.SkipNodeOperation{resourceapi.SkipNodeOperationAll}

	admin := func(value *bool) func(*resourceapi.ExactDeviceRequest) {
		return func(r *resourceapi.ExactDeviceRequest) { r.AdminAccess = value }
	}
	needs := func(memory string) func(*resourceapi.ExactDeviceRequest) {
		return func(r *resourceapi.ExactDeviceRequest) {
			r.Capacity = &resourceapi.CapacityRequirements{Requests: map[resourceapi.QualifiedName]resource.Quantity{"memory": resource.MustParse(memory)}}
		}
	}
	tolerates := func(r *resourceapi.ExactDeviceRequest) {
		r.Tolerations = []resourceapi.DeviceToleration{{Key: "k", Operator: resourceapi.DeviceTolerationOpExists}, {Key: "l"}}
	}
	for _, c := range []struct {
		name     string
		slice    *resourceapi.ResourceSlice
		requests []resourceapi.DeviceRequest
		want     string
	}{
		{"nothing special", slice("p", whole), []resourceapi.DeviceRequest{exactly("r", "plain")}, "r: driver/p/whole"},
		{"capacity of a device for itself is not recorded", slice("p", whole), []resourceapi.DeviceRequest{exactly("r", "plain", needs("1Gi"))}, "r: driver/p/whole"},
		{"admin access", slice("p", whole), []resourceapi.DeviceRequest{exactly("r", "plain", admin(&yes))}, "r: driver/p/whole admin=true"},
		{"admin access denied is not written", slice("p", whole), []resourceapi.DeviceRequest{exactly("r", "plain", admin(&no))}, "r: driver/p/whole"},
		{"shares have an ID each, and what they take after rounding", slice("p", shared),
			[]resourceapi.DeviceRequest{exactly("r", "plain", needs("1500Mi")), exactly("s", "plain", needs("3Gi"))},
			"r: driver/p/shared share-1 consumes links=1 memory=2Gi\ns: driver/p/shared share-2 consumes links=1 memory=3Gi"},
		{"a share of nothing", slice("p", bare), []resourceapi.DeviceRequest{exactly("r", "plain")}, "r: driver/p/bare share-1"},
		{"a share with admin access", slice("p", bare), []resourceapi.DeviceRequest{exactly("r", "plain", admin(&yes))}, "r: driver/p/bare admin=true share-1"},
		{"tolerations are the request's, needed or not", slice("p", tainted), []resourceapi.DeviceRequest{exactly("r", "plain", tolerates)}, "r: driver/p/tainted tolerates k tolerates l"},
		{"conditions", slice("p", waits), []resourceapi.DeviceRequest{exactly("r", "plain")}, "r: driver/p/waits waits for [ready], fails for [lost]"},
		{"operations to skip are the slice's", skips, []resourceapi.DeviceRequest{exactly("r", "plain")}, "r: driver/p/skips skips [*]"},
	} {
		results, err := write(t, everything, classes{}, []*resourceapi.ResourceSlice{c.slice}, claim(c.requests...))
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		if got := describeDevices(results[0].Devices.Results); got != c.want {
			t.Errorf("%s: the claim gets\n%s, want\n%s", c.name, got, c.want)
		}
	}
}

func quantity(text string) *resource.Quantity {
	q := resource.MustParse(text)
	return &q
}

// Without its feature a device that could be shared is given away as a whole.
func TestNoShareWithoutTheFeature(t *testing.T) {
	yes := true
	features := everything
	features.ConsumableCapacity = false
	results, err := write(t, features, classes{}, []*resourceapi.ResourceSlice{slice("p", resourceapi.Device{Name: "a", AllowMultipleAllocations: &yes})}, claim(exactly("r", "plain")))
	if err != nil || describeDevices(results[0].Devices.Results) != "r: driver/p/a" {
		t.Errorf("the claim gets %v, %v", results, err)
	}
}

// Tolerations of the alternative that was taken are those that count.
func TestAnAlternativesTolerations(t *testing.T) {
	r := second("f", "plain")
	r.FirstAvailable[0].Tolerations = []resourceapi.DeviceToleration{{Key: "large"}}
	r.FirstAvailable[1].Tolerations = []resourceapi.DeviceToleration{{Key: "small"}}
	results, err := write(t, everything, classes{}, []*resourceapi.ResourceSlice{slice("p", resourceapi.Device{Name: "a"})}, claim(r))
	if err != nil || describeDevices(results[0].Devices.Results) != "f/small: driver/p/a tolerates small" {
		t.Errorf("the claim gets %v, %v", results, err)
	}
}
