package search

import (
	"bytes"
	"encoding/binary"
	"slices"

	"github.com/dray-dev/dray/allocator/internal/bitset"
)

// blocks divide the devices into the smallest parts that draw from counter sets
// of their own: one block for each GPU that is published as partitions, one for
// each device without counters. Two blocks of equal shape and equal state are
// exchangeable: swapping them, device by device, in a solution gives a solution,
// because every check of the search looks at a device's block, its values, and
// what demands include it, and at nothing else of its identity.
//
// That gives two ways to skip subtrees (performance notes: Freuder's
// interchangeability, and nogoods):
//
//   - twins: once a device of one block was tried for a slot in vain, the same
//     device of an exchangeable block need not be tried for that slot. If it
//     had a solution, swapping the blocks would make one with the device that
//     failed: the other devices of that solution lie behind the twin, so their
//     images lie behind the failed device, and the devices of one request are
//     a set, tried in rising order only to avoid trying it twice.
//   - nogoods: a subtree that failed fails again in a state that is the same up
//     to exchangeable blocks.
//
// The first device in upstream's order is always the one that is tried, so the
// first solution stays the first.
type blocks struct {
	// of and within are a position's block and its number in it; of is -1 for
	// positions that no alternative can take.
	of, within []int32
	// list has the blocks. Their memory is that of parts, which has those, too, that
	// were merged into others, empty.
	list, parts []block
	// divided: the list is that of the problem.
	divided bool

	// What follows is only used while the devices are divided: the devices that
	// some alternative can take; the keys of shapes; the block of each counter set,
	// by the number of its pool's first set plus its own, -1 for none; and the sets
	// of one device.
	reach    bitset.Set
	shapes   dictionary
	key      []byte
	firstSet []int
	bySet    []int32
	sets     []int
}

type block struct {
	// shape is equal for blocks that have the same devices with the same uses,
	// values, and demands on them, in the same order.
	shape     int32
	pool      int
	sets      []int
	positions []int
	// words are those of the positions.
	words []blockWord
}

// blockWord is the part of a block in one word of a set.
type blockWord struct {
	word int
	mask uint64
}

// begin divides the devices of another problem.
func (b *blocks) begin(o *outlook) {
	b.of, b.within = resized(b.of, o.problem.Width), resized(b.within, o.problem.Width)
	for position := range b.of {
		b.of[position] = -1
	}
	b.reach = cleared(b.reach, len(o.problem.InUse))
	for i := range o.rests {
		for _, domain := range o.rests[i].static {
			b.reach.Or(domain)
		}
	}
	b.divide(o)
	b.shapes.begin()
	key := b.key
	for i := range b.list {
		block := &b.list[i]
		key = binary.AppendVarint(key[:0], int64(len(block.sets)))
		for _, set := range block.sets {
			key = binary.AppendVarint(key, int64(o.problem.Pools[block.pool].Counters.Sets[set].Len))
		}
		for _, position := range block.positions {
			key = o.appendClass(key, block, position)
		}
		shape, found := b.shapes.find(key)
		if !found {
			shape = b.shapes.add(key)
		}
		block.shape = shape
	}
	b.key, b.divided = key, true
}

// divide joins the devices that draw from the same sets.
func (b *blocks) divide(o *outlook) {
	b.forgetSets(o.problem)
	b.parts = b.parts[:0]
	for position := range b.reach.All {
		pool := o.problem.WordPool[position/bitset.WordBits]
		b.sets = b.sets[:0]
		if problem := &o.problem.Pools[pool]; problem.Counters != nil {
			for _, use := range problem.Counters.GroupsOf(problem.MemberOf[position-problem.First]) {
				b.sets = append(b.sets, use.Set)
			}
		}
		number := int32(-1)
		for _, set := range b.sets {
			other := b.bySet[b.firstSet[pool]+set]
			switch {
			case other < 0:
			case number < 0:
				number = other
			case other != number:
				b.merge(other, number)
			}
		}
		if number < 0 {
			number = int32(len(b.parts))
			b.parts = resized(b.parts, len(b.parts)+1)
			b.parts[number].begin(pool)
		}
		block := &b.parts[number]
		block.positions = append(block.positions, position)
		for _, set := range b.sets {
			if b.bySet[b.firstSet[pool]+set] = number; !slices.Contains(block.sets, set) {
				block.sets = append(block.sets, set)
			}
		}
	}
	b.list = b.list[:0]
	for i := range b.parts {
		block := &b.parts[i]
		if len(block.positions) == 0 {
			continue
		}
		slices.Sort(block.sets)
		slices.Sort(block.positions)
		for j, position := range block.positions {
			b.of[position], b.within[position] = int32(len(b.list)), int32(j)
			block.add(position)
		}
		b.list = append(b.list, *block)
	}
}

