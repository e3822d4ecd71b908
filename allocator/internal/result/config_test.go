package result

import (
	"fmt"
	"strings"
	"testing"

	resourceapi "k8s.io/api/resource/v1"
)

// describeConfig has the entries in order: source, driver, and for which requests.
func describeConfig(list []resourceapi.DeviceAllocationConfiguration) string {
	var text []string
	for _, config := range list {
		source := strings.TrimPrefix(string(config.Source), "From")
		text = append(text, fmt.Sprintf("%s %s %v", source, config.Opaque.Driver, config.Requests))
	}
	return strings.Join(text, ", ")
}

// Configuration of classes comes before the claim's, and "for all requests" is
// written as no names.
func TestConfig(t *testing.T) {
	type entry struct {
		driver   string
		requests []string
	}
	lister := classes{"x": {"x1"}, "y": {"y1", "y2"}, "unused": {"never"}}
	for _, c := range []struct {
		name     string
		requests []resourceapi.DeviceRequest
		config   []entry
		want     string
	}{
		{"none", []resourceapi.DeviceRequest{exactly("r", "plain")}, nil, ""},
		{"one class for the only request", []resourceapi.DeviceRequest{exactly("r", "x")}, nil, "Class x1 []"},
		{"two classes", []resourceapi.DeviceRequest{exactly("r", "x"), exactly("s", "y")}, nil, "Class x1 [r], Class y1 [s], Class y2 [s]"},
		{"a class of two requests is there once", []resourceapi.DeviceRequest{exactly("r", "y"), exactly("s", "x"), exactly("t", "y")}, nil,
			"Class y1 [r t], Class y2 [r t], Class x1 [s]"},
		{"another class after the second use of one", []resourceapi.DeviceRequest{exactly("r", "x"), exactly("s", "x"), exactly("t", "y")}, nil,
			"Class x1 [r s], Class y1 [t], Class y2 [t]"},
		{"a class of all requests", []resourceapi.DeviceRequest{exactly("r", "x"), exactly("s", "x")}, nil, "Class x1 []"},
		{"a class without configuration beside it", []resourceapi.DeviceRequest{exactly("r", "plain"), exactly("s", "x")}, nil, "Class x1 [s]"},
		{"the alternative that was taken decides", []resourceapi.DeviceRequest{second("f", "y"), exactly("r", "x")}, nil,
			"Class y1 [f/small], Class y2 [f/small], Class x1 [r]"},
		{"an alternative and a request of one class", []resourceapi.DeviceRequest{second("f", "x"), exactly("r", "x"), exactly("s", "plain")}, nil, "Class x1 [f/small r]"},

		{"of the claim, without names", []resourceapi.DeviceRequest{exactly("r", "x")}, []entry{{"c", nil}}, "Class x1 [], Claim c []"},
		{"of the claim, for one of two", []resourceapi.DeviceRequest{exactly("r", "plain"), exactly("s", "plain")}, []entry{{"c", []string{"s"}}}, "Claim c [s]"},
		{"of the claim, for both by name", []resourceapi.DeviceRequest{exactly("r", "plain"), exactly("s", "plain")}, []entry{{"c", []string{"s", "r"}}}, "Claim c []"},
		{"of the claim, in its order", []resourceapi.DeviceRequest{exactly("r", "plain"), exactly("s", "plain")},
			[]entry{{"c2", []string{"s"}}, {"c1", nil}, {"c3", []string{"r"}}}, "Claim c2 [s], Claim c1 [], Claim c3 [r]"},
		{"for nobody here", []resourceapi.DeviceRequest{exactly("r", "plain")}, []entry{{"c", []string{"other"}}}, ""},
		{"for a request with alternatives", []resourceapi.DeviceRequest{second("f", "plain"), exactly("r", "plain")}, []entry{{"c", []string{"f"}}}, "Claim c [f]"},
		{"for the alternative that was taken", []resourceapi.DeviceRequest{second("f", "plain"), exactly("r", "plain")}, []entry{{"c", []string{"f/small"}}}, "Claim c [f/small]"},
		{"for the alternative that was not", []resourceapi.DeviceRequest{second("f", "plain"), exactly("r", "plain")}, []entry{{"c", []string{"f/large"}}}, ""},
		{"a name that does not matter here stays", []resourceapi.DeviceRequest{second("f", "plain"), exactly("r", "plain")}, []entry{{"c", []string{"f/large", "r"}}}, "Claim c [f/large r]"},
		{"for all: a request and an alternative", []resourceapi.DeviceRequest{second("f", "plain"), exactly("r", "plain")}, []entry{{"c", []string{"r", "f/small"}}}, "Claim c []"},
		{"an alternative's name is not a request's", []resourceapi.DeviceRequest{exactly("f", "plain"), exactly("r", "plain")}, []entry{{"c", []string{"f/small"}}}, ""},
	} {
		api := claim(c.requests...)
		for _, e := range c.config {
			api.Spec.Devices.Config = append(api.Spec.Devices.Config, resourceapi.DeviceClaimConfiguration{Requests: e.requests, DeviceConfiguration: configFor(e.driver)})
		}
		devices := []resourceapi.Device{{Name: "a"}, {Name: "b"}, {Name: "c"}}
		results, err := write(t, everything, lister, []*resourceapi.ResourceSlice{slice("p", devices...)}, api)
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		if got := describeConfig(results[0].Devices.Config); got != c.want {
			t.Errorf("%s: the configuration is %q, want %q", c.name, got, c.want)
		}
	}
}

// Names that are there but none are not turned into no names: consumers compare
// allocations, and upstream leaves them.
func TestAnEmptyListOfRequestsStays(t *testing.T) {
	api := claim(exactly("r", "plain"))
	api.Spec.Devices.Config = []resourceapi.DeviceClaimConfiguration{{Requests: []string{}, DeviceConfiguration: configFor("c")}}
	results, err := write(t, everything, classes{}, []*resourceapi.ResourceSlice{slice("p", resourceapi.Device{Name: "a"})}, api)
	if err != nil || results[0].Devices.Config[0].Requests == nil {
		t.Errorf("the configuration is %#v, %v; want an empty list of requests", results, err)
	}
}
