package search

import (
	"encoding/binary"
	"slices"

	"github.com/dray-dev/dray/allocator/internal/bitset"
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
	// drawings are the shapes of blocks, compiled when first met.
	drawings []*drawing
}

// The bounds of what is computed; beyond them the answer is yes.
const (
	maxDimensions = 8
	maxBlockSize  = 32
	maxVectors    = 4096
)

// packs says whether the counter sets can give what the demands of the last look
// need of them. If not, the demands' components are to blame.
func (m *memory) packs() bool {
	var demands []*demand
	var limit vector
	for i := range m.demands {
		if d := &m.demands[i]; d.need > 0 && !d.alternative.Admin && m.onlyPartitions(d.domain) {
			if len(demands) == maxDimensions || d.need > maxNeed {
				return true
			}
			limit |= vector(d.need) << (8 * len(demands))
			demands = append(demands, d)
		}
	}
	if len(demands) == 0 {
		return true
	}
	sums := []vector{0}
	blocks := m.divided()
	for i := range blocks.list {
		ways, ok := m.waysOf(int32(i), demands, limit)
		if !ok {
			return true
		}
		if sums, ok = addWays(sums, ways, limit); !ok {
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
func addWays(sums, ways []vector, limit vector) ([]vector, bool) {
	if len(ways) == 0 {
		return sums, true
	}
	var next []vector
	for _, sum := range sums {
		for _, way := range ways {
			next = keepBest(next, (sum + way).upTo(limit))
			if len(next) > maxVectors {
				return nil, false
			}
		}
	}
	return next, true
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
		p := packer{drawing: m.packing.drawing(m.outlook, block), dimensions: len(demands), limit: limit, left: left, enforced: m.problem.GroupsEnforced}
		for _, set := range block.sets {
			p.groups = append(p.groups, pool.groups[set])
		}
		for d, demand := range demands {
			for i, number := range p.order {
				if demand.domain.Has(block.positions[number]) {
					p.masks[d] |= 1 << i
				}
			}
		}
		if !p.list() {
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

// drawing compiles a block's shape at the first of them.
func (p *packing) drawing(o *outlook, block *block) *drawing {
	for len(p.drawings) <= int(block.shape) {
		p.drawings = append(p.drawings, nil)
	}
	if p.drawings[block.shape] == nil {
		p.drawings[block.shape] = newDrawing(o, block)
	}
	return p.drawings[block.shape]
}
