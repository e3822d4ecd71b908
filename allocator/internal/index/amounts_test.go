package index

import (
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
	"testing"
)

// rational is an amount as school arithmetic has it.
func (e Exact) rational() *big.Rat {
	if e.Wide == nil {
		return big.NewRat(e.Milli, 1000)
	}
	power := new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(e.Digits)), nil)
	return new(big.Rat).SetFrac(e.Wide, power)
}

// rational is entry i of a vector whose wide form has the given digits.
func (a Amounts) rational(i, digits int) *big.Rat {
	if a.Wide == nil {
		return big.NewRat(a.Narrow[i], 1000)
	}
	return Exact{Wide: a.Wide[i], Digits: digits}.rational()
}

// randomExact draws amounts of all sizes: mostly small, now and then so large or
// so fine that 64 bits of thousandths do not hold them.
func randomExact(r *rand.Rand, t *testing.T) Exact {
	switch r.IntN(12) {
	case 0:
		return Exact{Milli: r.Int64() >> r.IntN(3)}
	case 1:
		return Exact{Milli: -(r.Int64() >> r.IntN(62))}
	case 2:
		unscaled := big.NewInt(r.Int64N(1 << 40))
		e, err := NewWide(unscaled.Sub(unscaled, big.NewInt(1<<38)), r.IntN(25)-12)
		if err != nil {
			t.Fatal(err)
		}
		return e
	}
	return Exact{Milli: r.Int64N(1 << 20)}
}

// Each entry of the other vectors is taken from, or put onto, the first vector
// once: as many operations as the narrow form promises room for.
func TestAmountsAreExact(t *testing.T) {
	const seed = 7
	r := rand.New(rand.NewPCG(seed, seed))
	narrow, wide := 0, 0
	for i := range 5000 {
		lists := make([][]Exact, 1+r.IntN(4))
		n := 1 + r.IntN(4)
		digits, limit, fits := 3, new(big.Int), true
		for j := range lists {
			for range n {
				e := randomExact(r, t)
				lists[j] = append(lists[j], e)
				digits, fits = max(digits, e.Digits), fits && e.Wide == nil
				limit.Add(limit, new(big.Int).Abs(big.NewInt(e.Milli)))
			}
		}
		fits = fits && limit.Cmp(new(big.Int).Lsh(big.NewInt(1), 62)) < 0
		vectors := NewAmounts(lists...)
		total, want := vectors[0].Clone(), make([]*big.Rat, n)
		for k := range want {
			want[k] = lists[0][k].rational()
		}
		if (total.Wide == nil) != fits {
			t.Fatalf("seed %d, case %d: narrow is %v, want %v for %v", seed, i, total.Wide == nil, fits, lists)
		}
		if fits {
			narrow++
		} else {
			wide++
		}
		for j, vector := range vectors[1:] {
			for k := range n {
				if r.IntN(2) == 0 {
					total.Sub(k, vector, k)
					want[k].Sub(want[k], lists[j+1][k].rational())
				} else {
					total.Add(k, vector, k)
					want[k].Add(want[k], lists[j+1][k].rational())
				}
				if got := total.rational(k, digits); got.Cmp(want[k]) != 0 {
					t.Fatalf("seed %d, case %d: entry %d is %s, want %s; lists %v", seed, i, k, got, want[k], lists)
				}
				if got := total.Negative(k); got != (want[k].Sign() < 0) {
					t.Fatalf("seed %d, case %d: Negative of %s is %v", seed, i, want[k], got)
				}
			}
			covers := true
			for k := range n {
				covers = covers && want[k].Cmp(lists[j+1][k].rational()) >= 0
			}
			if got := total.Covers(vector); got != covers {
				t.Fatalf("seed %d, case %d: Covers is %v, want %v; %s against %v", seed, i, got, covers, want, lists[j+1])
			}
		}
		for j, vector := range vectors {
			for k := range n {
				if vector.rational(k, digits).Cmp(lists[j][k].rational()) != 0 {
					t.Fatalf("seed %d, case %d: an operation on a clone changed vector %d", seed, i, j)
				}
			}
		}
	}
	if narrow < 500 || wide < 500 {
		t.Errorf("%d narrow and %d wide cases: too few to prove anything", narrow, wide)
	}
}

func TestTheNarrowFormEndsBelowTheLimit(t *testing.T) {
	for _, c := range []struct {
		name   string
		lists  [][]int64
		narrow bool
	}{
		{"nothing", nil, true},
		{"one below", [][]int64{{narrowLimit - 1}}, true},
		{"at the limit", [][]int64{{narrowLimit}}, false},
		{"a sum one below", [][]int64{{narrowLimit / 2}, {narrowLimit/2 - 1}}, true},
		{"a sum at the limit", [][]int64{{narrowLimit / 2}, {narrowLimit / 2}}, false},
		{"a sum past 64 bits", [][]int64{{math.MaxInt64, math.MaxInt64}, {math.MaxInt64}}, false},
		{"negative, one below", [][]int64{{-narrowLimit + 1}}, true},
		{"negative, at the limit", [][]int64{{-narrowLimit}}, false},
		{"opposite signs do not cancel", [][]int64{{narrowLimit / 2, -narrowLimit / 2}}, false},
		{"the smallest has no absolute value", [][]int64{{math.MinInt64}}, false},
	} {
		var lists [][]Exact
		for _, milli := range c.lists {
			var list []Exact
			for _, m := range milli {
				list = append(list, Exact{Milli: m})
			}
			lists = append(lists, list)
		}
		for i, vector := range NewAmounts(lists...) {
			if (vector.Wide == nil) != c.narrow || (vector.Narrow != nil) != c.narrow {
				t.Errorf("%s: vector %d is narrow: %v, want %v", c.name, i, vector.Wide == nil, c.narrow)
			}
			if vector.Len() != len(lists[i]) {
				t.Errorf("%s: vector %d has %d entries, want %d", c.name, i, vector.Len(), len(lists[i]))
			}
		}
	}
}

