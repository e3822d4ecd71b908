package search

import (
	"encoding/binary"
	"slices"

	"github.com/dray-dev/dray/allocator/internal/bitset"
	"github.com/dray-dev/dray/allocator/internal/index"
)

// packing decides whether counter sets can give all that is demanded of them
// together, where several demands compete for partitions of the same devices.
//
// For each block it lists the ways to take devices from it, as a vector that
// says how many go to each demand; of two ways of which one gives at least as
// much to every demand only the better is kept. A solution takes one way from
// each block, so the demands can be met only if some sum of one vector a block
// reaches them. The sums are built block by block, capped at what is demanded,
// again without what something else is better than.
//
// Constraints are left out, and demands with other devices to take: it errs on
// the side of hope. Where there is nothing but counters and groups it is exact,
// and the search does not turn back further than one device.
type packing struct {
	// ways are the vectors of blocks, by shape, state and demands.
	ways map[string][]vector
	key  []byte
}

// vector has a count for each demand, one byte each.
type vector uint64

// The bounds of what is computed; beyond them the answer is yes.
const (
	maxDimensions = 8
	maxBlockSize  = 32
	maxVectors    = 4096
)

func (v vector) at(i int) int { return int(v >> (8 * i) & 0xff) }

func unit(i int) vector { return 1 << (8 * i) }

// covers says whether v gives at least as much as w to every demand.
func (v vector) covers(w vector, dimensions int) bool {
	for i := range dimensions {
		if v.at(i) < w.at(i) {
			return false
		}
	}
	return true
}

// plus adds, and caps each count.
func (v vector) plus(w, limit vector, dimensions int) vector {
	var sum vector
	for i := range dimensions {
		sum |= vector(min(v.at(i)+w.at(i), limit.at(i))) << (8 * i)
	}
	return sum
}

// packs says whether the counter sets can give what the demands of the last look
// need of them. If not, the demands' components are to blame.
func (m *memory) packs() bool {
	var demands []*demand
	var limit vector
	for i := range m.demands {
		if d := &m.demands[i]; d.need > 0 && !d.alternative.Admin && m.onlyPartitions(d.domain) {
			if len(demands) == maxDimensions || d.need > 0xff {
				return true
			}
			limit |= vector(d.need) << (8 * len(demands))
			demands = append(demands, d)
		}
	}
	if len(demands) == 0 {
		return true
	}
	n := len(demands)
	sums := []vector{0}
	blocks := m.divided()
	for i := range blocks.list {
		ways, ok := m.waysOf(int32(i), demands, limit)
		if !ok {
			return true
		}
		if sums, ok = addWays(sums, ways, limit, n); !ok {
			return true
		}
		if slices.Contains(sums, limit) {
			return true
		}
	}
	m.outlook.blame = 0
	for _, d := range demands {
		m.outlook.blame |= d.rest.component.blame()
	}
	return false
}

// onlyPartitions says whether all devices of a domain draw from counters and
// cannot be shared.
func (m *memory) onlyPartitions(domain bitset.Set) bool {
	any := false
	for position := range domain.All {
		any = true
		pool := &m.problem.Pools[m.problem.WordPool[position/bitset.WordBits]]
		if pool.Counters == nil || pool.Left.Wide != nil || m.problem.ShareOf[position] >= 0 ||
			len(pool.Counters.GroupsOf(pool.MemberOf[position-pool.First])) == 0 {
			return false
		}
	}
	return any
}

// addWays adds one of the ways to each of the sums, in all combinations.
func addWays(sums, ways []vector, limit vector, dimensions int) ([]vector, bool) {
	if len(ways) == 0 {
		return sums, true
	}
	var next []vector
	for _, sum := range sums {
		for _, way := range ways {
			next = keepBest(next, sum.plus(way, limit, dimensions), dimensions)
			if len(next) > maxVectors {
				return nil, false
			}
		}
	}
	return next, true
}

// keepBest adds a vector to a list without those that others cover.
func keepBest(list []vector, v vector, dimensions int) []vector {
	for _, other := range list {
		if other.covers(v, dimensions) {
			return list
		}
	}
	list = slices.DeleteFunc(list, func(other vector) bool { return v.covers(other, dimensions) })
	return append(list, v)
}

