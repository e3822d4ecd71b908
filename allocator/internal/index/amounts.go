package index

import (
	"encoding/binary"
	"fmt"
	"math/big"
)

// Exact is a quantity without rounding. Most quantities are a whole number of
// thousandths that fits 64 bits; the others keep unlimited precision.
type Exact struct {
	// Milli is the value in thousandths where Wide is nil.
	Milli int64
	// Wide × 10^-Digits is the value where Wide is not nil.
	Wide   *big.Int
	Digits int
}

// maxDigits bounds the power of ten that an Exact may carry in either
// direction, so that one absurd quantity cannot fill the memory.
const maxDigits = 1000

// NewWide returns unscaled × 10^-digits. It refuses an exponent beyond ±1000:
// no device has such a capacity, and its digits would not fit in memory.
func NewWide(unscaled *big.Int, digits int) (Exact, error) {
	if digits > maxDigits || digits < -maxDigits {
		return Exact{}, fmt.Errorf("exponent %d is outside ±%d", -digits, maxDigits)
	}
	if digits < 0 {
		unscaled, digits = shift(unscaled, -digits), 0
	}
	return Exact{Wide: unscaled, Digits: digits}, nil
}

// shift returns v × 10^by.
func shift(v *big.Int, by int) *big.Int {
	power := new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(by)), nil)
	return power.Mul(power, v)
}

// milliDigits is the unit of narrow amounts.
const milliDigits = 3

func (e Exact) wide(digits int) *big.Int {
	if e.Wide == nil {
		return shift(big.NewInt(e.Milli), digits-milliDigits)
	}
	return shift(e.Wide, digits-e.Digits)
}

// Amounts is a vector of quantities in one unit, which it shares with every
// other vector made by the same call of NewAmounts.
//
// Exactly one of two forms holds:
//
//  1. Wide is nil: entry i is Narrow[i] thousandths, and the absolute values of
//     all entries of all vectors made together sum to less than 2^62. So a sum
//     that uses each entry once cannot overflow.
//  2. Wide is not nil: entry i is Wide[i] in a common power of ten, Narrow is nil.
//
// The second form exists for quantities such as 1n or 1e20; it is exact and
// slow.
type Amounts struct {
	Narrow []int64
	Wide   []*big.Int
}

// narrowLimit bounds the sum of form 1.
const narrowLimit = 1 << 62

// Size returns the sum of the absolute values of a list in thousandths. narrow is
// false where form 2 is the only one for it.
func Size(list []Exact) (size int64, narrow bool) {
	for _, e := range list {
		milli := e.Milli
		if milli < 0 {
			milli = -milli
		}
		if e.Wide != nil || milli < 0 || milli >= narrowLimit-size {
			return 0, false
		}
		size += milli
	}
	return size, true
}

// Together returns the size of lists together with so many of another size; narrow
// as for Size. So vectors of form 1 can be made one by one, as long as they are
// narrow together.
func Together(size, other int64, times int) (together int64, narrow bool) {
	if times > 0 && other > (narrowLimit-1-size)/int64(times) {
		return 0, false
	}
	return size + other*int64(times), true
}

// Narrowed returns a list whose Size is narrow as a vector of form 1, in the
// memory of another.
func Narrowed(memory Amounts, list []Exact) Amounts {
	narrow := memory.Narrow[:0]
	for _, e := range list {
		narrow = append(narrow, e.Milli)
	}
	return Amounts{Narrow: narrow}
}

// NewAmounts returns one vector for each list, all in one unit.
func NewAmounts(lists ...[]Exact) []Amounts {
	digits, narrow := milliDigits, true
	sum := int64(0)
	for _, list := range lists {
		for _, e := range list {
			if e.Wide != nil {
				narrow = false
				digits = max(digits, e.Digits)
				continue
			}
			size := e.Milli
			if size < 0 {
				size = -size
			}
			if size < 0 || size >= narrowLimit-sum {
				narrow = false
				continue
			}
			sum += size
		}
	}
	vectors := make([]Amounts, len(lists))
	for i, list := range lists {
		if narrow {
			vectors[i].Narrow = make([]int64, len(list))
		} else {
			vectors[i].Wide = make([]*big.Int, len(list))
		}
		for j, e := range list {
			if narrow {
				vectors[i].Narrow[j] = e.Milli
			} else {
				vectors[i].Wide[j] = e.wide(digits)
			}
		}
	}
	return vectors
}

// Len is the number of entries.
func (a Amounts) Len() int { return len(a.Narrow) + len(a.Wide) }

// Clone returns an independent copy.
func (a Amounts) Clone() Amounts {
	if a.Wide == nil {
		return Amounts{Narrow: append([]int64(nil), a.Narrow...)}
	}
	wide := make([]*big.Int, len(a.Wide))
	for i, v := range a.Wide {
		wide[i] = new(big.Int).Set(v)
	}
	return Amounts{Wide: wide}
}

// Become returns an independent copy of b, in a's memory where that is possible.
func (a Amounts) Become(b Amounts) Amounts {
	if b.Wide != nil {
		return b.Clone()
	}
	return Amounts{Narrow: append(a.Narrow[:0], b.Narrow...)}
}

// Sub takes entry j of b, which has a's unit, from entry i.
func (a Amounts) Sub(i int, b Amounts, j int) {
	if a.Wide == nil {
		a.Narrow[i] -= b.Narrow[j]
		return
	}
	a.Wide[i].Sub(a.Wide[i], b.Wide[j])
}

// Add puts entry j of b, which has a's unit, onto entry i.
func (a Amounts) Add(i int, b Amounts, j int) {
	if a.Wide == nil {
		a.Narrow[i] += b.Narrow[j]
		return
	}
	a.Wide[i].Add(a.Wide[i], b.Wide[j])
}

// Negative says whether entry i is below zero.
func (a Amounts) Negative(i int) bool {
	if a.Wide == nil {
		return a.Narrow[i] < 0
	}
	return a.Wide[i].Sign() < 0
}

// Covers says whether every entry is at least the entry of b, which has a's
// unit and length.
func (a Amounts) Covers(b Amounts) bool {
	if a.Wide == nil {
		for i, v := range a.Narrow {
			if v < b.Narrow[i] {
				return false
			}
		}
		return true
	}
	for i, v := range a.Wide {
		if v.Cmp(b.Wide[i]) < 0 {
			return false
		}
	}
	return true
}

// Below says whether entry i is smaller than entry j of b, which has a's unit.
func (a Amounts) Below(i int, b Amounts, j int) bool {
	if a.Wide == nil {
		return a.Narrow[i] < b.Narrow[j]
	}
	return a.Wide[i].Cmp(b.Wide[j]) < 0
}

// AppendEntry appends bytes that are equal for equal entries of vectors with
// one unit.
func (a Amounts) AppendEntry(key []byte, i int) []byte {
	if a.Wide == nil {
		return binary.LittleEndian.AppendUint64(append(key, 'n'), uint64(a.Narrow[i]))
	}
	return append(a.Wide[i].Append(append(key, 'w'), 62), 0)
}

// AppendKey appends bytes that are equal for equal vectors of one unit.
func (a Amounts) AppendKey(key []byte) []byte {
	key = binary.AppendVarint(key, int64(a.Len()))
	for _, v := range a.Narrow {
		key = binary.LittleEndian.AppendUint64(append(key, 'n'), uint64(v))
	}
	for i := range a.Wide {
		key = a.AppendEntry(key, i)
	}
	return key
}
