package search

import (
	"cmp"
	"encoding/binary"
	"math/bits"
	"slices"
)

// packingTable decides whether one way from each block can be chosen such that
// together they reach what is needed, for one list of demands.
//
// It goes from block to block, takes each way in turn, and asks whether the
// other blocks reach the rest of the need. The answer for a rest of the blocks
// and a rest of the need is remembered: blocks are in the order in which their
// lists were first met, so those that the search has not touched come last and
// are asked the same again, and blocks with equal lists are asked alike.
//
// Two bounds end it early: what the blocks give to each demand alone at most,
// and what they give of a weighted sum of all demands. Both hold for any
// weights; volumes tell best how much of a counter set a way uses up.
//
// Ways count up to caps only, which is no less than any need: more of a way
// than that helps nobody.
type packingTable struct {
	demands []demandID
	weights [maxDimensions]int64
	caps    vector

	blocks []blockWays
	lists  []wayList
	// byState and byWays are the numbers of lists by the state of a block, and by
	// what is in them.
	byState, byWays map[string]int32
	key             []byte

	// rests[0] are no blocks.
	rests []restOfBlocks
	known map[question]bool
	// asked counts the questions of one look.
	asked int
}

// wayList are the ways of a block, those first that use most of it.
type wayList struct {
	ways []vector
	// most is the most of each demand, weight the most of all by weight.
	most   vector
	weight int64
}

// restOfBlocks are blocks with the list of the first, and the others.
type restOfBlocks struct {
	list, others int32
	// most and weight bound what all of them give.
	most   vector
	weight int64
	// longer are the rests with one block more, by its list.
	longer []step
}

type step struct{ list, rest int32 }

// question is whether a rest of the blocks reaches a need.
type question struct {
	rest int32
	need vector
}

// The bounds of what is kept; beyond them it is forgotten.
const (
	maxLists = 1 << 12
	maxRests = 1 << 12
	maxKnown = 1 << 14
)

// begin forgets everything, for needs of at most caps.
func (t *packingTable) begin(caps vector) {
	t.caps = caps
	// The shift keeps sums of weights far from overflow, and changes no answer:
	// it makes other weights, for all ways the same.
	largest := slices.Max(t.weights[:])
	if shift := bits.Len64(uint64(largest)) - 32; shift > 0 {
		for i := range t.weights {
			t.weights[i] >>= shift
		}
	}
	t.blocks, t.lists = t.blocks[:0], t.lists[:0]
	t.byState, t.byWays = make(map[string]int32), make(map[string]int32)
	t.forget()
}

func (t *packingTable) forget() {
	t.rests = append(t.rests[:0], restOfBlocks{})
	t.known = make(map[question]bool)
}

// number returns the number of a list of ways.
func (t *packingTable) number(ways []vector) int32 {
	ways = slices.Clone(ways)
	slices.SortFunc(ways, func(v, w vector) int {
		return cmp.Or(cmp.Compare(t.weigh(w), t.weigh(v)), cmp.Compare(v, w))
	})
	t.key = t.key[:0]
	for _, way := range ways {
		t.key = binary.LittleEndian.AppendUint64(t.key, uint64(way))
	}
	number, known := t.byWays[string(t.key)]
	if !known {
		number = int32(len(t.lists))
		list := wayList{ways: ways}
		for _, way := range ways {
			list.most += way.without(list.most)
			list.weight = max(list.weight, t.weigh(way))
		}
		t.lists = append(t.lists, list)
		t.byWays[string(t.key)] = number
	}
	return number
}

func (t *packingTable) weigh(v vector) int64 {
	sum := int64(0)
	for i := range t.demands {
		sum += int64(v.at(i)) * t.weights[i]
	}
	return sum
}

// reaches says whether blocks with these lists can give all that is needed.
func (t *packingTable) reaches(lists []int32, need vector) bool {
	if len(t.rests)+len(lists) > maxRests || len(t.known) > maxKnown {
		t.forget()
	}
	slices.Sort(lists)
	rest := int32(0)
	for _, list := range lists {
		rest = t.longer(rest, list)
	}
	t.asked = 0
	return t.reach(rest, need)
}

// longer returns the number of a rest with one block more.
func (t *packingTable) longer(rest, list int32) int32 {
	others := &t.rests[rest]
	for _, step := range others.longer {
		if step.list == list {
			return step.rest
		}
	}
	number := int32(len(t.rests))
	others.longer = append(others.longer, step{list, number})
	t.rests = append(t.rests, restOfBlocks{
		list: list, others: rest,
		most:   (others.most + t.lists[list].most).upTo(t.caps),
		weight: others.weight + t.lists[list].weight,
	})
	return number
}

// reach says whether a rest of the blocks gives the need, or that may be so.
func (t *packingTable) reach(number int32, need vector) bool {
	if need == 0 {
		return true
	}
	rest := &t.rests[number]
	if number == 0 || !rest.most.covers(need) || t.weigh(need) > rest.weight {
		return false
	}
	if t.asked++; t.asked > maxSums {
		return true
	}
	answer, known := t.known[question{number, need}]
	if known {
		return answer
	}
	for _, way := range t.lists[rest.list].ways {
		if answer = t.reach(rest.others, need.without(way)); answer {
			break
		}
	}
	if t.asked <= maxSums {
		t.known[question{number, need}] = answer
	}
	return answer
}
