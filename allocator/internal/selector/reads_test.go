package selector

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/dynamic-resource-allocation/cel"
	"k8s.io/utils/ptr"
)

// String lists what is read, for the table below.
func (s section) String() string {
	if s.all {
		return "all"
	}
	var parts []string
	for domain := range s.domains {
		parts = append(parts, domain+"/*")
	}
	for name := range maps.Keys(s.names) {
		parts = append(parts, name.domain+"/"+name.id)
	}
	slices.Sort(parts)
	return strings.Join(parts, " ")
}

func TestWhatExpressionsRead(t *testing.T) {
	const none, all = "attributes= capacity= multi=false", "attributes=all capacity=all multi=true"
	cache := cel.NewCache(100, cel.Features{EnableConsumableCapacity: true, EnableListTypeAttributes: true})
	for expression, want := range map[string]string{
		`true`:                 none,
		`device.driver == "d"`: none,
		`device.allowMultipleAllocations == true`:                                           "attributes= capacity= multi=true",
		`device.attributes["d"].model == "x"`:                                               "attributes=d/model capacity= multi=false",
		`device.attributes["d"]["model"] == "x"`:                                            "attributes=d/model capacity= multi=false",
		`has(device.attributes["d"].model)`:                                                 "attributes=d/model capacity= multi=false",
		`"model" in device.attributes["d"]`:                                                 "attributes=d/model capacity= multi=false",
		`device.attributes["d"].?model.orValue("y") == "x"`:                                 "attributes=d/model capacity= multi=false",
		`"d" in device.attributes`:                                                          "attributes=d/* capacity= multi=false",
		`device.capacity["d"].memory.isGreaterThan(quantity("1Gi"))`:                        "attributes= capacity=d/memory multi=false",
		`device.attributes["d"].a == 1 && device.attributes["e"].b || device.driver == "x"`: "attributes=d/a e/b capacity= multi=false",
		`cel.bind(d, device.attributes["d"], d.model == "x" && d.numa == 1)`:                "attributes=d/* capacity= multi=false",
		`device.attributes["d"].exists(name, name == "model")`:                              "attributes=d/* capacity= multi=false",
		`device.attributes.all(domain, domain != "e")`:                                      "attributes=all capacity= multi=false",
		`cel.bind(d, device, d.driver == "x")`:                                              all,
		`device.attributes[device.driver].model == "x"`:                                     "attributes=all capacity= multi=false",
		`["a"].exists(x, device.attributes["d"].model == x)`:                                "attributes=d/model capacity= multi=false",
	} {
		compiled := cache.GetOrCompile(expression)
		if compiled.Error != nil {
			t.Errorf("%s: %v", expression, compiled.Error)
			continue
		}
		r := findReads(compiled.Environment, expression)
		if got := fmt.Sprintf("attributes=%v capacity=%v multi=%v", r.attributes, r.capacity, r.multi); got != want {
			t.Errorf("%s reads %s, want %s", expression, got, want)
		}
	}
}

func TestKeysDifferExactlyInWhatIsRead(t *testing.T) {
	r := reads{}
	r.attributes.record([]string{"d", "model"})
	r.capacity.record([]string{"d", "memory"})
	device := func(change func(*resourceapi.Device)) *resourceapi.Device {
		d := &resourceapi.Device{
			Attributes: map[resourceapi.QualifiedName]resourceapi.DeviceAttribute{
				"model": {StringValue: ptr.To("x")}, "uuid": {StringValue: ptr.To("1")},
			},
			Capacity: map[resourceapi.QualifiedName]resourceapi.DeviceCapacity{
				"memory": {Value: resource.MustParse("1Gi")}, "cores": {Value: resource.MustParse("7")},
			},
		}
		change(d)
		return d
	}
	base, ok := r.appendKey(nil, device(func(*resourceapi.Device) {}), "d")
	if !ok {
		t.Fatal("a good device has no key")
	}
	for what, c := range map[string]struct {
		change func(*resourceapi.Device)
		equal  bool
	}{
		"another uuid": {func(d *resourceapi.Device) {
			d.Attributes["uuid"] = resourceapi.DeviceAttribute{StringValue: ptr.To("2")}
		}, true},
		"more cores": {func(d *resourceapi.Device) {
			d.Capacity["cores"] = resourceapi.DeviceCapacity{Value: resource.MustParse("8")}
		}, true},
		"shared": {func(d *resourceapi.Device) { d.AllowMultipleAllocations = ptr.To(true) }, true},
		"another model": {func(d *resourceapi.Device) {
			d.Attributes["model"] = resourceapi.DeviceAttribute{StringValue: ptr.To("y")}
		}, false},
		"no model": {func(d *resourceapi.Device) { delete(d.Attributes, "model") }, false},
		"another type": {func(d *resourceapi.Device) {
			d.Attributes["model"] = resourceapi.DeviceAttribute{VersionValue: ptr.To("1.0.0")}
		}, false},
		"more memory": {func(d *resourceapi.Device) {
			d.Capacity["memory"] = resourceapi.DeviceCapacity{Value: resource.MustParse("2Gi")}
		}, false},
		"foreign domain": {func(d *resourceapi.Device) {
			d.Attributes["e/model"] = resourceapi.DeviceAttribute{StringValue: ptr.To("x")}
		}, true},
	} {
		key, ok := r.appendKey(nil, device(c.change), "d")
		if !ok || (string(key) == string(base)) != c.equal {
			t.Errorf("%s: the key is equal: %v (%v), want %v", what, string(key) == string(base), ok, c.equal)
		}
	}
	if other, _ := r.appendKey(nil, device(func(*resourceapi.Device) {}), "e"); string(other) == string(base) {
		t.Error("the driver is not part of the key")
	}
	if _, ok := r.appendKey(nil, device(func(d *resourceapi.Device) {
		d.Attributes["firmware"] = resourceapi.DeviceAttribute{VersionValue: ptr.To("1.08.0")}
	}), "d"); ok {
		t.Error("a device with an attribute that cannot be converted has a key")
	}
}