// forgetSets makes room for the counter sets of all pools, none of which is in a block.
func (b *blocks) forgetSets(p *Problem) {
	b.firstSet = resized(b.firstSet, len(p.Pools))
	n := 0
	for i := range p.Pools {
		b.firstSet[i] = n
		if p.Pools[i].Counters != nil {
			n += len(p.Pools[i].Counters.Sets)
		}
	}
	b.bySet = resized(b.bySet, n)
	for i := range b.bySet {
		b.bySet[i] = -1
	}
}

// begin empties a block, for devices of a pool.
func (b *block) begin(pool int) {
	b.pool, b.sets, b.positions, b.words = pool, b.sets[:0], b.positions[:0], b.words[:0]
}

// add extends words by a position that is larger than those before.
func (b *block) add(position int) {
	word := position / bitset.WordBits
	if n := len(b.words); n == 0 || b.words[n-1].word != word {
		b.words = append(b.words, blockWord{word: word})
	}
	b.words[len(b.words)-1].mask |= 1 << (position % bitset.WordBits)
}

func (b *blocks) merge(from, into int32) {
	source, target := &b.parts[from], &b.parts[into]
	target.positions = append(target.positions, source.positions...)
	for _, set := range source.sets {
		b.bySet[b.firstSet[source.pool]+set] = into
		if !slices.Contains(target.sets, set) {
			target.sets = append(target.sets, set)
		}
	}
	source.positions, source.sets = source.positions[:0], source.sets[:0]
}

// appendClass writes everything about a device that does not change: which
// alternatives can take it, with what values and demands, and what it draws,
// with sets and counters numbered within the block.
func (o *outlook) appendClass(key []byte, block *block, position int) []byte {
	share := o.problem.ShareOf[position]
	for i := range o.rests {
		for n := range o.rests[i].alternatives {
			a := &o.rests[i].alternatives[n]
			if !o.rests[i].static[n].Has(position) {
				key = append(key, 0)
				continue
			}
			key = append(key, 1)
			for _, test := range a.Tests {
				key = binary.AppendVarint(key, int64(test.Values[position]))
			}
			if share >= 0 {
				key = a.Demands[share].AppendKey(key)
			}
		}
	}
	key = append(key, flag(share >= 0), flag(o.problem.Shared.Has(position)), flag(o.problem.InUse.Has(position)))
	if share >= 0 && o.shares[share].Wide != nil {
		key = binary.AppendVarint(key, int64(position)) // Units of different devices differ.
	}
	problem := &o.problem.Pools[block.pool]
	if len(block.sets) == 0 {
		return key
	}
	if problem.Left.Wide != nil {
		key = binary.AppendVarint(key, int64(block.pool)) // Units of different pools differ.
	}
	counters, member := problem.Counters, problem.MemberOf[position-problem.First]
	for _, use := range counters.GroupsOf(member) {
		key = binary.AppendVarint(key, int64(slices.Index(block.sets, use.Set)))
		key = binary.AppendVarint(key, int64(len(use.Groups)))
		for _, group := range use.Groups {
			key = binary.AppendVarint(key, int64(group))
		}
	}
	first, end := counters.UsesOf(member)
	for i := first; i < end; i++ {
		key = binary.AppendVarint(key, int64(o.within(block, counters.Uses[i].Counter)))
		key = counters.Drawn.AppendEntry(key, i)
	}
	return append(key, 0xff)
}

// within numbers the counters of a block's sets from 0.
func (o *outlook) within(block *block, counter int) int {
	before := 0
	for _, number := range block.sets {
		set := &o.problem.Pools[block.pool].Counters.Sets[number]
		if counter >= set.First && counter < set.First+set.Len {
			return before + counter - set.First
		}
		before += set.Len
	}
	return before + counter
}

