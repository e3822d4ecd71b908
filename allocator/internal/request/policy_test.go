package request

import (
	"errors"
	"slices"
	"strings"
	"testing"

	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/utils/ptr"
)

func quantity(text string) *resource.Quantity {
	if text == "" {
		return nil
	}
	q := resource.MustParse(text)
	return &q
}

// within is a policy with a range; empty texts leave a bound out.
func within(minimum, maximum, step string) *resourceapi.CapacityRequestPolicy {
	return &resourceapi.CapacityRequestPolicy{ValidRange: &resourceapi.CapacityRequestPolicyRange{Min: quantity(minimum), Max: quantity(maximum), Step: quantity(step)}}
}

// oneOf is a policy with a list of values.
func oneOf(values ...string) *resourceapi.CapacityRequestPolicy {
	p := &resourceapi.CapacityRequestPolicy{ValidValues: []resource.Quantity{}}
	for _, value := range values {
		p.ValidValues = append(p.ValidValues, resource.MustParse(value))
	}
	return p
}

func withDefault(p *resourceapi.CapacityRequestPolicy, value string) *resourceapi.CapacityRequestPolicy {
	p.Default = quantity(value)
	return p
}

// refusedText is the outcome of a share that the policy forbids.
const refusedText = "refused"

// What one share takes of a capacity of 100: the rules of KEP-5075 as v1.37.2
// computes them. Results are written into claims, so their text matters.
func TestShares(t *testing.T) {
	const whole, fractional, either = 1, 2, 3
	for _, c := range []struct {
		name   string
		policy *resourceapi.CapacityRequestPolicy
		asked  string
		want   string // a quantity, refusedText, or part of an error
		modes  int
	}{
		{"no policy and no request: all of it", nil, "", "100", either},
		{"no policy: what is asked for, even more than there is", nil, "700", "700", either},
		{"a policy without rules", &resourceapi.CapacityRequestPolicy{}, "7", "7", either},
		{"a policy without rules, nothing asked for", &resourceapi.CapacityRequestPolicy{}, "", "100", either},
		{"nothing asked for: the default", withDefault(within("10", "50", ""), "20"), "", "20", either},
		{"nothing asked for and no default: all of it, which the range may forbid", within("10", "50", ""), "", refusedText, either},
		{"the default may break the rules", withDefault(within("10", "50", ""), "70"), "", "70", either},
		{"also when it is asked for in the same words", withDefault(within("10", "50", ""), "70"), "70", "70", either},
		{"but not in others", withDefault(within("10", "50", ""), "70"), "70000m", refusedText, either},

		{"below the least: the least", within("10", "50", ""), "3", "10", either},
		{"zero is below the least, too", within("10", "50", ""), "0", "10", either},
		{"within the range: as asked", within("10", "50", ""), "30500m", "30500m", either},
		{"the most", within("10", "50", ""), "50", "50", either},
		{"above the most", within("10", "50", ""), "51", refusedText, either},
		{"no most", within("10", "", ""), "1000", "1k", either},
		{"no least: nothing is rounded", within("", "50", ""), "3", "3", either},
		{"no least: the most still counts", within("", "50", ""), "51", refusedText, either},

		{"rounded up to a step from the least", within("10", "50", "4"), "11", "14", either},
		{"on a step", within("10", "50", "4"), "18", "18", either},
		{"the last step is beyond the most", within("10", "50", "7"), "49", refusedText, either},
		{"binary notation comes from the step", within("1Gi", "8Gi", "1Gi"), "1500Mi", "2Gi", either},
		{"a fraction is rounded up to a whole first", within("10", "50", "4"), "13500m", "14", either},
		{"a fraction beyond a step", within("10", "50", "4"), "14001m", "18", either},

		{"fractions: the step is rounded up to 1 without the feature", within("0", "10", "500m"), "1200m", "2", whole},
		{"fractions: in thousandths with the feature", within("0", "10", "500m"), "1200m", "1500m", fractional},
		{"fractions: a whole result is written as one", within("0", "10", "500m"), "1600m", "2", fractional},
		{"fractions: steps count from the least", within("200m", "1", "100m"), "250m", "300m", fractional},
		{"fractions: on a step", within("200m", "1", "100m"), "400m", "400m", fractional},
		{"fractions: finer than thousandths cannot be asked for", within("200m", "1", "100m"), "300500u", "cannot be represented", fractional},
		{"fractions: without the feature the least is rounded, too", within("200m", "10", "2"), "1500m", "3", whole},
		{"fractions: a step below a thousandth is computed in whole numbers", within("1", "10", "1u"), "1500m", "2", fractional},
		{"fractions: so is a bound that does not fit", within("1", "9224372036854776000000", "2"), "2", "3", fractional},

		{"fractions: thousandths as steps", within("0", "10", "1m"), "2m", "2m", fractional},
		{"fractions: thousandths as steps are whole numbers without the feature", within("0", "10", "1m"), "2m", "1", whole},

		{"a list: the next that is enough", oneOf("10", "20", "40"), "11", "20", either},
		{"a list: in it", oneOf("10", "20", "40"), "20", "20", either},
		{"a list: in it in other words", oneOf("1k", "2k"), "1000", "1k", either},
		{"a list: more than the last", oneOf("10", "20", "40"), "41", refusedText, either},
		{"an empty list is no list", oneOf(), "41", "41", either},
		{"a list, nothing asked for: all of it, if the list has it", oneOf("10", "100"), "", "100", either},
		{"a list, nothing asked for, and all of it is not in the list", oneOf("10", "20"), "", refusedText, either},
		{"a list beside a range without least is not used for rounding", func() *resourceapi.CapacityRequestPolicy {
			p := within("", "50", "")
			p.ValidValues = []resource.Quantity{resource.MustParse("10")}
			return p
		}(), "7", "10", either},

		{"the largest number on a step", within("1", "", "2"), "9223372036854775806", "9223372036854775807", whole},
		{"rounding past the largest number", within("0", "", "2"), "9223372036854775807", "passes MaxInt64", whole},
		{"more than the largest number", within("0", "", "3"), "18446744073709551619", "exceeds MaxInt64", whole},
		{"in thousandths the end comes earlier", within("0", "", "500m"), "9223372036854776", "not a representable milli value", fractional},
		{"rounding past it", within("0", "", "3"), "9223372036854775807m", "passes the milli-value range", fractional},
		{"an exponent that would fill the memory", within("0", "", "1"), "1e1000000", "exponent 1000000 is outside", either},
		{"the same in a policy", within("0", "1e1000000", "1"), "1", "exponent 1000000 is outside", either},
		{"the same without a policy is found later", nil, "1e1000", "10e999", either},

		{"a step of zero", within("0", "10", "0"), "1", "step is zero", either},
		{"a step of zero, nothing asked for", within("0", "", "0"), "", "step is zero", either},
		{"a step without a least", within("", "50", "5"), "7", "a step and no min", either},
		{"a negative request", nil, "-1", "is negative", either},
		{"a negative request is below the least", within("10", "50", ""), "-1", "10", either},
		{"a negative least", within("-10", "", ""), "-20", "is negative", either},
		{"a negative default", withDefault(&resourceapi.CapacityRequestPolicy{}, "-1"), "", "is negative", either},
	} {
		for mode, name := range map[int]string{whole: "whole numbers", fractional: "fractions"} {
			if c.modes&mode == 0 {
				continue
			}
			device := &resourceapi.Device{Capacity: map[resourceapi.QualifiedName]resourceapi.DeviceCapacity{"memory": {Value: resource.MustParse("100"), RequestPolicy: c.policy}}}
			var asked *resourceapi.CapacityRequirements
			if c.asked != "" {
				asked = &resourceapi.CapacityRequirements{Requests: map[resourceapi.QualifiedName]resource.Quantity{"memory": resource.MustParse(c.asked)}}
			}
			got, ok, err := consume(device, asked, mode == fractional)
			switch {
			case err != nil:
				if !strings.Contains(err.Error(), c.want) || !strings.HasPrefix(err.Error(), `capacity "memory": `) {
					t.Errorf("%s (%s): the error is %v, want %s", c.name, name, err, c.want)
				}
			case !ok:
				if c.want != refusedText {
					t.Errorf("%s (%s): refused, want %s", c.name, name, c.want)
				}
			case got.quantities[0].String() != c.want:
				t.Errorf("%s (%s): takes %s, want %s", c.name, name, got.quantities[0].String(), c.want)
			}
		}
	}
}

