package request

import (
	"slices"

	resourceapi "k8s.io/api/resource/v1"

	"github.com/dray-dev/dray/allocator/internal/bitset"
	"github.com/dray-dev/dray/allocator/internal/index"
	"github.com/dray-dev/dray/allocator/internal/inventory"
	"github.com/dray-dev/dray/allocator/internal/search"
)

// deviceShares gathers, for one device that can be shared, what it has and what
// each alternative would take, until all is known and can be put in one unit.
type deviceShares struct {
	position        int
	value, consumed []index.Exact
	demands         []demand
}

type demand struct {
	alternative *search.Alternative
	amounts     []index.Exact
}

// meter works out what a claim takes of each device's capacity. It removes from
// match what has too little even if nothing else is taken, and moves to faulty
// what cannot be computed.
func (b *binder) meter(number int, a *Alternative, bound *search.Alternative, match, faulty bitset.Set) {
	for w := range match {
		for device := range (bitset.Set{match[w] & b.metered(number, a, w)}).All {
			device += w * bitset.WordBits
			fits, err := b.meterDevice(number, device, a, bound)
			switch {
			case err != nil:
				faulty.Add(device)
				match.Remove(device)
			case !fits:
				match.Remove(device)
			}
		}
	}
}

// metered returns, for one word of a pool's devices, those of which it has to be
// worked out what a share takes. Where nothing is asked for, an unshared device
// without policies gives all it has, and that always fits.
func (b *binder) metered(number int, a *Alternative, w int) uint64 {
	if a.Capacity != nil && a.Capacity.Requests != nil {
		return ^uint64(0)
	}
	return b.Node.Part(b.multi, number)[w] | b.usage[number].Shared[w] | b.Node.Pools[number].Metered[w]
}

// meterDevice says whether the device has the capacity, and notes the demand
// where the search has to keep count. An error is made again by capacityError.
func (b *binder) meterDevice(number, device int, a *Alternative, bound *search.Alternative) (fits bool, err error) {
	pool := b.Node.Pools[number]
	api := pool.At(device)
	taken, ok, err := consume(api, a.Capacity, b.Claims.Features.FractionalCapacityRange)
	if err != nil || !ok {
		return false, err
	}
	position := b.Node.Position(number, device)
	value, consumed, amounts, err := b.exact(pool, device, taken)
	if err != nil {
		return false, err
	}
	if b.multi.Has(position) {
		// A request for all takes its devices by what they have when empty; what
		// others consume makes it fail later, in the search.
		b.sharesAt(position, value, consumed).add(bound, amounts)
		return !a.All || covers(value, nil, amounts), nil
	}
	if a.All && covers(value, nil, amounts) {
		if !covers(value, consumed, amounts) {
			if bound.Full == nil {
				bound.Full = b.newSet()
			}
			bound.Full.Add(position)
		}
		return true, nil
	}
	return covers(value, consumed, amounts), nil
}

// exact returns capacity, consumption by other claims and the new share of a
// device, by capacity in the order of names.
func (b *Bound) exact(pool *inventory.Pool, device int, taken consumption) (value, consumed, amounts []index.Exact, err error) {
	capacity := pool.At(device).Capacity
	others := b.Usage.Consumed(pool.DeviceID(device))
	for i, name := range taken.names {
		v, err := inventory.Exact(capacity[name].Value)
		if err != nil {
			return nil, nil, nil, capacityErrorf(name, err)
		}
		a, err := inventory.Exact(taken.quantities[i])
		if err != nil {
			return nil, nil, nil, capacityErrorf(name, err)
		}
		c := index.Exact{}
		if quantity := others[name]; quantity != nil {
			if c, err = inventory.Exact(*quantity); err != nil {
				return nil, nil, nil, capacityErrorf(name, err)
			}
		}
		value, amounts, consumed = append(value, v), append(amounts, a), append(consumed, c)
	}
	return value, consumed, amounts, nil
}

// covers says whether value is at least consumed plus amounts; consumed may be nil.
func covers(value, consumed, amounts []index.Exact) bool {
	if consumed == nil {
		consumed = make([]index.Exact, len(value))
	}
	vectors := index.NewAmounts(value, consumed, amounts)
	for i := range value {
		vectors[0].Sub(i, vectors[1], i)
	}
	return vectors[0].Covers(vectors[2])
}

// forgetShares empties shares for a node of that many positions. It goes through
// the shares and not through the positions: those can be thousands, and few
// claims ask for shares.
func (b *binder) forgetShares(width int) {
	for _, s := range b.shares {
		b.sharesOf[s.position] = -1
	}
	b.shares = b.shares[:0]
	if cap(b.sharesOf) < width {
		b.sharesOf = slices.Repeat([]int32{-1}, max(width, 2*cap(b.sharesOf)))
	}
	b.sharesOf = b.sharesOf[:width]
}

func (b *binder) sharesAt(position int, value, consumed []index.Exact) *deviceShares {
	if i := b.sharesOf[position]; i >= 0 {
		return b.shares[i]
	}
	s := &deviceShares{position: position, value: value, consumed: consumed}
	b.shares = append(b.shares, s) // First, so that whatever happens sharesOf is reset.
	b.sharesOf[position] = int32(len(b.shares) - 1)
	return s
}

func (s *deviceShares) add(alternative *search.Alternative, amounts []index.Exact) {
	s.demands = append(s.demands, demand{alternative, amounts})
}

// finishShares hands the gathered amounts to the problem, those of one device
// in one unit.
func (b *binder) finishShares() {
	p := &b.Problem
	p.ShareOf = b.sharesOf
	p.Shares = resized(p.Shares, len(b.shares))
	for i, s := range b.shares {
		lists := [][]index.Exact{s.value, s.consumed}
		for _, d := range s.demands {
			lists = append(lists, d.amounts)
		}
		vectors := index.NewAmounts(lists...)
		p.Shares[i] = vectors[0]
		for j := range s.value {
			p.Shares[i].Sub(j, vectors[1], j)
		}
		for j, d := range s.demands {
			if d.alternative.Demands == nil {
				d.alternative.Demands = make([]index.Amounts, len(b.shares))
			}
			d.alternative.Demands[i] = vectors[2+j]
		}
	}
}

// Consumed returns what a share of a device takes of its capacity, as it is
// written into the allocation result; nil where it takes nothing.
func (b *Bound) Consumed(a *Alternative, device *resourceapi.Device) consumptionMap {
	taken, ok, err := consume(device, a.Capacity, b.Claims.Features.FractionalCapacityRange)
	if err != nil || !ok || len(taken.names) == 0 {
		return nil
	}
	m := make(consumptionMap, len(taken.names))
	for i, name := range taken.names {
		m[name] = taken.quantities[i].DeepCopy() // A request's own quantity may be in it.
	}
	return m
}
