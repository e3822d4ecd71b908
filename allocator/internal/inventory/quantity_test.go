package inventory

import (
	"fmt"
	"math/big"
	"math/rand/v2"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/dray-dev/dray/allocator/internal/index"
)

// rational is the value of a converted quantity.
func rational(e index.Exact) *big.Rat {
	if e.Wide == nil {
		return big.NewRat(e.Milli, 1000)
	}
	power := new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(e.Digits)), nil)
	return new(big.Rat).SetFrac(e.Wide, power)
}

func TestExactConvertsWithoutRounding(t *testing.T) {
	for _, c := range []struct {
		text   string
		want   string // as big.Rat reads it
		narrow bool
	}{
		{"0", "0", true},
		{"1", "1", true},
		{"-3", "-3", true},
		{"80Gi", "85899345920", true},
		{"1500m", "3/2", true},
		{"0.1", "1/10", true},
		{"-0.001", "-1/1000", true},
		{"12e-4", "12/10000", false},
		{"1u", "1/1000000", false},
		{"1n", "1/1000000000", false},
		{"1e3", "1000", true},
		{"9223372036854775", "9223372036854775", true},  // the last whole number of which 64 bits hold the thousandths
		{"9223372036854776", "9223372036854776", false}, // and the first that they do not
		{"-9223372036854776", "-9223372036854776", false},
		{"9223372036854775807m", "9223372036854775807/1000", false}, // parsed with nine decimals
		{"9223372036854775807", "9223372036854775807", false},
		{"9223372036854775808", "9223372036854775808", false},
		{"1Ei", "1152921504606846976", false},
		{"1e100", "1e100", false},
		{"1e1000", "1e1000", false},
	} {
		e, err := Exact(resource.MustParse(c.text))
		if err != nil {
			t.Errorf("Exact(%s): %v", c.text, err)
			continue
		}
		want, _ := new(big.Rat).SetString(c.want)
		if got := rational(e); got.Cmp(want) != 0 {
			t.Errorf("Exact(%s) is %s, want %s", c.text, got, want)
		}
		if narrow := e.Wide == nil; narrow != c.narrow {
			t.Errorf("Exact(%s) is narrow: %v, want %v", c.text, narrow, c.narrow)
		}
	}
}

// An object in the API can hold such a number, written in nine bytes. Its digits
// would fill the memory.
func TestExactRefusesAbsurdExponents(t *testing.T) {
	for _, text := range []string{"1e1001", "1e1000000", "-3e1000000"} {
		if e, err := Exact(resource.MustParse(text)); err == nil || !strings.Contains(err.Error(), "exponent") {
			t.Errorf("Exact(%s) is %v, %v; want an error about the exponent", text, e, err)
		}
	}
}

// A zero is zero whatever its exponent, but arithmetic on quantities that knows
// nothing of that must not see such an exponent.
func TestCheckExponent(t *testing.T) {
	for _, c := range []struct {
		text string
		ok   bool
	}{{"0", true}, {"1", true}, {"1e1000", true}, {"1e1001", false}, {"-1e1000000000", false}, {"0e1000000000", false}, {"1n", true}} {
		q := resource.MustParse(c.text)
		if err := CheckExponent(q); (err == nil) != c.ok {
			t.Errorf("CheckExponent(%s): %v", c.text, err)
		}
		if e, err := Exact(q); q.Sign() == 0 && (err != nil || rational(e).Sign() != 0) {
			t.Errorf("Exact(%s) is %v, %v; want 0", c.text, e, err)
		}
	}
}

// Quantity's own arithmetic is the measure: what it calls smaller, equal or the
// sum has to be so after the conversion.
func TestExactAgreesWithQuantity(t *testing.T) {
	const seed = 17
	r := rand.New(rand.NewPCG(seed, seed))
	narrow, wide := 0, 0
	for range 20000 {
		a, b := randomQuantity(r), randomQuantity(r)
		sum := a.DeepCopy()
		sum.Add(b)
		before := fmt.Sprintf("%#v %#v", a, b)
		exactA, errA := Exact(a)
		exactB, errB := Exact(b)
		exactSum, errSum := Exact(sum)
		if errA != nil || errB != nil || errSum != nil {
			t.Fatalf("seed %d: Exact of %s, %s, %s: %v, %v, %v", seed, &a, &b, &sum, errA, errB, errSum)
		}
		if after := fmt.Sprintf("%#v %#v", a, b); after != before {
			t.Fatalf("seed %d: Exact changed a quantity from %s to %s", seed, before, after)
		}
		ratA, ratB, ratSum := rational(exactA), rational(exactB), rational(exactSum)
		if got, want := ratA.Cmp(ratB), a.Cmp(b); got != want {
			t.Fatalf("seed %d: %s compares to %s as %d, converted as %d", seed, &a, &b, want, got)
		}
		if got := new(big.Rat).Add(ratA, ratB); got.Cmp(ratSum) != 0 {
			t.Fatalf("seed %d: %s and %s make %s, converted %s", seed, &a, &b, &sum, got)
		}
		if exactA.Wide == nil {
			narrow++
		} else {
			wide++
		}
	}
	if narrow < 1000 || wide < 1000 {
		t.Errorf("%d narrow and %d wide quantities: too few to prove anything", narrow, wide)
	}
}

// randomQuantity draws from all notations, with values that are often equal.
func randomQuantity(r *rand.Rand) resource.Quantity {
	digits := r.Int64N([]int64{3, 20, 1 << 20, 1 << 62}[r.IntN(4)])
	sign := []string{"", "", "", "-"}[r.IntN(4)]
	switch r.IntN(5) {
	case 0:
		return resource.MustParse(fmt.Sprintf("%s%d%s", sign, digits%100000, []string{"n", "u", "m", "", "k", "M", "G", "T", "P", "E"}[r.IntN(10)]))
	case 1:
		return resource.MustParse(fmt.Sprintf("%s%d%s", sign, digits%100000, []string{"Ki", "Mi", "Gi", "Ti", "Pi", "Ei"}[r.IntN(6)]))
	case 2:
		return resource.MustParse(fmt.Sprintf("%s%de%d", sign, digits%1000, r.IntN(40)-9))
	case 3:
		return resource.MustParse(fmt.Sprintf("%s%d.%03d", sign, digits%1000, r.IntN(1000)))
	}
	return resource.MustParse(fmt.Sprintf("%s%d", sign, digits))
}
