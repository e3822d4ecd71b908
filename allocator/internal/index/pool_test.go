package index

import (
	"math/rand/v2"
	"testing"

	"github.com/dray-dev/dray/allocator/internal/bitset"
)

// randomCounters makes counters and, as plain numbers, what they hold and what
// each member draws from each.
func randomCounters(r *rand.Rand, wide bool) (c *Counters, available []int64, drawn [][]int64) {
	c = &Counters{Members: 1 + r.IntN(70), Starts: []int{0}, GroupStarts: []int{0}}
	exact := func(value int64) Exact {
		e := Exact{Milli: value * 1000}
		if wide {
			e = Exact{Wide: e.wide(6), Digits: 6}
		}
		return e
	}
	var left, uses []Exact
	for range 1 + r.IntN(5) {
		available = append(available, r.Int64N(200))
		left = append(left, exact(available[len(available)-1]))
	}
	for range c.Members {
		row := make([]int64, len(available))
		for counter := range row {
			if r.IntN(2) == 0 {
				row[counter] = r.Int64N(10)
				c.Uses = append(c.Uses, Use{Counter: counter})
				uses = append(uses, exact(row[counter]))
			}
		}
		c.Starts = append(c.Starts, len(c.Uses))
		drawn = append(drawn, row)
	}
	vectors := NewAmounts(left, uses)
	c.Available, c.Drawn = vectors[0], vectors[1]
	return c, available, drawn
}

func TestLeftIsAvailableLessWhatAllocatedMembersDraw(t *testing.T) {
	const seed = 11
	r := rand.New(rand.NewPCG(seed, seed))
	negative := 0
	for i := range 400 {
		wide := i%4 == 0
		c, available, drawn := randomCounters(r, wide)
		allocated := bitset.New(c.Members)
		want := append([]int64(nil), available...)
		for member := range c.Members {
			if r.IntN(3) == 0 {
				allocated.Add(member)
				for counter, amount := range drawn[member] {
					want[counter] -= amount
				}
			}
		}
		for range 2 { // The second time finds Available as it was.
			left := c.Left(allocated)
			for counter, value := range want {
				got := left.rational(counter, 6)
				if !got.IsInt() || got.Num().Int64() != value {
					t.Fatalf("seed %d, case %d: counter %d holds %s, want %d", seed, i, counter, got, value)
				}
				if value < 0 {
					negative++
				}
			}
		}
	}
	if negative == 0 {
		t.Error("no counter was overdrawn: the case that matters most is missing")
	}
}

func TestPlacePutsAMemberOnItsOwnSets(t *testing.T) {
	c := &Counters{
		Sets:        []CounterSet{{Name: "card"}, {Name: "links"}},
		Members:     3,
		GroupStarts: []int{0, 1, 3, 3},
		GroupUses:   []GroupUse{{Set: 1, Groups: []uint32{7}}, {Set: 0, Groups: []uint32{8}}, {Set: 1, Groups: []uint32{7, 9}}},
	}
	states := make([]GroupState, len(c.Sets))
	c.Place(states, 0)
	if !states[0].Admits(nil) || states[1].Admits([]uint32{9}) {
		t.Errorf("after member 0 the states are %+v", states)
	}
	c.Place(states, 1)
	c.Place(states, 2)
	if states[0].Admits([]uint32{7}) || !states[0].Admits([]uint32{8}) || !states[1].Admits([]uint32{7}) {
		t.Errorf("after all members the states are %+v", states)
	}
}

func TestStatusNamesItself(t *testing.T) {
	for status, want := range map[Status]string{Usable: "usable", Incomplete: "incomplete", Invalid: "invalid"} {
		if got := status.String(); got != want {
			t.Errorf("status %d is %q, want %q", status, got, want)
		}
	}
}
