package index

import "github.com/dray-dev/dray/allocator/internal/bitset"

// Domain is the numbering of all devices that a node reaches.
//
// Invariants:
//
//  1. Pool i owns the words [Offsets[i], Offsets[i+1]) of every set over the domain.
//  2. WordPool[w] is the pool that owns word w.
//  3. Positions rise in upstream's order of trying devices.
type Domain struct {
	Pools    []*Pool
	Offsets  []int
	WordPool []int
}

// NewDomain lines up the pools in the order given.
func NewDomain(pools []*Pool) Domain {
	d := Domain{Pools: pools, Offsets: make([]int, len(pools)+1)}
	for i, pool := range pools {
		d.Offsets[i+1] = d.Offsets[i] + bitset.Words(pool.Devices)
	}
	d.WordPool = make([]int, 0, d.Words())
	for i := range pools {
		for range d.Offsets[i+1] - d.Offsets[i] {
			d.WordPool = append(d.WordPool, i)
		}
	}
	return d
}

// Words is the length of a set over the domain.
func (d *Domain) Words() int { return d.Offsets[len(d.Pools)] }

// Width is the number of positions, used and unused.
func (d *Domain) Width() int { return d.Words() * bitset.WordBits }

// NewSet returns an empty set over the domain.
func (d *Domain) NewSet() bitset.Set { return make(bitset.Set, d.Words()) }

// Part returns the words of s that belong to a pool; they are shared with s.
func (d *Domain) Part(s bitset.Set, pool int) bitset.Set {
	return s[d.Offsets[pool]:d.Offsets[pool+1]]
}

// Position returns the place of a pool's device.
func (d *Domain) Position(pool, device int) int {
	return d.Offsets[pool]*bitset.WordBits + device
}

// Locate is the inverse of Position.
func (d *Domain) Locate(position int) (pool, device int) {
	pool = d.WordPool[position/bitset.WordBits]
	return pool, position - d.Offsets[pool]*bitset.WordBits
}
