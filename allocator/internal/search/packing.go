package search

import (
	"encoding/binary"
	"math"
	"slices"

	"github.com/dray-dev/dray/allocator/internal/bitset"
)

// packing decides whether counter sets can give all that is demanded of them
// together, where several demands compete for partitions of the same devices.
//
// For each block it lists the ways to take devices from it, as a vector that
// says how many go to each demand; of two ways of which one gives at least as
// much to every demand only the better is kept (see packer). A solution takes
// one way from each block, so the demands can be met only if one vector a block
// can be chosen such that their sum reaches what is demanded (see packingTable).
//
// Constraints are left out, and demands with other devices to take: it errs on
// the side of hope. Where there is nothing but counters and groups it is exact,
// and the search does not turn back further than one device.
//
// From one look to the next the state of one or two blocks changes, so what is
// known is kept for the blocks that have not changed, and for the sums of them.
type packing struct {
	// begun: partitions are those of the problem.
	begun bool
	// partitions are the devices that draw from counters and cannot be shared.
	partitions bitset.Set
	// drawings are the shapes of blocks, compiled when first met.
	drawings []drawing
	tables   []packingTable
	packer   packer
	key      []byte
	chosen   []*demand
	lists    []int32
}

// The bounds of what is computed; beyond them the answer is yes.
const (
	maxDimensions = 8
	maxBlockSize  = 32
	// maxSums bounds the sums that one look compares.
	maxSums = 1 << 14
)

// maxTables bounds the tables that are kept; beyond it they are made again.
const maxTables = 16

// begin forgets another problem.
func (p *packing) begin() {
	p.begun, p.drawings, p.tables = false, p.drawings[:0], p.tables[:0]
}

// keptTables is how many tables leave their memory to the next search.
const keptTables = 4

// end forgets the problem, and what a giant one needed.
func (p *packing) end() {
	for i := range p.tables {
		if i >= keptTables {
			p.tables[i] = packingTable{}
			continue
		}
		t := &p.tables[i]
		for _, d := range [...]*dictionary{&t.byState, &t.byWays, &t.known} {
			d.begin()
		}
	}
	p.begin()
}

// resume goes on with another state of the same problem, whose versions count
// other changes: the lists of the blocks are looked up again.
func (p *packing) resume() {
	for i := range p.tables {
		for j := range p.tables[i].blocks {
			clear(p.tables[i].blocks[j].wanted)
		}
	}
}

// packs says whether the counter sets can give what the demands of the last look
// need of them. If not, the demands' components are to blame. Yes is proven if a
// way was found to give all demands what they need, with nothing left out but
// admin access, which takes nothing.
func (m *memory) packs() (packs, proven bool) {
	if !m.packing.begun {
		m.packing.begun = true
		m.packing.partitions = m.partitions(m.packing.partitions)
	}
	demands, all := m.packing.chosen[:0], true
	var limit vector
	for i := range m.demands {
		d := &m.demands[i]
		switch {
		case d.need == 0 || d.alternative.Admin:
		case !within(d.domain, m.packing.partitions):
			all = false
		case len(demands) == maxDimensions || d.need > maxNeed:
			return true, false
		default:
			limit |= vector(d.need) << (8 * len(demands))
			demands = append(demands, d)
		}
	}
	m.packing.chosen = demands
	if len(demands) == 0 {
		return true, false
	}
	table := m.table(limit)
	lists := m.packing.lists[:0]
	blocks := m.divided()
	for i := range blocks.list {
		list, ok := m.waysOf(table, int32(i))
		if !ok {
			return true, false
		}
		if list != nothing {
			lists = append(lists, list)
		}
	}
	m.packing.lists = lists
	if table.reaches(lists, limit) {
		return true, all && table.asked <= maxSums
	}
	m.outlook.blame = 0
	for _, d := range demands {
		m.outlook.blame |= d.rest.component.blame()
	}
	return false, false
}

// partitions returns, in the memory of set, the devices that packing counts. Wide
// amounts are left out.
func (o *outlook) partitions(set bitset.Set) bitset.Set {
	set = cleared(set, len(o.problem.InUse))
	for i := range o.problem.Pools {
		pool := &o.problem.Pools[i]
		if pool.Counters == nil || pool.Left.Wide != nil {
			continue
		}
		for device, member := range pool.MemberOf {
			if position := pool.First + device; o.problem.ShareOf[position] < 0 && len(pool.Counters.GroupsOf(member)) > 0 {
				set.Add(position)
			}
		}
	}
	return set
}

// blockWays is the list of ways of a block, in the state in which it was last
// looked at.
type blockWays struct {
	list int32
	// version is the sum of those of the block's sets: each only grows, so the
	// sum is the same only if all are.
	version uint64
	// wanted are the block's words of each demand's domain. Nothing is wanted at
	// first, so list is not asked for before it is set.
	wanted []uint64
}

// nothing is the list of a block of which no demand wants anything; endless is
// that of one with more ways than can be listed.
const (
	nothing int32 = -1
	endless int32 = -2
)

