package search

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/dray-dev/dray/allocator/internal/bitset"
	"github.com/dray-dev/dray/allocator/internal/index"
)

// Vectors are compared and added all counts at once; the counts one by one say
// what that should come to.
func TestVectorsAreCountsOneByOne(t *testing.T) {
	const seed = 20261203
	random := rand.New(rand.NewPCG(seed, 0))
	for range 100000 {
		var v, w, limit vector
		var a, b, c [maxDimensions]int
		for i := range maxDimensions {
			// Small numbers are equal more often.
			most := []int{2, maxNeed + 1}[random.IntN(2)]
			a[i], b[i], c[i] = random.IntN(most), random.IntN(most), random.IntN(most)
			v, w, limit = v+vector(a[i])<<(8*i), w+vector(b[i])<<(8*i), limit+vector(c[i])<<(8*i)
		}
		covers, sum, rest := true, (v + w).upTo(limit), v.without(w)
		for i := range maxDimensions {
			covers = covers && a[i] >= b[i]
			if got, want := sum.at(i), min(a[i]+b[i], c[i]); got != want {
				t.Fatalf("seed %d: %d and %d up to %d is %d", seed, a[i], b[i], c[i], got)
			}
			if got, want := rest.at(i), max(a[i]-b[i], 0); got != want {
				t.Fatalf("seed %d: %d without %d is %d", seed, a[i], b[i], got)
			}
		}
		if v.covers(w) != covers {
			t.Fatalf("seed %d: %x covers %x: %v", seed, v, w, !covers)
		}
	}
}

// TestWaysAreTheBestOfAllSubsets compares packer with every subset of the devices,
// given to the demands in every way.
func TestWaysAreTheBestOfAllSubsets(t *testing.T) {
	const seed = 20261204
	twins, several := 0, 0
	for i := range 3000 {
		p := randomPacker(rand.New(rand.NewPCG(seed, uint64(i))))
		want := waysByForce(p)
		if !p.list() {
			t.Fatalf("seed %d, case %d: %d devices are too many", seed, i, len(p.devices))
		}
		slices.Sort(p.ways)
		if !slices.Equal(p.ways, want) {
			t.Fatalf("seed %d, case %d: the ways are %x, want %x", seed, i, p.ways, want)
		}
		if len(want) > 1 {
			several++
		}
		for i := range p.devices {
			if p.twins(i) != 1<<i {
				twins++
				break
			}
		}
	}
	if twins < 500 || several < 1000 {
		t.Errorf("%d blocks with twins, %d with several ways: too few to prove anything", twins, several)
	}
}

// randomPacker is a block of one or two sets with few kinds of devices.
func randomPacker(random *rand.Rand) *packer {
	sets, devices := 1+random.IntN(2), 1+random.IntN(7)
	counters := &index.Counters{Sets: []index.CounterSet{{First: 0, Len: 2}, {First: 2, Len: 1}}[:sets], GroupStarts: []int{0}, Starts: []int{0}}
	block := &block{}
	for set := range sets {
		block.sets = append(block.sets, set)
	}
	pool := Pool{Counters: counters}
	for device := range devices {
		for set := range sets {
			if random.IntN(3) == 0 && set > 0 {
				continue
			}
			groups := []uint32{uint32(random.IntN(2)), 2}[1-random.IntN(3)/2:]
			counters.GroupUses = append(counters.GroupUses, index.GroupUse{Set: set, Groups: groups})
			for counter := range counters.Sets[set].Len {
				counters.Uses = append(counters.Uses, index.Use{Counter: counters.Sets[set].First + counter})
				counters.Drawn.Narrow = append(counters.Drawn.Narrow, int64(random.IntN(4)/2))
			}
		}
		counters.GroupStarts = append(counters.GroupStarts, len(counters.GroupUses))
		counters.Starts = append(counters.Starts, len(counters.Uses))
		pool.MemberOf = append(pool.MemberOf, device)
		block.positions = append(block.positions, device)
	}
	o := &outlook{state: &state{problem: &Problem{Pools: []Pool{pool}, InUse: bitset.New(devices)}}}
	p := &packer{drawing: drawingOf(o, block), dimensions: 1 + random.IntN(3), enforced: random.IntN(2) == 0, groups: make([]index.GroupState, sets)}
	for range p.counters {
		p.left = append(p.left, int64(random.IntN(6)-random.IntN(6)/5))
	}
	for d := range p.dimensions {
		p.limit |= vector(1+random.IntN(4)) << (8 * d)
		p.masks[d] = uint32(random.IntN(1 << devices))
		if random.IntN(2) == 0 {
			p.masks[d] = 1<<devices - 1
		}
	}
	return p
}

func waysByForce(p *packer) []vector {
	var ways []vector
	var give func(i int, left []int64, groups []index.GroupState, taken vector)
	give = func(i int, left []int64, groups []index.GroupState, taken vector) {
		if i == len(p.devices) {
			ways = append(ways, taken)
			return
		}
		give(i+1, left, groups, taken)
		left, groups = slices.Clone(left), slices.Clone(groups)
		for _, use := range p.devices[i].uses {
			if left[use.counter] -= use.amount; left[use.counter] < 0 {
				return
			}
		}
		for _, use := range p.devices[i].groups {
			if p.enforced && !groups[use.Set].Admits(use.Groups) {
				return
			}
			groups[use.Set] = groups[use.Set].With(use.Groups)
		}
		for d := range p.dimensions {
			if p.masks[d]>>i&1 != 0 && taken.at(d) < p.limit.at(d) {
				give(i+1, left, groups, taken+unit(d))
			}
		}
	}
	give(0, p.left, p.groups, 0)
	slices.Sort(ways)
	ways = slices.Compact(ways)
	return slices.DeleteFunc(slices.Clone(ways), func(v vector) bool {
		return slices.ContainsFunc(ways, func(w vector) bool { return w != v && w.covers(v) })
	})
}

// A block with too many ways is left to the search.
func TestTooManyWaysAreNotListed(t *testing.T) {
	const counters = 2 * maxBlockSize
	random := rand.New(rand.NewPCG(20261205, 0))
	p := &packer{drawing: &drawing{}, dimensions: maxDimensions, limit: 0x0404040404040404}
	for i := range maxBlockSize {
		device := drawer{twins: 1 << i, near: 1<<maxBlockSize - 1, volume: 3}
		for _, counter := range random.Perm(counters)[:device.volume] {
			device.uses = append(device.uses, drawn{counter, 1})
		}
		p.devices = append(p.devices, device)
		p.masks[i%maxDimensions] |= 1 << i
		p.masks[random.IntN(maxDimensions)] |= 1 << i
	}
	p.left = slices.Repeat([]int64{1}, counters)
	if p.list() {
		t.Errorf("all ways were listed in %d visits", p.visited)
	}
}

func drawingOf(o *outlook, block *block) *drawing {
	d := &drawing{}
	d.compile(o, block)
	return d
}
