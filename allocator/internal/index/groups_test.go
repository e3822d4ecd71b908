package index

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
)

// The rules of KEP-5963, one placement after the other.
func TestGroupState(t *testing.T) {
	const x, y, z = 1, 2, 3
	none := []uint32{}
	for _, c := range []struct {
		placed    [][]uint32
		admits    [][]uint32
		doesNot   [][]uint32
		rationale string
	}{
		{nil, [][]uint32{none, nil, {x}, {x, y}}, nil, "an empty set takes anyone"},
		{[][]uint32{{x}}, [][]uint32{{x}, {x, y}, {y, x}}, [][]uint32{{y}, none, nil}, "one common group is enough, no group is none"},
		{[][]uint32{{x, y}}, [][]uint32{{x}, {y}}, [][]uint32{{z}, none}, "either of two groups will do"},
		{[][]uint32{{x, y}, {x}}, [][]uint32{{x}, {x, y}}, [][]uint32{{y}}, "a group counts only if all have it"},
		{[][]uint32{{x, y}, {y, z}}, [][]uint32{{y}}, [][]uint32{{x}, {z}, {x, z}}, "pairs are not enough"},
		{[][]uint32{none}, [][]uint32{none, nil}, [][]uint32{{x}, {x, y}}, "without groups only others without"},
		{[][]uint32{none, nil}, [][]uint32{none}, [][]uint32{{x}}, "and any number of them"},
		// What follows can only be there because a driver changed its slices under live allocations.
		{[][]uint32{{x}, {y}}, nil, [][]uint32{{x}, {y}, {x, y}, none}, "with nothing in common nobody else is let in"},
		{[][]uint32{{x}, none}, [][]uint32{{x}}, [][]uint32{{y}, none}, "a stranger without groups changes nothing"},
		{[][]uint32{none, {x}}, [][]uint32{none}, [][]uint32{{x}}, "nor does one with groups among those without"},
	} {
		state := GroupState{}
		for _, groups := range c.placed {
			state = state.With(groups)
		}
		for _, groups := range c.admits {
			if !state.Admits(groups) {
				t.Errorf("%s: after %v, %v is not admitted", c.rationale, c.placed, groups)
			}
		}
		for _, groups := range c.doesNot {
			if state.Admits(groups) {
				t.Errorf("%s: after %v, %v is admitted", c.rationale, c.placed, groups)
			}
		}
	}
}

// Devices that are admitted one after the other name no group, all of them, or
// have one in common; and a state that With was called on is what it was.
func TestGroupStateKeepsWhatIsCommon(t *testing.T) {
	const seed = 3
	r := rand.New(rand.NewPCG(seed, seed))
	refused := 0
	for range 2000 {
		var placed [][]uint32
		state := GroupState{}
		for range 4 {
			var groups []uint32
			for _, group := range []uint32{1, 2, 3} {
				if r.IntN(2) == 0 {
					groups = append(groups, group)
				}
			}
			r.Shuffle(len(groups), func(i, j int) { groups[i], groups[j] = groups[j], groups[i] })
			want := mayJoin(placed, groups)
			if got := state.Admits(groups); got != want {
				t.Fatalf("seed %d: after %v, Admits(%v) is %v", seed, placed, groups, got)
			}
			if !want {
				refused++
				continue
			}
			before := fmt.Sprint(state)
			next := state.With(groups)
			if after := fmt.Sprint(state); after != before {
				t.Fatalf("seed %d: With(%v) changed the state from %s to %s", seed, groups, before, after)
			}
			placed, state = append(placed, groups), next
		}
	}
	if refused < 500 {
		t.Errorf("only %d refusals: too few to prove anything", refused)
	}
}

func mayJoin(placed [][]uint32, groups []uint32) bool {
	all := append(slices.Clone(placed), groups)
	if slices.ContainsFunc(all, func(g []uint32) bool { return len(g) == 0 }) {
		return !slices.ContainsFunc(all, func(g []uint32) bool { return len(g) > 0 })
	}
	return slices.ContainsFunc(groups, func(group uint32) bool {
		return !slices.ContainsFunc(all, func(g []uint32) bool { return !slices.Contains(g, group) })
	})
}
