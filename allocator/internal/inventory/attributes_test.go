package inventory

import (
	"slices"
	"testing"

	resourceapi "k8s.io/api/resource/v1"
)

func text(s string) resourceapi.DeviceAttribute { return resourceapi.DeviceAttribute{StringValue: &s} }

func TestReadAttribute(t *testing.T) {
	name, number, yes, no, version := "a", int64(1), true, false, "1.0.0"
	for _, c := range []struct {
		name          string
		attribute     *resourceapi.DeviceAttribute
		scalar, lists int // how many values there are with lists off and on
	}{
		{"a string", &resourceapi.DeviceAttribute{StringValue: &name}, 1, 1},
		{"a number", &resourceapi.DeviceAttribute{IntValue: &number}, 1, 1},
		{"true", &resourceapi.DeviceAttribute{BoolValue: &yes}, 1, 1},
		{"false", &resourceapi.DeviceAttribute{BoolValue: &no}, 1, 1},
		{"a version", &resourceapi.DeviceAttribute{VersionValue: &version}, 1, 1},
		{"strings", &resourceapi.DeviceAttribute{StringValues: []string{"a", "b"}}, 0, 2},
		{"numbers", &resourceapi.DeviceAttribute{IntValues: []int64{1, 2, 3}}, 0, 3},
		{"truths", &resourceapi.DeviceAttribute{BoolValues: []bool{true, false}}, 0, 2},
		{"versions", &resourceapi.DeviceAttribute{VersionValues: []string{"1.0.0"}}, 0, 1},
		{"nothing that is known", &resourceapi.DeviceAttribute{}, 0, 0},
		{"an empty list", &resourceapi.DeviceAttribute{StringValues: []string{}}, 0, 0},
		{"both", &resourceapi.DeviceAttribute{StringValue: &name, IntValues: []int64{1, 2}}, 1, 2},
	} {
		for _, lists := range []bool{false, true} {
			want := c.scalar
			if lists {
				want = c.lists
			}
			got := ReadAttribute(nil, c.attribute, lists)
			if !got.Present || got.Comparable != (want > 0) || len(got.Values) != want {
				t.Errorf("%s, lists %v: %+v, want %d values", c.name, lists, got, want)
			}
		}
	}
	if got := ReadAttribute(nil, nil, true); got.Present || got.Comparable || got.Values != nil {
		t.Errorf("an attribute that is not there is %+v", got)
	}
}

// Values are equal if type and value are: 1, true, "1" and version 1 are four values.
func TestValuesOfDifferentTypesAreDifferent(t *testing.T) {
	one, number, yes, no, zero := "1", int64(1), true, false, int64(0)
	list := []resourceapi.DeviceAttribute{
		{StringValue: &one}, {VersionValue: &one}, {IntValue: &number}, {BoolValue: &yes}, {BoolValue: &no}, {IntValue: &zero},
	}
	for i := range list {
		for j := range list {
			a, b := ReadAttribute(nil, &list[i], false).Values[0], ReadAttribute(nil, &list[j], false).Values[0]
			if (a == b) != (i == j) {
				t.Errorf("values %v and %v are equal: %v", a.Value(), b.Value(), a == b)
			}
		}
	}
	scalar, inList := ReadAttribute(nil, &list[2], true), ReadAttribute(nil, &resourceapi.DeviceAttribute{IntValues: []int64{1}}, true)
	if scalar.Values[0] != inList.Values[0] {
		t.Error("a number is not equal to the same number in a list")
	}
}

// A driver may leave its own domain off the names that it publishes.
func TestAttributesAreFoundByFullName(t *testing.T) {
	attributes := func(names ...string) func(*resourceapi.Device) {
		return func(d *resourceapi.Device) {
			d.Attributes = map[resourceapi.QualifiedName]resourceapi.DeviceAttribute{}
			for _, name := range names {
				d.Attributes[resourceapi.QualifiedName(name)] = text(name)
			}
		}
	}
	p := see(t, "n", newSlice("s", driver("gpu.example.com"),
		with("bare", attributes("model")),
		with("qualified", attributes("gpu.example.com/model")),
		with("both", attributes("model", "gpu.example.com/model")),
		with("other-domain", attributes("nic.example.com/model")),
		with("none"))).Pools[0]
	for _, c := range []struct {
		name resourceapi.FullyQualifiedName
		want []string
	}{
		{"gpu.example.com/model", []string{"model", "gpu.example.com/model", "gpu.example.com/model", "", ""}},
		{"nic.example.com/model", []string{"", "", "", "nic.example.com/model", ""}},
		{"model", []string{"model", "", "model", "", ""}},
	} {
		column := p.Attributes(c.name, false)
		var got []string
		for _, attribute := range column {
			value := ""
			if attribute.Present {
				value = attribute.Values[0].Value().Text
			}
			got = append(got, value)
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s is %q, want %q", c.name, got, c.want)
		}
		if again := p.Attributes(c.name, false); &again[0] != &column[0] {
			t.Errorf("%s is read twice", c.name)
		}
	}
}

// Lists on and lists off are two columns, and memory is bounded.
func TestColumns(t *testing.T) {
	p := see(t, "n", newSlice("s", with("a", func(d *resourceapi.Device) {
		d.Attributes = map[resourceapi.QualifiedName]resourceapi.DeviceAttribute{"links": {IntValues: []int64{1, 2}}}
	}))).Pools[0]
	if off, on := p.Attributes("driver/links", false), p.Attributes("driver/links", true); off[0].Comparable || !on[0].Comparable {
		t.Errorf("the list is %+v with lists off, %+v with lists on", off[0], on[0])
	}
	for i := range 3 * maxColumns {
		name := resourceapi.FullyQualifiedName("driver/" + string(rune('a'+i)))
		if p.Attributes(name, false)[0].Present {
			t.Fatalf("%s is there", name)
		}
		if n := len(p.columns.byKey); n > maxColumns {
			t.Fatalf("after %d names %d columns are remembered, the bound is %d", i+1, n, maxColumns)
		}
	}
	if !p.Attributes("driver/links", true)[0].Comparable {
		t.Error("after many other names the list is gone")
	}
}
