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
	// listOf are the numbers of lists by the number of a block's state in byState;
	// byWays numbers the lists by what is in them.
	byState, byWays dictionary
	listOf          []int32
	key             []byte
	sorted          []vector

	// rests[0] are no blocks.
	rests []restOfBlocks
	// answers are those to the questions that are known.
	known   dictionary
	answers []bool
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

// question is whether a rest of the blocks reaches a need, as a key.
type question [12]byte

func ask(rest int32, need vector) (q question) {
	binary.LittleEndian.PutUint32(q[:], uint32(rest))
	binary.LittleEndian.PutUint64(q[4:], uint64(need))
	return q
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
	t.byState.begin()
	t.byWays.begin()
	t.listOf = t.listOf[:0]
	t.forget()
}

func (t *packingTable) forget() {
	t.rests = t.rests[:0]
	t.addRest(restOfBlocks{})
	t.known.begin()
	t.answers = t.answers[:0]
}

// addRest appends a rest, and returns its number.
func (t *packingTable) addRest(r restOfBlocks) int32 {
	n := len(t.rests)
	t.rests = resized(t.rests, n+1)
	r.longer = t.rests[n].longer[:0]
	t.rests[n] = r
	return int32(n)
}

// number returns the number of a list of ways.
func (t *packingTable) number(ways []vector) int32 {
	t.sorted = append(t.sorted[:0], ways...)
	slices.SortFunc(t.sorted, func(v, w vector) int {
		return cmp.Or(cmp.Compare(t.weigh(w), t.weigh(v)), cmp.Compare(v, w))
	})
	t.key = t.key[:0]
	for _, way := range t.sorted {
		t.key = binary.LittleEndian.AppendUint64(t.key, uint64(way))
	}
	if number, known := t.byWays.find(t.key); known {
		return number
	}
	t.lists = resized(t.lists, len(t.lists)+1)
	list := &t.lists[len(t.lists)-1]
	list.ways, list.most, list.weight = append(list.ways[:0], t.sorted...), 0, 0
	for _, way := range list.ways {
		list.most += way.without(list.most)
		list.weight = max(list.weight, t.weigh(way))
	}
	return t.byWays.add(t.key)
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
	if len(t.rests)+len(lists) > maxRests || t.known.len() > maxKnown {
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
	others.longer = append(others.longer, step{list, int32(len(t.rests))})
	return t.addRest(restOfBlocks{
		list: list, others: rest,
		most:   (others.most + t.lists[list].most).upTo(t.caps),
		weight: others.weight + t.lists[list].weight,
	})
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
	q := ask(number, need)
	if known, found := t.known.find(q[:]); found {
		return t.answers[known]
	}
	answer := false
	for _, way := range t.lists[rest.list].ways {
		if answer = t.reach(rest.others, need.without(way)); answer {
			break
		}
	}
	if t.asked <= maxSums {
		t.known.add(q[:])
		t.answers = append(t.answers, answer)
	}
	return answer
}
