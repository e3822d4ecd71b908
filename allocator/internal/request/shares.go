package request

import (
	"math"
	"slices"

	resourceapi "k8s.io/api/resource/v1"

	"github.com/dray-dev/dray/allocator/internal/index"
	"github.com/dray-dev/dray/allocator/internal/inventory"
)

// deviceShares gathers, for one device that can be shared, what it has and what
// each ask would take, until all is known and can be put in one unit.
type deviceShares struct {
	position int
	// kind has the capacity; consumed is nil where others consume nothing.
	kind     *taking
	consumed []index.Exact
	demands  []demand
}

type demand struct {
	ask    int
	taking *taking
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
	if enough, small := coversSmall(value, consumed, amounts); small {
		return enough
	}
	if consumed == nil {
		consumed = make([]index.Exact, len(value))
	}
	vectors := index.NewAmounts(value, consumed, amounts)
	for i := range value {
		vectors[0].Sub(i, vectors[1], i)
	}
	return vectors[0].Covers(vectors[2])
}

// coversSmall is covers where all is in thousandths and adds up without overflow;
// small says whether it is.
func coversSmall(value, consumed, amounts []index.Exact) (enough, small bool) {
	enough = true
	for i := range value {
		if value[i].Wide != nil || amounts[i].Wide != nil {
			return false, false
		}
		wanted := amounts[i].Milli
		if consumed != nil {
			other := consumed[i].Milli
			if consumed[i].Wide != nil || other > 0 && wanted > math.MaxInt64-other || other < 0 && wanted < math.MinInt64-other {
				return false, false
			}
			wanted += other
		}
		enough = enough && value[i].Milli >= wanted
	}
	return enough, true
}

// forgetShares empties shares for a node of that many positions. It goes through
// the shares and not through the positions: those can be thousands, and few
// claims ask for shares.
func (m *meters) forgetShares(width int) {
	for i := range m.shares {
		m.sharesOf[m.shares[i].position] = -1
	}
	m.shares, m.sharing = m.shares[:0], m.sharing[:0]
	if cap(m.sharesOf) < width {
		m.sharesOf = slices.Repeat([]int32{-1}, max(width, 2*cap(m.sharesOf)))
	}
	m.sharesOf = m.sharesOf[:width]
}

// sharesAt returns the shares of a device until the next is asked for.
func (m *meters) sharesAt(position int, kind *taking, consumed []index.Exact) *deviceShares {
	if i := m.sharesOf[position]; i >= 0 {
		return &m.shares[i]
	}
	m.shares = resized(m.shares, len(m.shares)+1) // First, so that whatever happens sharesOf is reset.
	s := &m.shares[len(m.shares)-1]
	s.position, s.kind, s.consumed, s.demands = position, kind, consumed, s.demands[:0]
	m.sharesOf[position] = int32(len(m.shares) - 1)
	return s
}

// finishShares hands the gathered amounts to the problem, those of one device
// in one unit. Alternatives that ask for the same have their demands in common.
func (b *binder) finishShares() {
	p := &b.Problem
	p.ShareOf = b.sharesOf
	n := len(b.shares)
	p.Shares = resized(p.Shares, n)
	if n == 0 {
		return
	}
	b.demands = resized(b.demands, len(b.Claims.asks)*n)
	clear(b.demands)
	for i := range b.shares {
		s := &b.shares[i]
		if !b.narrow(s) {
			b.finishWide(i)
			continue
		}
		p.Shares[i] = index.Narrowed(p.Shares[i], s.kind.value)
		for j, e := range s.consumed {
			p.Shares[i].Narrow[j] -= e.Milli
		}
		for _, d := range s.demands {
			b.demands[d.ask*n+i] = d.taking.demand
		}
	}
	for _, s := range b.sharing {
		s.alternative.Demands = b.demands[s.ask*n : (s.ask+1)*n : (s.ask+1)*n]
	}
}

// narrow says whether all vectors of a device are in thousandths (index.Amounts,
// form 1): what it has, what others consume, and a share for each alternative that
// may come to ask for one.
func (b *binder) narrow(s *deviceShares) bool {
	size, ok := index.Size(s.consumed)
	if ok = ok && s.kind.narrow; ok {
		size, ok = index.Together(size, s.kind.valueSize, 1)
	}
	for _, d := range s.demands {
		if ok = ok && d.taking.narrow; !ok {
			return false
		}
		size, ok = index.Together(size, d.taking.amountsSize, b.Claims.asks[d.ask].alternatives)
	}
	return ok
}

// finishWide is finishShares for a device with vectors that are not narrow, even
// if each of them is.
func (b *binder) finishWide(share int) {
	s := &b.shares[share]
	consumed := s.consumed
	if consumed == nil {
		consumed = make([]index.Exact, len(s.kind.value))
	}
	lists, firsts := [][]index.Exact{s.kind.value, consumed}, make([]int, len(s.demands))
	for i, d := range s.demands {
		firsts[i] = len(lists)
		for range b.Claims.asks[d.ask].alternatives {
			lists = append(lists, d.taking.amounts)
		}
	}
	vectors := index.NewAmounts(lists...)
	left := vectors[0]
	for i := range consumed {
		left.Sub(i, vectors[1], i)
	}
	b.Problem.Shares[share] = left
	for i, d := range s.demands {
		b.demands[d.ask*len(b.shares)+share] = vectors[firsts[i]]
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
