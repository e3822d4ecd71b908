package search

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
)

// A stack of keys has what was pushed and not cut off, and tells its levels apart.
func TestKeysAreThoseOfTheLevelsAbove(t *testing.T) {
	const seed, rounds = 1, 20000
	rng := rand.New(rand.NewPCG(seed, 0))
	var stack keys
	var want []string
	found := 0
	for round := range rounds {
		key := fmt.Sprint(rng.IntN(12))
		switch rng.IntN(8) {
		case 0:
			n := rng.IntN(len(want) + 1)
			stack.cut(n)
			want = want[:n]
		case 1, 2:
			stack.push([]byte(key))
			want = append(want, key)
		}
		from := rng.IntN(len(want) + 1)
		has := slices.Contains(want[from:], key)
		if got := stack.has(from, []byte(key)); got != has || stack.len() != len(want) {
			t.Fatalf("seed %d, round %d: has(%d, %s) is %v in %v of %d", seed, round, from, key, got, want, stack.len())
		}
		if has {
			found++
		}
		for i := range want {
			if string(stack.at(i)) != want[i] {
				t.Fatalf("seed %d, round %d: key %d is %s in %v", seed, round, i, stack.at(i), want)
			}
		}
	}
	if found < rounds/20 {
		t.Errorf("%d keys were found in %d rounds: too few to prove anything", found, rounds)
	}
}