// waysOf lists the best ways to take devices of a block; nil where none of the
// demands can take any.
func (m *memory) waysOf(number int32, demands []*demand, limit vector) ([]vector, bool) {
	block := &m.blocks.list[number]
	if len(block.sets) == 0 {
		return nil, true
	}
	pool := &m.pools[block.pool]
	m.open(block.positions[0])
	key := binary.AppendVarint(m.packing.key[:0], int64(block.shape))
	key = binary.LittleEndian.AppendUint64(key, uint64(limit))
	wanted := false
	for _, position := range block.positions {
		mask := byte(0)
		for i, d := range demands {
			if d.domain.Has(position) {
				mask |= 1 << i
				wanted = true
			}
		}
		key = append(key, mask)
	}
	if !wanted {
		return nil, true
	}
	if len(block.positions) > maxBlockSize || pool.left.Wide != nil {
		return nil, false
	}
	left := m.blockLeft(block)
	for _, amount := range left {
		key = binary.AppendVarint(key, amount)
	}
	if m.problem.GroupsEnforced {
		for _, set := range block.sets {
			key = pool.groups[set].AppendKey(key)
		}
	}
	m.packing.key = key
	ways, known := m.packing.ways[string(key)]
	if !known {
		p := packer{memory: m, block: block, demands: demands, limit: limit, left: left}
		for _, set := range block.sets {
			p.groups = append(p.groups, pool.groups[set])
		}
		if !p.take(0, 0) {
			return nil, false
		}
		ways = p.ways
		if m.packing.ways == nil || len(m.packing.ways) >= maxVectors {
			m.packing.ways = make(map[string][]vector)
		}
		m.packing.ways[string(key)] = ways
	}
	return ways, true
}

// blockLeft returns what is left of a block's counters, numbered within it.
func (m *memory) blockLeft(block *block) []int64 {
	var left []int64
	for _, number := range block.sets {
		set := &m.problem.Pools[block.pool].Counters.Sets[number]
		left = append(left, m.pools[block.pool].left.Narrow[set.First:set.First+set.Len]...)
	}
	return left
}

// packer enumerates the ways of one block.
type packer struct {
	*memory
	block   *block
	demands []*demand
	limit   vector
	left    []int64
	// groups are the states of the block's sets.
	groups  []index.GroupState
	ways    []vector
	visited int
}

// maxVisits bounds the enumeration of one block.
const maxVisits = 1 << 14

// take decides about the i-th device of the block and all behind it.
func (p *packer) take(i int, taken vector) bool {
	if p.visited++; p.visited > maxVisits {
		return false
	}
	if i == len(p.block.positions) {
		p.ways = keepBest(p.ways, taken, len(p.demands))
		return true
	}
	position := p.block.positions[i]
	problem := &p.problem.Pools[p.block.pool]
	first, end := problem.Counters.UsesOf(problem.MemberOf[position-problem.First])
	var before []index.GroupState
	if p.problem.GroupsEnforced {
		before = slices.Clone(p.groups)
	}
	if p.draw(problem, first, end) && p.join(problem, position) {
		for d := range p.demands {
			if p.demands[d].domain.Has(position) && taken.at(d) < p.limit.at(d) && !p.take(i+1, taken+unit(d)) {
				return false
			}
		}
	}
	p.putBack(problem, first, end)
	copy(p.groups, before)
	return p.take(i+1, taken)
}

// join places a device on its sets, if the groups there admit it.
func (p *packer) join(problem *Pool, position int) bool {
	if !p.problem.GroupsEnforced {
		return true
	}
	for _, use := range problem.Counters.GroupsOf(problem.MemberOf[position-problem.First]) {
		state := &p.groups[slices.Index(p.block.sets, use.Set)]
		if !state.Admits(use.Groups) {
			return false
		}
		*state = state.With(use.Groups)
	}
	return true
}

// draw takes the uses from left, and says whether that leaves nothing negative.
func (p *packer) draw(problem *Pool, first, end int) bool {
	enough := true
	for use := first; use < end; use++ {
		counter := p.within(p.block, problem.Counters.Uses[use].Counter)
		p.left[counter] -= problem.Counters.Drawn.Narrow[use]
		enough = enough && p.left[counter] >= 0
	}
	return enough
}

func (p *packer) putBack(problem *Pool, first, end int) {
	for use := first; use < end; use++ {
		p.left[p.within(p.block, problem.Counters.Uses[use].Counter)] += problem.Counters.Drawn.Narrow[use]
	}
}
