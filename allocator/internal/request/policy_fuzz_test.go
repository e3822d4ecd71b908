package request

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// FuzzCapacityPolicy holds the arithmetic of capacity against what it is for:
// what a share takes is what the policy allows, and no less than what was asked
// for. Texts that are no quantity leave a part of the policy out.
func FuzzCapacityPolicy(f *testing.F) {
	for _, seed := range [][7]string{
		{"3", "100", "", "10", "50", "4", ""},
		{"1200m", "100", "", "0", "10", "500m", ""},
		{"11", "100", "20", "", "", "", "10 20 40"},
		{"", "100", "20", "10", "50", "", ""},
		{"9223372036854775807", "10E", "", "0", "", "2", ""},
		{"1", "100", "", "-9223372036854775808", "9223372036854775807", "-1", ""},
		{"1e1000000", "100", "", "1n", "0", "0", "1u 1k"},
		{"1500Mi", "8Gi", "1Gi", "1Gi", "8Gi", "1Gi", ""},
	} {
		for _, fractional := range []bool{false, true} {
			f.Add(seed[0], seed[1], seed[2], seed[3], seed[4], seed[5], seed[6], fractional)
		}
	}
	f.Fuzz(func(t *testing.T, asked, value, preset, least, most, step, list string, fractional bool) {
		texts := []string{asked, value, preset, least, most, step, list}
		if slices.ContainsFunc(texts, func(text string) bool { return len(text) > 60 || expensive.MatchString(text) }) {
			t.Skip("too expensive to parse")
		}
		whole := readQuantity(value)
		if whole == nil {
			t.Skip("no capacity")
		}
		policy := &resourceapi.CapacityRequestPolicy{Default: readQuantity(preset)}
		if bounds := (resourceapi.CapacityRequestPolicyRange{Min: readQuantity(least), Max: readQuantity(most), Step: readQuantity(step)}); bounds != (resourceapi.CapacityRequestPolicyRange{}) {
			policy.ValidRange = &bounds
		}
		for text := range strings.FieldsSeq(list) {
			if q := readQuantity(text); q != nil {
				policy.ValidValues = append(policy.ValidValues, *q)
			}
		}
		checkShare(t, *whole, policy, readQuantity(asked), fractional)
	})
}

// expensive is what the parser of quantities itself would write out in digits:
// large exponents behind many digits, below zero, or beyond 32 bits.
var expensive = regexp.MustCompile(`.{10,}[eE]\+?[0-9]{4,}|[eE]-[0-9]{4,}|[eE]\+?[0-9]{10,}`)

func readQuantity(text string) *resource.Quantity {
	q, err := resource.ParseQuantity(text)
	if err != nil {
		return nil
	}
	return &q
}

func checkShare(t *testing.T, whole resource.Quantity, policy *resourceapi.CapacityRequestPolicy, asked *resource.Quantity, fractional bool) {
	t.Helper()
	const name = "memory"
	device := &resourceapi.Device{Capacity: map[resourceapi.QualifiedName]resourceapi.DeviceCapacity{name: {Value: whole, RequestPolicy: policy}}}
	requirements := &resourceapi.CapacityRequirements{Requests: map[resourceapi.QualifiedName]resource.Quantity{}}
	if asked != nil {
		requirements.Requests[name] = *asked
	}
	taken, ok, err := consume(device, requirements, fractional)
	again, okAgain, errAgain := consume(device, requirements, fractional)
	if (err == nil) != (errAgain == nil) || ok != okAgain || ok && taken.quantities[0].Cmp(again.quantities[0]) != 0 {
		t.Fatalf("the second answer differs: %v, %v, %v; %v, %v, %v", taken, ok, err, again, okAgain, errAgain)
	}
	switch {
	case err != nil && !strings.HasPrefix(err.Error(), `capacity "memory": `):
		t.Errorf("the error does not name the capacity: %v", err)
	case err != nil || !ok:
		return
	case len(taken.names) != 1 || taken.names[0] != name:
		t.Fatalf("a share of %v", taken.names)
	}
	amount := taken.quantities[0]
	switch {
	case amount.Sign() < 0:
		t.Errorf("takes %s", &amount)
	case asked == nil && policy.Default != nil:
		if amount.Cmp(*policy.Default) != 0 {
			t.Errorf("takes %s, want the default %s", &amount, policy.Default)
		}
		return // A default may break the rules.
	case asked == nil:
		if amount.Cmp(whole) != 0 {
			t.Errorf("takes %s, want all of %s", &amount, &whole)
		}
		return // A policy has a default, says the API.
	case sensible(policy) && amount.Cmp(*asked) < 0:
		t.Errorf("takes %s, less than the %s asked for", &amount, asked)
	case policy.ValidRange != nil && policy.ValidRange.Min != nil && amount.Cmp(*policy.ValidRange.Min) < 0 && sensible(policy):
		t.Errorf("takes %s, less than the least, %s", &amount, policy.ValidRange.Min)
	}
	if policy.Default == nil || amount.Cmp(*policy.Default) != 0 {
		checkAllowed(t, amount, policy, fractional)
	}
}

// sensible: the API demands of a range that it goes up from zero or more.
func sensible(policy *resourceapi.CapacityRequestPolicy) bool {
	r := policy.ValidRange
	return r == nil || r.Min == nil || r.Min.Sign() >= 0 && (r.Step == nil || r.Step.Sign() > 0)
}

func checkAllowed(t *testing.T, amount resource.Quantity, policy *resourceapi.CapacityRequestPolicy, fractional bool) {
	t.Helper()
	r := policy.ValidRange
	switch {
	case r == nil:
		if len(policy.ValidValues) > 0 && !slices.ContainsFunc(policy.ValidValues, func(q resource.Quantity) bool { return q.Cmp(amount) == 0 }) {
			t.Errorf("takes %s, which is none of the values", &amount)
		}
		return
	case r.Max != nil && amount.Cmp(*r.Max) > 0:
		t.Errorf("takes %s, more than the most, %s", &amount, r.Max)
	}
	if r.Min == nil || r.Step == nil || r.Min.Sign() < 0 || r.Step.Sign() <= 0 {
		return
	}
	unit := int64(1)
	if fractional {
		unit = 1000
	}
	from, isFrom := in(unit, *r.Min)
	step, isStep := in(unit, *r.Step)
	value, isValue := in(unit, amount)
	_, isMost := in(unit, ptrOr(r.Max, *r.Min))
	if !isFrom || !isStep || !isMost {
		return // Computed in rounded whole numbers.
	}
	if !isValue || (value-from)%step != 0 {
		t.Errorf("takes %s, which is not %s and a multiple of %s", &amount, r.Min, r.Step)
	}
}

// in returns the quantity as a number of 1/unit, if it is one that 64 bits hold.
func in(unit int64, q resource.Quantity) (int64, bool) {
	product := q.DeepCopy()
	product.Mul(unit)
	return product.Value(), product.Cmp(*resource.NewQuantity(product.Value(), resource.DecimalSI)) == 0
}

func ptrOr(q *resource.Quantity, or resource.Quantity) resource.Quantity {
	if q == nil {
		return or
	}
	return *q
}
