package search

import (
	"cmp"
	"math/bits"
	"slices"

	"github.com/dray-dev/dray/allocator/internal/index"
)

// vector has a count for each demand, one byte each, of at most maxNeed. So two
// vectors add up without a carry from one byte into the next, and the highest
// bit of each byte is free to compare all bytes at once.
type vector uint64

const (
	maxNeed = 63
	high    = vector(0x8080808080808080)
)

func (v vector) at(i int) int { return int(v >> (8 * i) & 0xff) }

func unit(i int) vector { return 1 << (8 * i) }

// covers says whether v gives at least as much as w to every demand.
func (v vector) covers(w vector) bool { return ((v|high)-w)&high == high }

// upTo cuts each count down to that of limit; the counts may be sums of two.
func (v vector) upTo(limit vector) vector {
	enough := ((limit | high) - v) & high
	keep := enough - enough>>7 | enough
	return v&keep | limit&^keep
}

// without takes w away, each count down to 0.
func (v vector) without(w vector) vector { return v - w.upTo(v) }

// keepBest adds a vector to a list without those that others cover.
func keepBest(list []vector, v vector) []vector {
	for _, other := range list {
		if other.covers(v) {
			return list
		}
	}
	list = slices.DeleteFunc(list, func(other vector) bool { return v.covers(other) })
	return append(list, v)
}

// drawing is what all blocks of one shape draw, with devices, counters and sets
// numbered within the block. Devices come by volume, the smallest first, so that
// the first members of a set of them bound how many of it fit.
type drawing struct {
	compiled bool
	// order[i] is the number in block.positions of device i.
	order    []int
	devices  []drawer
	counters int

	// groups and uses are those of all devices; listed are the devices as numbered
	// in the block.
	groups []index.GroupUse
	uses   []drawn
	listed []drawer
}

// drawer is one device of a drawing.
type drawer struct {
	uses   []drawn
	groups []index.GroupUse
	// volume is the sum of what it draws.
	volume int64
	// twins are the devices with the same uses and groups, itself among them;
	// near are those that draw from one of its sets.
	twins, near uint32
}

// drawn is an amount drawn from a counter.
type drawn struct {
	counter int
	amount  int64
}

// compile makes the drawing that of a block of at most maxBlockSize devices.
func (d *drawing) compile(o *outlook, block *block) {
	d.compiled = true
	d.list(o, block)
	slices.SortStableFunc(d.order, func(i, j int) int { return cmp.Compare(d.listed[i].volume, d.listed[j].volume) })
	d.devices = d.devices[:0]
	for _, number := range d.order {
		d.devices = append(d.devices, d.listed[number])
	}
	for i := range d.devices {
		for j := range d.devices {
			if d.devices[i].equals(&d.devices[j]) {
				d.devices[i].twins |= 1 << j
			}
			if d.devices[i].meets(&d.devices[j]) {
				d.devices[i].near |= 1 << j
			}
		}
	}
}

// list reads what the block's devices draw.
func (d *drawing) list(o *outlook, block *block) {
	problem := &o.problem.Pools[block.pool]
	n, groups, uses := len(block.positions), 0, 0
	d.counters = 0
	for _, set := range block.sets {
		d.counters += problem.Counters.Sets[set].Len
	}
	for _, position := range block.positions {
		member := problem.MemberOf[position-problem.First]
		first, end := problem.Counters.UsesOf(member)
		groups, uses = groups+len(problem.Counters.GroupsOf(member)), uses+end-first
	}
	// The devices refer to parts of two lists, which are long enough from here on.
	d.groups, d.uses = resized(d.groups, groups)[:0], resized(d.uses, uses)[:0]
	d.order, d.listed = d.order[:0], cleared(d.listed, n)
	for i, position := range block.positions {
		d.order = append(d.order, i)
		device := &d.listed[i]
		member := problem.MemberOf[position-problem.First]
		start := len(d.groups)
		for _, use := range problem.Counters.GroupsOf(member) {
			d.groups = append(d.groups, index.GroupUse{Set: slices.Index(block.sets, use.Set), Groups: use.Groups})
		}
		device.groups = d.groups[start:]
		start = len(d.uses)
		first, end := problem.Counters.UsesOf(member)
		for use := first; use < end; use++ {
			amount := problem.Counters.Drawn.Narrow[use]
			d.uses = append(d.uses, drawn{o.within(block, problem.Counters.Uses[use].Counter), amount})
			device.volume += amount
		}
		device.uses = d.uses[start:]
	}
}

func (d *drawer) equals(other *drawer) bool {
	return slices.Equal(d.uses, other.uses) && slices.EqualFunc(d.groups, other.groups, func(a, b index.GroupUse) bool {
		return a.Set == b.Set && slices.Equal(a.Groups, b.Groups)
	})
}

