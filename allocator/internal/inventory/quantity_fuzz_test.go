package inventory

import (
	"regexp"
	"testing"

	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/dray-dev/dray/allocator/internal/index"
)

// FuzzQuantity holds Exact and the vectors made of it against the arithmetic of
// Quantity: sums, differences and comparisons are the same, and nothing that
// fits is refused.
func FuzzQuantity(f *testing.F) {
	for _, pair := range [][2]string{
		{"0", "1"}, {"1", "1000m"}, {"80Gi", "85899345920"}, {"10E", "9223372036854775807"}, {"1n", "-1u"}, {"0.1", "1e-1"},
		{"-9223372036854775808", "9223372036854775807"}, {"9223372036854775", "9223372036854776"}, {"1e1000", "1e1001"},
		{"4611686018427387k", "4611686018427388k"}, {"0e1000000000", "0"}, {"1.000000001Ki", "1Ei"},
	} {
		f.Add(pair[0], pair[1])
	}
	f.Fuzz(func(t *testing.T, textA, textB string) {
		a, ok := parsed(textA)
		if !ok {
			t.Skip("no quantity")
		}
		b, ok := parsed(textB)
		if !ok {
			t.Skip("no quantity")
		}
		before := [...]resource.Quantity{a.DeepCopy(), b.DeepCopy()}
		exactA, errA := Exact(a)
		exactB, errB := Exact(b)
		if a.Sign() != 0 && (errA == nil) != (CheckExponent(a) == nil) {
			t.Errorf("Exact(%s): %v, but CheckExponent: %v", textA, errA, CheckExponent(a))
		}
		if a != before[0] && a.Cmp(before[0]) != 0 || b != before[1] && b.Cmp(before[1]) != 0 {
			t.Fatalf("%s or %s was modified", textA, textB)
		}
		if errA != nil || errB != nil || CheckExponent(a) != nil || CheckExponent(b) != nil {
			return // Quantity itself could not take it.
		}
		checkVectors(t, a, b, exactA, exactB)
	})
}

// expensive is what the parser of quantities itself would write out in digits:
// large exponents behind many digits, below zero, or beyond 32 bits.
var expensive = regexp.MustCompile(`.{10,}[eE]\+?[0-9]{4,}|[eE]-[0-9]{4,}|[eE]\+?[0-9]{10,}`)

func parsed(text string) (resource.Quantity, bool) {
	if len(text) > 40 || expensive.MatchString(text) {
		return resource.Quantity{}, false
	}
	q, err := resource.ParseQuantity(text)
	return q, err == nil
}

func checkVectors(t *testing.T, a, b resource.Quantity, exactA, exactB index.Exact) {
	t.Helper()
	sum, difference := a.DeepCopy(), a.DeepCopy()
	sum.Add(b)
	difference.Sub(b)
	exactSum, err := Exact(sum)
	if err != nil {
		t.Fatalf("Exact(%s + %s): %v", &a, &b, err)
	}
	vectors := index.NewAmounts([]index.Exact{exactA}, []index.Exact{exactB}, []index.Exact{exactSum})
	x, y, z := vectors[0], vectors[1], vectors[2]
	if x.Covers(y) != (a.Cmp(b) >= 0) || y.Covers(x) != (a.Cmp(b) <= 0) {
		t.Errorf("%s and %s compare as %d, converted as %v and %v", &a, &b, a.Cmp(b), x.Covers(y), y.Covers(x))
	}
	if x.Negative(0) != (a.Sign() < 0) {
		t.Errorf("%s is negative: %v", &a, x.Negative(0))
	}
	x.Add(0, y, 0)
	if !x.Covers(z) || !z.Covers(x) {
		t.Errorf("%s + %s is not %s", &a, &b, &sum)
	}
	x.Sub(0, y, 0)
	x.Sub(0, y, 0)
	if x.Negative(0) != (difference.Sign() < 0) {
		t.Errorf("%s - %s is %s, but converted negative: %v", &a, &b, &difference, x.Negative(0))
	}
}