// Exactly enough is enough, and nothing left is not less than nothing.
func TestEqualAmounts(t *testing.T) {
	for _, a := range []Exact{{Milli: 1500}, {Wide: big.NewInt(15), Digits: 10}} {
		vectors := NewAmounts([]Exact{a}, []Exact{a}, []Exact{{}})
		if !vectors[0].Covers(vectors[1]) || vectors[2].Covers(vectors[1]) {
			t.Errorf("%v covers itself: %v; nothing covers it: %v", vectors[0], vectors[0].Covers(vectors[1]), vectors[2].Covers(vectors[1]))
		}
		vectors[0].Sub(0, vectors[1], 0)
		if vectors[0].Negative(0) || !vectors[0].Covers(vectors[2]) {
			t.Errorf("%v less itself is %v", vectors[1], vectors[0])
		}
		vectors[0].Sub(0, vectors[1], 0)
		if !vectors[0].Negative(0) {
			t.Errorf("nothing less %v is %v, which is not called negative", vectors[1], vectors[0])
		}
	}
}

// One amount that is too fine makes all vectors of the call wide: they share a unit.
func TestVectorsOfOneCallShareAUnit(t *testing.T) {
	nano, err := NewWide(big.NewInt(1), 9)
	if err != nil {
		t.Fatal(err)
	}
	vectors := NewAmounts([]Exact{{Milli: 1500}}, []Exact{nano}, nil)
	if vectors[0].Wide == nil || vectors[1].Wide == nil {
		t.Fatalf("vectors %v are not all wide", vectors)
	}
	vectors[0].Sub(0, vectors[1], 0)
	if got := vectors[0].Wide[0]; got.Cmp(big.NewInt(1_499_999_999)) != 0 {
		t.Errorf("1.5 less 1n is %sn, want 1499999999n", got)
	}
	if vectors[2].Len() != 0 || !vectors[2].Covers(vectors[2]) {
		t.Errorf("the empty vector is %v", vectors[2])
	}
}

func TestNewWideRefusesAbsurdExponents(t *testing.T) {
	for _, c := range []struct {
		digits int
		ok     bool
	}{{1000, true}, {1001, false}, {-1000, true}, {-1001, false}, {math.MinInt, false}, {math.MaxInt, false}} {
		e, err := NewWide(big.NewInt(3), c.digits)
		if (err == nil) != c.ok {
			t.Errorf("NewWide(3, %d): %v", c.digits, err)
		}
		if err == nil && e.Digits < 0 {
			t.Errorf("NewWide(3, %d) has %d digits", c.digits, e.Digits)
		}
	}
	e, err := NewWide(big.NewInt(3), -2)
	if err != nil || e.rational().Cmp(big.NewRat(300, 1)) != 0 {
		t.Errorf("3 × 10^2 is %v, %v", e, err)
	}
}

// Vectors made one by one are those of NewAmounts, and are narrow exactly where
// all made together would be.
func TestSizesTellWhetherVectorsAreNarrowTogether(t *testing.T) {
	const most = 1<<62 - 1
	for _, c := range []struct {
		a, b  []Exact
		times int
	}{
		{[]Exact{{Milli: 3}, {Milli: -4}}, []Exact{{Milli: 1}}, 3},
		{[]Exact{{Milli: most - 2}}, []Exact{{Milli: 1}}, 2},
		{[]Exact{{Milli: most - 1}}, []Exact{{Milli: 1}}, 2},
		{[]Exact{{Milli: most}}, []Exact{{Milli: 0}}, 9},
		{[]Exact{{Milli: most}}, []Exact{{Milli: 1}}, 0},
		{[]Exact{{Milli: 0}}, []Exact{{Milli: most}}, 1},
		{[]Exact{{Milli: 1}}, []Exact{{Milli: -most}}, 1},
		{[]Exact{{Milli: most + 1}}, nil, 0},
		{[]Exact{{Milli: math.MinInt64}}, nil, 1},
		{nil, []Exact{{Wide: big.NewInt(1)}}, 1},
	} {
		lists := [][]Exact{c.a}
		for range c.times {
			lists = append(lists, c.b)
		}
		want := NewAmounts(lists...)
		first, narrow := Size(c.a)
		second, second1 := Size(c.b)
		if narrow = narrow && second1; narrow {
			_, narrow = Together(first, second, c.times)
		}
		if narrow != (want[0].Wide == nil) {
			t.Errorf("%v and %d times %v: narrow is %v", c.a, c.times, c.b, narrow)
		}
		if got := Narrowed(Amounts{Narrow: []int64{7, 7, 7}}, c.a); narrow && !slices.Equal(got.Narrow, want[0].Narrow) {
			t.Errorf("%v becomes %v, want %v", c.a, got, want[0])
		}
	}
}