// All of a capacity that is not a number of thousandths is on no step of them.
func TestAWholeCapacityBetweenThousandths(t *testing.T) {
	for value, want := range map[string]bool{"100500m": true, "100500100u": false} {
		device := &resourceapi.Device{Capacity: map[resourceapi.QualifiedName]resourceapi.DeviceCapacity{"memory": {Value: resource.MustParse(value), RequestPolicy: within("0", "", "500m")}}}
		if _, ok, err := consume(device, nil, true); ok != want || err != nil {
			t.Errorf("all of %s: %v, %v; want %v", value, ok, err, want)
		}
	}
}

func capacities(pairs ...string) *resourceapi.Device {
	d := &resourceapi.Device{Capacity: map[resourceapi.QualifiedName]resourceapi.DeviceCapacity{}}
	for pair := range slices.Chunk(pairs, 2) {
		d.Capacity[resourceapi.QualifiedName(pair[0])] = resourceapi.DeviceCapacity{Value: resource.MustParse(pair[1])}
	}
	return d
}

func asks(pairs ...string) *resourceapi.CapacityRequirements {
	r := &resourceapi.CapacityRequirements{Requests: map[resourceapi.QualifiedName]resource.Quantity{}}
	for pair := range slices.Chunk(pairs, 2) {
		r.Requests[resourceapi.QualifiedName(pair[0])] = resource.MustParse(pair[1])
	}
	return r
}