func flag(b bool) byte {
	if b {
		return 1
	}
	return 0
}

// appendState writes the shape and state of a block, as far as the subtree at a
// node can see it: which devices the present request may take, which may matter
// later, and what is left of shares, counters and groups. It is false where
// nothing of the block matters.
func (o *memory) appendState(key []byte, number int32, claim int, domain, later bitset.Set) ([]byte, bool) {
	block := &o.blocks.list[number]
	mark := len(key)
	key = binary.AppendVarint(key, int64(block.shape))
	matters := false
	for _, position := range block.positions {
		bits := flag(domain.Has(position))
		if later.Has(position) && (o.admin || !o.inUse.Has(position)) {
			bits |= 2
		}
		if bits != 0 {
			matters = true
			if o.admin {
				bits |= flag(o.inUse.Has(position))<<2 | flag(o.held[claim].Has(position))<<3
			}
			if share := o.problem.ShareOf[position]; share >= 0 {
				bits |= flag(o.paid(position)) << 4
				key = o.shares[share].AppendKey(key)
			}
		}
		key = append(key, bits)
	}
	if !matters {
		return key[:mark], false
	}
	if len(block.sets) > 0 {
		pool := &o.pools[block.pool]
		o.open(block.positions[0])
		key = append(key, flag(pool.overdrawn > 0))
		for _, number := range block.sets {
			set := &o.problem.Pools[block.pool].Counters.Sets[number]
			for counter := set.First; counter < set.First+set.Len; counter++ {
				key = pool.left.AppendEntry(key, counter)
			}
			if o.problem.GroupsEnforced {
				key = pool.groups[number].AppendKey(key)
			}
		}
	}
	return key, true
}

// stateKey writes everything that decides whether the subtree at a node holds a
// solution, the same for states that differ by exchangeable blocks only. domain
// is what look returned there.
func (o *memory) stateKey(at place, domain bitset.Set) []byte {
	key := o.key[:0]
	for _, n := range []int{at.claim, at.request, at.alternative, at.device, len(o.picks[at.claim])} {
		key = binary.AppendVarint(key, int64(n))
	}
	for c := range o.constraints[at.claim] {
		key = o.constraints[at.claim][c].appendKey(key, &o.problem.Claims[at.claim].Constraints[c])
	}
	later := o.later[o.first[at.claim]+at.request]
	blocks := o.divided()
	states := o.stateBuffer[:0]
	o.bounds = o.bounds[:0]
	for i := range blocks.list {
		start := len(states)
		var matters bool
		if states, matters = o.appendState(states, int32(i), at.claim, domain, later); matters {
			o.bounds = append(o.bounds, [2]int{start, len(states)})
		}
	}
	slices.SortFunc(o.bounds, func(a, b [2]int) int {
		return bytes.Compare(states[a[0]:a[1]], states[b[0]:b[1]])
	})
	for _, bound := range o.bounds {
		key = binary.AppendVarint(key, int64(bound[1]-bound[0]))
		key = append(key, states[bound[0]:bound[1]]...)
	}
	o.key, o.stateBuffer = key, states
	return key
}

// maxSorted is how many numbers are sorted on the stack; a claim's result has no
// more devices.
const maxSorted = 32

// appendKey writes what the constraint remembers.
func (s *constraintState) appendKey(key []byte, c *Constraint) []byte {
	key = append(key, flag(s.devices > 0))
	if s.devices == 0 {
		return key
	}
	switch {
	case c.Lists && c.Distinct:
		for _, w := range s.union {
			key = binary.LittleEndian.AppendUint64(key, w)
		}
	case c.Lists:
		for _, w := range s.common[s.devices-1] {
			key = binary.LittleEndian.AppendUint64(key, w)
		}
	case c.Distinct:
		var sorted [maxSorted]int32
		used := append(sorted[:0], s.used...)
		slices.Sort(used)
		key = binary.AppendVarint(key, int64(len(used)))
		for _, value := range used {
			key = binary.AppendVarint(key, int64(value))
		}
	default:
		key = binary.AppendVarint(key, int64(s.first))
	}
	return key
}