func (d *drawer) meets(other *drawer) bool {
	return slices.ContainsFunc(d.groups, func(use index.GroupUse) bool {
		return slices.ContainsFunc(other.groups, func(o index.GroupUse) bool { return o.Set == use.Set })
	})
}

// packer lists the best ways to take devices from one block in one state: the
// vectors that no other covers of how many go to each demand. It decides about
// one device after the other, taken for a demand or left, and leaves out
// what can add no way:
//
//   - what all devices that still fit could give at most is covered already. That
//     is at most as many of each demand's devices as their volumes, the smallest
//     first, fit into what is left of all counters together: each counter holds
//     its part of the volumes, so the sum of the counters holds their sum.
//   - once a device is left, its twins are, too: devices that draw the same and
//     that the same demands want. Taking a later one in its place is taking it.
type packer struct {
	*drawing
	// masks are the devices that each demand wants.
	masks      [maxDimensions]uint32
	dimensions int
	limit      vector
	// left are the counters, groups the states of the sets if they are enforced.
	left       []int64
	groups     []index.GroupState
	enforced   bool
	groupsUndo []index.GroupState

	ways    []vector
	visited int
}

// maxVisits bounds the enumeration of one block.
const maxVisits = 1 << 14

// list fills ways; it is false if that takes too long.
func (p *packer) list() bool {
	p.ways, p.visited, p.groupsUndo = p.ways[:0], 0, p.groupsUndo[:0]
	volume, wanted := int64(0), uint32(0)
	for _, left := range p.left {
		volume += max(left, 0)
	}
	for _, mask := range p.masks[:p.dimensions] {
		wanted |= mask
	}
	return p.decide(p.fitting(wanted, wanted), volume, 0)
}

// decide goes on with the devices that are not decided about and fit as it is.
func (p *packer) decide(open uint32, volume int64, taken vector) bool {
	if p.visited++; p.visited > maxVisits {
		return false
	}
	best := p.atBest(open, volume, taken)
	for _, way := range p.ways {
		if way.covers(best) {
			return true
		}
	}
	if best == taken {
		p.ways = keepBest(p.ways, taken)
		return true
	}
	i := bits.TrailingZeros32(open)
	device := &p.devices[i]
	p.take(device)
	rest := p.fitting(open&^(1<<i), device.near)
	for d := range p.dimensions {
		if p.masks[d]>>i&1 != 0 && taken.at(d) < p.limit.at(d) && !p.decide(rest, volume-device.volume, taken+unit(d)) {
			return false
		}
	}
	p.giveBack(device)
	return p.decide(open&^p.twins(i), volume, taken)
}

// atBest bounds what each demand can have in the end, itself alone.
func (p *packer) atBest(open uint32, volume int64, taken vector) vector {
	best := taken
	for d := range p.dimensions {
		room := volume
		mask := open & p.masks[d]
		for more := p.limit.at(d) - taken.at(d); more > 0 && mask != 0; more, mask = more-1, mask&(mask-1) {
			if room -= p.devices[bits.TrailingZeros32(mask)].volume; room < 0 {
				break
			}
			best += unit(d)
		}
	}
	return best
}

// twins are the devices as good as the i-th for every demand.
func (p *packer) twins(i int) uint32 {
	twins := p.devices[i].twins
	for _, mask := range p.masks[:p.dimensions] {
		if mask>>i&1 != 0 {
			twins &= mask
		} else {
			twins &^= mask
		}
	}
	return twins
}

// fitting removes the devices, among those to check, that no longer fit.
func (p *packer) fitting(open, check uint32) uint32 {
	for m := open & check; m != 0; m &= m - 1 {
		if i := bits.TrailingZeros32(m); !p.fits(&p.devices[i]) {
			open &^= 1 << i
		}
	}
	return open
}

func (p *packer) fits(device *drawer) bool {
	for _, use := range device.uses {
		if p.left[use.counter] < use.amount {
			return false
		}
	}
	if p.enforced {
		for _, use := range device.groups {
			if !p.groups[use.Set].Admits(use.Groups) {
				return false
			}
		}
	}
	return true
}

// take takes a device that fits; giveBack reverses the last take.
func (p *packer) take(device *drawer) {
	for _, use := range device.uses {
		p.left[use.counter] -= use.amount
	}
	if p.enforced {
		for _, use := range device.groups {
			p.groupsUndo = append(p.groupsUndo, p.groups[use.Set])
			p.groups[use.Set] = p.groups[use.Set].With(use.Groups)
		}
	}
}

func (p *packer) giveBack(device *drawer) {
	for _, use := range device.uses {
		p.left[use.counter] += use.amount
	}
	if p.enforced {
		mark := len(p.groupsUndo) - len(device.groups)
		for i, use := range device.groups {
			p.groups[use.Set] = p.groupsUndo[mark+i]
		}
		p.groupsUndo = p.groupsUndo[:mark]
	}
}
