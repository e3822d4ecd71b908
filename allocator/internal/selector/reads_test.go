package selector

import (
	"fmt"
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
	for _, domain := range s.domains {
		parts = append(parts, domain+"/*")
	}
	for _, name := range s.names {
		parts = append(parts, string(name.full))
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
	keyOf := func(d *resourceapi.Device, driver string) string { return string(new(keys).of(&r, d, driver)) }
	base := keyOf(device(func(*resourceapi.Device) {}), "d")
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
		if key := keyOf(device(c.change), "d"); (key == base) != c.equal {
			t.Errorf("%s: the key is equal: %v, want %v", what, key == base, c.equal)
		}
	}
	if keyOf(device(func(*resourceapi.Device) {}), "e") == base {
		t.Error("the driver is not part of the key")
	}
}

func TestADeviceWithAnUnreadFaultyAttributeIsEvaluatedForItself(t *testing.T) {
	devices := models("a", "a", "a")
	devices.At(1).Attributes["firmware"] = resourceapi.DeviceAttribute{VersionValue: ptr.To("1.08.0")}
	ev, m := newEvaluator(), &Memo{}
	ev.Shapes = &Shapes{}
	v := verdict(t, ev, m, isA, devices)
	if got := fmt.Sprint(v.Match, v.Fault, ev.Evaluations.Load()); got != "{0 2} {1} 2" {
		t.Errorf("matches, faults and evaluations are %s, want {0 2} {1} 2", got)
	}
}

// What is read by name is looked up, what is read by domain is searched: both
// have to come to the same key, also where a device has a name in both forms.
func TestLookingNamesUpReadsWhatASearchReads(t *testing.T) {
	published := map[resourceapi.QualifiedName]int{
		"model": 1, "d/model": 2, "e/model": 3, "numa": 4, "e/numa": 5, "d/uuid": 6, "e/x/y": 7,
	}
	for _, wanted := range [][2]string{{"d", "model"}, {"e", "model"}, {"e", "numa"}, {"d", "uuid"}, {"d", "numa"}, {"e", "x/y"}, {"f", "none"}} {
		s := section{}
		s.record(wanted[:])
		for _, driver := range []string{"d", "e", "f"} {
			found := appendRead(nil, &s, published, driver)
			var want []resourceapi.QualifiedName
			for name := range published {
				if s.reads(name, driver) {
					want = append(want, name)
				}
			}
			slices.Sort(found)
			slices.Sort(want)
			if !slices.Equal(found, want) {
				t.Errorf("%v of driver %s reads %q, want %q", wanted, driver, found, want)
			}
		}
	}
}

func TestQuantitiesWithEqualKeysHaveEqualText(t *testing.T) {
	var quantities []resource.Quantity
	for _, text := range []string{"0", "0n", "1", "1000m", "1500m", "1.5", "1k", "1e3", "1000", "1Ki", "1024", "40Gi", "-3", "-3Gi", "9223372036854775807", "1e20", "100E", "1n"} {
		quantities = append(quantities, resource.MustParse(text))
	}
	for _, a := range quantities {
		for _, b := range quantities {
			equalKeys := string(appendQuantity(nil, a)) == string(appendQuantity(nil, b))
			equalText := a.Format == b.Format && a.String() == b.String()
			if equalKeys && !equalText {
				t.Errorf("%v and %v have equal keys", &a, &b)
			}
		}
		if again := a.DeepCopy(); string(appendQuantity(nil, a)) != string(appendQuantity(nil, again)) {
			t.Errorf("%v and its copy have different keys", &a)
		}
	}
}

func TestQuantitiesWithEqualKeysEvaluateAlike(t *testing.T) {
	var quantities []resource.Quantity
	for _, text := range []string{
		"0", "0.0", "-0", "0n", "0e30", "00000000000000000000", "0.1", "0.10", "100m", "0.3", "0.30", "300m", "300000000n", "0.7", "700m",
		"2.5", "2500m", "1", "1.0", "1000m", "1k", "1000", "1000.0", "1e3", "1Ki", "1024", "1024.0", "9007199254740993k", "9007199254740993000", "1e18", "1e24",
	} {
		quantity := resource.MustParse(text)
		wide := quantity.DeepCopy()
		wide.AsDec()
		quantities = append(quantities, quantity, wide)
	}
	ev := newEvaluator()
	for _, expression := range []string{
		"x.isInteger()", "x.asInteger() == 0", "x.asApproximateFloat() == 0.1", "x.asApproximateFloat() == 0.3", "x.asApproximateFloat() == 0.7",
		"x.asApproximateFloat() == 2.5", "x.asApproximateFloat() < 9007199254740994000.0", "x.add(x).isInteger()", "x.compareTo(quantity('300m')) == 0",
	} {
		expression = strings.ReplaceAll(expression, "x.", "device.capacity['d'].memory.")
		expression = strings.ReplaceAll(expression, "(x)", "(device.capacity['d'].memory)")
		compiled, err := ev.compile(expression)
		if err != nil {
			t.Fatal(err)
		}
		r := findReads(compiled.Environment, expression)
		outcomes := make(map[string]string)
		for i := range quantities {
			capacity := map[resourceapi.QualifiedName]resourceapi.DeviceCapacity{"memory": {Value: quantities[i]}}
			matches, _, err := compiled.DeviceMatches(t.Context(), cel.Device{Driver: "d", Capacity: capacity})
			outcome := fmt.Sprint(matches, err)
			key := string(new(keys).of(&r, &resourceapi.Device{Capacity: capacity}, "d"))
			if other, found := outcomes[key]; found && other != outcome {
				t.Errorf("%s: %#v has the key of another quantity, and is %s where that is %s", expression, quantities[i], outcome, other)
			}
			outcomes[key] = outcome
		}
	}
}
