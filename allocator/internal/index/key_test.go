package index

import (
	"math/rand/v2"
	"testing"
)

// Keys are equal where values are: the search remembers by them what it has
// found to be hopeless.
func TestKeysOfAmounts(t *testing.T) {
	const seed = 29
	r := rand.New(rand.NewPCG(seed, seed))
	equal := 0
	for range 2000 {
		lists := make([][]Exact, 6)
		for i := range lists {
			for range r.IntN(3) {
				e := Exact{Milli: r.Int64N(3) - 1}
				if r.IntN(4) == 0 {
					e.Milli *= 1 << 61
				}
				lists[i] = append(lists[i], e)
			}
		}
		vectors := NewAmounts(lists...)
		for i, a := range vectors {
			for j, b := range vectors {
				same := a.Len() == b.Len() && a.Covers(b) && b.Covers(a)
				if got := string(a.AppendKey(nil)) == string(b.AppendKey(nil)); got != same {
					t.Fatalf("seed %d: keys of %v and %v are equal: %v", seed, a, b, got)
				}
				if same && i != j {
					equal++
				}
				for k := range min(a.Len(), b.Len()) {
					x, y := a.rational(k, 3), b.rational(k, 3)
					if got, want := a.Below(k, b, k), x.Cmp(y) < 0; got != want {
						t.Fatalf("seed %d: Below(%s, %s) is %v", seed, x, y, got)
					}
					if got, want := string(a.AppendEntry(nil, k)) == string(b.AppendEntry(nil, k)), x.Cmp(y) == 0; got != want {
						t.Fatalf("seed %d: keys of %s and %s are equal: %v", seed, x, y, got)
					}
				}
			}
		}
	}
	if equal < 1000 {
		t.Errorf("only %d pairs are equal: too few to prove anything", equal)
	}
}

// Two keys in a row do not run into each other: 1|23 is not 12|3.
func TestKeysCanBeJoined(t *testing.T) {
	for _, wide := range []int64{0, 1 << 62} {
		vectors := NewAmounts([]Exact{{Milli: 1}}, []Exact{{Milli: 1}, {Milli: 1}}, []Exact{}, []Exact{{Milli: wide}})
		join := func(numbers ...int) string {
			var key []byte
			for _, n := range numbers {
				key = vectors[n].AppendKey(key)
			}
			return string(key)
		}
		if join(0, 1) == join(1, 0) || join(0, 0) == join(1) || join(2, 0) == join(0, 2) {
			t.Errorf("with an amount of %d, keys of different vectors are equal when joined", wide)
		}
	}
}

func TestKeysOfGroupStates(t *testing.T) {
	states := map[string]GroupState{
		"empty":          {},
		"without groups": GroupState{}.With(nil),
		"x":              GroupState{}.With([]uint32{1}),
		"y":              GroupState{}.With([]uint32{2}),
		"x y":            GroupState{}.With([]uint32{1, 2}),
		"nothing common": GroupState{}.With([]uint32{1}).With([]uint32{2}),
	}
	for a, x := range states {
		for b, y := range states {
			if got := string(x.AppendKey(nil)) == string(y.AppendKey(nil)); got != (a == b) {
				t.Errorf("the keys of %q and %q are equal: %v", a, b, got)
			}
		}
	}
	if a, b := (GroupState{}).With([]uint32{1, 2}), (GroupState{}).With([]uint32{2, 1}); string(a.AppendKey(nil)) != string(b.AppendKey(nil)) {
		t.Error("the order of groups makes a difference")
	}
	if a, b := (GroupState{}).With([]uint32{1, 2, 3}).With([]uint32{2}), (GroupState{}).With([]uint32{2}); string(a.AppendKey(nil)) != string(b.AppendKey(nil)) {
		t.Error("how the groups were narrowed makes a difference")
	}
}

func TestBecomeIsACopy(t *testing.T) {
	for _, milli := range []int64{7, 1 << 62} {
		vectors := NewAmounts([]Exact{{Milli: milli}, {Milli: 1}}, []Exact{{Milli: 5}, {Milli: 6}, {Milli: 7}})
		old := vectors[1].Clone()
		got := old.Become(vectors[0])
		if got.Len() != 2 || !got.Covers(vectors[0]) || !vectors[0].Covers(got) {
			t.Errorf("the copy of %v is %v", vectors[0], got)
		}
		got.Sub(0, vectors[1], 0)
		if vectors[0].rational(0, 3).Cmp((Exact{Milli: milli}).rational()) != 0 {
			t.Errorf("changing the copy has changed the original to %v", vectors[0])
		}
		if got = got.Become(vectors[1]); got.Len() != 3 || !got.Covers(vectors[1]) || !vectors[1].Covers(got) {
			t.Errorf("the longer copy of %v is %v", vectors[1], got)
		}
	}
}