// waysOf returns the number of the list of the ways to take devices of a block;
// it is false where they cannot be listed.
func (m *memory) waysOf(t *packingTable, number int32) (int32, bool) {
	block := &m.blocks.list[number]
	if len(block.sets) == 0 {
		return nothing, true
	}
	state := t.block(m.blocks.list, int(number))
	changed, wanted := m.want(block, state)
	if !wanted {
		return nothing, true
	}
	if len(block.positions) > maxBlockSize {
		return nothing, false
	}
	version := uint64(0)
	pool, _, _ := m.open(block.positions[0])
	for _, set := range block.sets {
		version += pool.versions[set]
	}
	if changed || state.version != version {
		state.version, state.list = version, m.list(t, block)
	}
	return state.list, state.list != endless
}

// block returns what is known of a block.
func (t *packingTable) block(list []block, number int) *blockWays {
	for i := len(t.blocks); i <= number; i++ {
		t.blocks = resized(t.blocks, i+1)
		b := &t.blocks[i]
		b.list, b.version, b.wanted = 0, 0, cleared(b.wanted, len(t.demands)*len(list[i].words))
	}
	return &t.blocks[number]
}

// want notes what the demands want of a block, and says whether that is
// something else than before, and whether it is anything.
func (m *memory) want(block *block, state *blockWays) (changed, wanted bool) {
	i := 0
	for _, d := range m.packing.chosen {
		for _, part := range block.words {
			w := d.domain[part.word] & part.mask
			changed = changed || w != state.wanted[i]
			wanted = wanted || w != 0
			state.wanted[i] = w
			i++
		}
	}
	return changed, wanted
}

// list returns the number of a block's list of ways in its present state.
func (m *memory) list(t *packingTable, block *block) int32 {
	drawing := m.packing.drawing(m.outlook, block)
	p := &m.packing.packer
	p.drawing, p.dimensions, p.limit = drawing, len(m.packing.chosen), t.caps
	p.enforced = m.problem.GroupsEnforced
	key := binary.AppendVarint(m.packing.key[:0], int64(block.shape))
	for d, demand := range m.packing.chosen {
		p.masks[d] = 0
		for i, number := range drawing.order {
			if demand.domain.Has(block.positions[number]) {
				p.masks[d] |= 1 << i
			}
		}
		key = binary.LittleEndian.AppendUint32(key, p.masks[d])
	}
	pool := &m.pools[block.pool]
	p.left, p.groups = p.left[:0], p.groups[:0]
	for _, number := range block.sets {
		set := &m.problem.Pools[block.pool].Counters.Sets[number]
		p.left = append(p.left, pool.left.Narrow[set.First:set.First+set.Len]...)
		if p.enforced {
			p.groups = append(p.groups, pool.groups[number])
			key = pool.groups[number].AppendKey(key)
		}
	}
	for _, amount := range p.left {
		key = binary.AppendVarint(key, amount)
	}
	m.packing.key = key
	if number, known := t.byState.find(key); known {
		return t.listOf[number]
	}
	list := endless
	if p.list() {
		list = t.number(p.ways)
	}
	t.byState.add(key)
	t.listOf = append(t.listOf, list)
	return list
}

// drawing compiles a block's shape at the first of them.
func (p *packing) drawing(o *outlook, block *block) *drawing {
	for i := len(p.drawings); i <= int(block.shape); i++ {
		p.drawings = resized(p.drawings, i+1)
		p.drawings[i].compiled = false
	}
	d := &p.drawings[block.shape]
	if !d.compiled {
		d.compile(o, block)
	}
	return d
}

// table returns what is known of sums for the demands. More is needed than the
// last time where the search went back: then the table begins anew, for the most
// that each demand ever needed.
func (m *memory) table(limit vector) *packingTable {
	p := &m.packing
	for i := range p.tables {
		t := &p.tables[i]
		if !slices.EqualFunc(t.demands, p.chosen, func(id demandID, d *demand) bool { return id == d.id() }) {
			continue
		}
		if !t.caps.covers(limit) || t.byState.len() > maxLists {
			t.begin(t.caps + limit.without(t.caps))
		}
		return t
	}
	if len(p.tables) == maxTables {
		p.tables = p.tables[:0]
	}
	p.tables = resized(p.tables, len(p.tables)+1)
	t := &p.tables[len(p.tables)-1]
	t.demands, t.weights = t.demands[:0], [maxDimensions]int64{}
	for i, d := range p.chosen {
		t.demands = append(t.demands, d.id())
		t.weights[i] = m.weight(d.domain)
	}
	t.begin(limit)
	return t
}

// demandID is a request and the alternative that is meant.
type demandID struct {
	rest        *rest
	alternative int
}

func (d *demand) id() demandID { return demandID{d.rest, d.number} }

// weight is what the smallest device of a set draws from all counters together.
func (m *memory) weight(devices bitset.Set) int64 {
	least := int64(math.MaxInt64)
	for position := range devices.All {
		pool := &m.problem.Pools[m.problem.WordPool[position/bitset.WordBits]]
		volume := int64(0)
		first, end := pool.Counters.UsesOf(pool.MemberOf[position-pool.First])
		for use := first; use < end; use++ {
			volume += pool.Counters.Drawn.Narrow[use]
		}
		least = min(least, volume)
	}
	return least
}

// within says whether all members of s are in t.
func within(s, t bitset.Set) bool {
	for i, w := range s {
		if w&^t[i] != 0 {
			return false
		}
	}
	return true
}
