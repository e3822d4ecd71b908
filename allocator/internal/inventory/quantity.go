package inventory

import (
	"math"
	"math/big"

	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/dray-dev/dray/allocator/internal/index"
)

// Exact converts a quantity without rounding. It fails for exponents that no
// device has (see index.NewWide).
func Exact(q resource.Quantity) (index.Exact, error) {
	if amount, whole := wholeExact(&q); whole {
		return amount, nil
	}
	// AsDec changes its receiver, which is this function's own copy.
	dec := q.AsDec()
	unscaled, digits := dec.UnscaledBig(), int(dec.Scale())
	if digits >= 0 && digits <= 3 && unscaled.IsInt64() {
		factor := [...]int64{1000, 100, 10, 1}[digits]
		if v := unscaled.Int64(); v <= math.MaxInt64/factor && v >= math.MinInt64/factor {
			return index.Exact{Milli: v * factor}, nil
		}
	}
	return index.NewWide(new(big.Int).Set(unscaled), digits)
}

// wholeExact is Exact for whole numbers; whole is false for all others.
func wholeExact(q *resource.Quantity) (amount index.Exact, whole bool) {
	if q.Sign() == 0 {
		return index.Exact{}, true // Whatever its exponent, through which AsInt64 would count.
	}
	if n, ok := q.AsInt64(); ok && n <= math.MaxInt64/1000 && n >= math.MinInt64/1000 {
		return index.Exact{Milli: n * 1000}, true
	}
	return index.Exact{}, false
}

// CheckExponent fails where Exact does, and for a zero with such an exponent.
// The methods of a Quantity must not see one: to compare it they write the
// exponent out in digits, and a billion of them is nine bytes of an API object.
func CheckExponent(q resource.Quantity) error {
	if q.Sign() != 0 {
		if _, whole := q.AsInt64(); whole {
			return nil
		}
	}
	dec := q.AsDec()
	_, err := index.NewWide(dec.UnscaledBig(), int(dec.Scale()))
	return err
}