func TestAShareOfSeveralCapacities(t *testing.T) {
	device := capacities("memory", "80", "links", "8", "cores", "100")
	got, ok, err := consume(device, asks("links", "2"), false)
	if err != nil || !ok {
		t.Fatalf("consume: %v, %v", ok, err)
	}
	var text []string
	for i, name := range got.names {
		text = append(text, string(name)+"="+got.quantities[i].String())
	}
	if want := "cores=100 links=2 memory=80"; strings.Join(text, " ") != want {
		t.Errorf("the share is %v, want %s", text, want)
	}
	if _, ok, err := consume(device, asks("bandwidth", "1"), false); ok || err != nil {
		t.Errorf("a device without the capacity that is asked for: %v, %v; want it passed over", ok, err)
	}
	if got, ok, err := consume(&resourceapi.Device{}, nil, false); !ok || err != nil || len(got.names) != 0 {
		t.Errorf("a device without capacity: %v, %v, %v; want an empty share", got, ok, err)
	}
}

// What cannot be computed ends scheduling, even where another capacity would
// only have the device passed over, and whichever comes first by name.
func TestErrorsBeatRefusals(t *testing.T) {
	for _, names := range [][2]resourceapi.QualifiedName{{"a", "b"}, {"b", "a"}} {
		device := &resourceapi.Device{Capacity: map[resourceapi.QualifiedName]resourceapi.DeviceCapacity{
			names[0]: {Value: resource.MustParse("100"), RequestPolicy: within("0", "1", "")},
			names[1]: {Value: resource.MustParse("100"), RequestPolicy: within("0", "", "2")},
		}}
		asked := asks(string(names[0]), "5", string(names[1]), "9223372036854775807")
		if _, _, err := consume(device, asked, false); !errors.Is(err, errNotRepresentable) {
			t.Errorf("%s refused and %s not representable: the error is %v", names[0], names[1], err)
		}
	}
	device := capacities("a", "1", "b", "1")
	if _, _, err := consume(device, asks("b", "-1", "a", "-1"), false); !errors.Is(err, errNegative) || !strings.Contains(err.Error(), `"a"`) {
		t.Errorf("of two errors the first by name is reported, got %v", err)
	}
	// A capacity that the device lacks comes before everything.
	if _, ok, err := consume(device, asks("b", "-1", "c", "1"), false); ok || err != nil {
		t.Errorf("a device without a capacity that is asked for: %v, %v; want it passed over", ok, err)
	}
}

// Quantities belong to claims and slices.
func TestConsumeChangesNothing(t *testing.T) {
	device := &resourceapi.Device{Capacity: map[resourceapi.QualifiedName]resourceapi.DeviceCapacity{
		"memory": {Value: resource.MustParse("100"), RequestPolicy: withDefault(within("200m", "50", "100m"), "20")},
		"links":  {Value: resource.MustParse("8"), RequestPolicy: oneOf("1", "2")},
	}}
	asked := asks("memory", "1234567u", "links", "2")
	deviceBefore, askedBefore := device.DeepCopy(), asked.DeepCopy()
	for _, fractional := range []bool{false, true} {
		got, ok, err := consume(device, asked, fractional)
		if err == nil && ok {
			for i := range got.quantities {
				got.quantities[i].Add(resource.MustParse("1"))
			}
		}
	}
	for name, c := range deviceBefore.Capacity {
		if after := device.Capacity[name]; after.Value.Cmp(c.Value) != 0 || after.RequestPolicy.String() != c.RequestPolicy.String() {
			t.Errorf("capacity %s has become %v", name, after)
		}
	}
	for name, before := range askedBefore.Requests {
		if after := asked.Requests[name]; after.Cmp(before) != 0 {
			t.Errorf("the request for %s has become %s", name, after.String())
		}
	}
}

// Upstream returns a whole number as one, not as thousandths: both are written
// alike, but they are different values to whoever compares them in Go.
func TestAWholeNumberOfThousandthsIsAWholeNumber(t *testing.T) {
	step := &resourceapi.CapacityRequestPolicyRange{Min: ptr.To(resource.MustParse("500m")), Step: ptr.To(resource.MustParse("500m"))}
	for asked, want := range map[string]resource.Quantity{
		"1700m": *resource.NewQuantity(2, resource.DecimalSI),
		"1300m": *resource.NewMilliQuantity(1500, resource.DecimalSI),
	} {
		if got, err := roundUp(ptr.To(resource.MustParse(asked)), step, true); err != nil || got != want {
			t.Errorf("%s rounds to %#v, %v; want %#v", asked, got, err, want)
		}
	}
}
