package request

import (
	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/dynamic-resource-allocation/structured/schedulerapi"

	"github.com/dray-dev/dray/allocator/internal/bitset"
	"github.com/dray-dev/dray/allocator/internal/index"
	"github.com/dray-dev/dray/allocator/internal/inventory"
	"github.com/dray-dev/dray/allocator/internal/search"
)

// meters works out what the claims' asks take of the devices' capacity. Most
// requests of a claim ask for the same, and most devices of a pool are of one
// kind, so that is done once for each ask and kind (taking), and once for each
// ask and device it is compared with what the device has (reckoning).
//
// Invariants:
//
//  1. sharesOf is the index in shares by position, -1 for none. So are all the
//     entries behind it that its memory has room for.
//  2. A reckoning's takings do not move while it has devices: shares point to them.
//  3. refused, faulty, small and full of a reckoning are subsets of known.
type meters struct {
	// reckonings are ordered by ask, then by pool; pools is the number of those.
	reckonings []reckoning
	pools      int
	shares     []deviceShares
	sharesOf   []int32
	// sharing are the alternatives that take shares.
	sharing []sharing
	// exacts are handed out as what other claims consume of one device.
	exacts []index.Exact
	// demands has an entry an ask and share, in this order.
	demands []index.Amounts
}

type sharing struct {
	alternative *search.Alternative
	ask         int
}

// reckoning is what is known of one ask and the devices of one pool.
type reckoning struct {
	// begun: the rest is not that of an earlier problem.
	begun bool
	known bitset.Set
	// refused: the ask cannot be served by the device's policy.
	refused bitset.Set
	// faulty: what a share takes or what is left cannot be computed.
	faulty bitset.Set
	// small: even the empty device has too little.
	small bitset.Set
	// full: too little is left. It is not worked out for devices that can be
	// shared; the search keeps count of those.
	full bitset.Set
	// takings has an entry a kind of device. They stay as they are from one problem
	// to the next if their source does.
	takings []taking
	source  source
}

// source is all that takings depend on: a pool, and an ask of the claims that
// Compile has made (Scratch.generation; 0 is nobody's).
type source struct {
	pool            *inventory.Pool
	ask, generation int
}

// taking is what an ask takes of one kind of device.
type taking struct {
	// worked: the rest is what work makes of it.
	worked bool
	// ok and faulty are what consume answers; faulty also where an amount has no
	// exact form. The rest is only set where ok is and faulty is not.
	ok, faulty bool
	taken      consumption
	// value and amounts are the capacity and the share, in the order of taken.names.
	value, amounts []index.Exact
	// small: amounts is more than value.
	small bool
	// narrow: both have narrow forms, of these sizes (index.Size).
	narrow                 bool
	valueSize, amountsSize int64
	demand                 index.Amounts
}

func (m *meters) resetMeters(asks, pools int) {
	m.pools, m.exacts = pools, m.exacts[:0]
	m.reckonings = resized(m.reckonings, asks*pools)
	for i := range m.reckonings {
		m.reckonings[i].begun = false
	}
}

// meter works out what a claim takes of each device's capacity. It removes from
// match what has too little even if nothing else is taken, and moves to faulty
// what cannot be computed.
func (b *binder) meter(number int, a *Alternative, bound *search.Alternative, match, faulty bitset.Set) {
	var r *reckoning
	multi, shares := b.Node.Part(b.multi, number), uint64(0)
	for w := range match {
		metered := match[w] & b.metered(number, a, w)
		if metered == 0 {
			continue
		}
		if r == nil {
			r = b.reckoning(number, a.ask)
		}
		if metered&^r.known[w] != 0 {
			b.reckon(r, number, a.ask, w, metered&^r.known[w])
		}
		gone := r.refused[w] | r.faulty[w]
		shares |= metered & multi[w] &^ gone
		faulty[w] |= metered & r.faulty[w]
		if a.All {
			// A request for all takes its devices by what they have when empty; what
			// others consume makes it fail later, in the search.
			if full := metered & r.full[w] &^ r.small[w]; full != 0 {
				if bound.Full == nil {
					bound.Full = b.newSet()
				}
				b.Node.Part(bound.Full, number)[w] |= full
			}
			gone |= r.small[w] & (multi[w] | r.full[w])
		} else {
			gone |= r.full[w]
		}
		match[w] &^= metered & gone
	}
	if shares != 0 {
		b.sharing = append(b.sharing, sharing{bound, a.ask})
	}
}

// metered returns, for one word of a pool's devices, those of which it has to be
// worked out what a share takes. Where nothing is asked for, an unshared device
// without policies gives all it has, and that always fits.
func (b *binder) metered(number int, a *Alternative, w int) uint64 {
	if requests(a.Capacity) != nil {
		return ^uint64(0)
	}
	return b.Node.Part(b.multi, number)[w] | b.usage[number].Shared[w] | b.Node.Pools[number].Metered[w]
}

// reckoning returns what is known so far of an ask and a pool's devices.
func (b *binder) reckoning(number, ask int) *reckoning {
	r := &b.reckonings[ask*b.pools+number]
	if r.begun {
		return r
	}
	r.begun = true
	pool := b.Node.Pools[number]
	words := bitset.Words(pool.Devices)
	for _, set := range [...]*bitset.Set{&r.known, &r.refused, &r.faulty, &r.small, &r.full} {
		*set = b.scratch.set(words)
	}
	if is := (source{pool, ask, b.scratch.generation(b.Claims)}); is.generation == 0 || r.source != is {
		r.takings = resized(r.takings, len(pool.Capacities().First))
		for i := range r.takings {
			r.takings[i].worked = false
		}
		r.source = is
	}
	return r
}

// reckon works an ask out for some devices of one word of a pool's.
func (b *binder) reckon(r *reckoning, number, ask, w int, devices uint64) {
	pool := b.Node.Pools[number]
	kinds := pool.Capacities()
	r.known[w] |= devices
	for device := range (bitset.Set{devices}).All {
		device += w * bitset.WordBits
		kind := kinds.Kind(device)
		t := &r.takings[kind]
		if !t.worked {
			t.work(pool.At(kinds.First[kind]), b.Claims.asks[ask].capacity, b.Claims.Features.FractionalCapacityRange)
			t.worked = true // Last, for a panic must not leave it half worked.
		}
		if !t.ok || t.faulty {
			put(r.faulty, device, t.faulty)
			put(r.refused, device, !t.ok)
			continue
		}
		consumed, err := b.consumed(pool, device, t.taken.names)
		if err != nil {
			r.faulty.Add(device)
			continue
		}
		put(r.small, device, t.small)
		if position := b.Node.Position(number, device); b.multi.Has(position) {
			s := b.sharesAt(position, t, consumed)
			s.demands = append(s.demands, demand{ask, t})
		} else {
			put(r.full, device, consumed == nil && t.small || consumed != nil && !covers(t.value, consumed, t.amounts))
		}
	}
}

func put(s bitset.Set, member int, is bool) {
	if is {
		s.Add(member)
	}
}

// work fills the taking. An error is made again by capacityError.
func (t *taking) work(device *resourceapi.Device, asked *resourceapi.CapacityRequirements, fractional bool) {
	*t = taking{taken: t.taken, value: t.value[:0], amounts: t.amounts[:0], demand: t.demand}
	ok, err := t.taken.work(device, asked, fractional)
	t.ok, t.faulty = ok, err != nil
	if !t.ok || t.faulty {
		return
	}
	for i, name := range t.taken.names {
		value, err := inventory.Exact(device.Capacity[name].Value)
		if err != nil {
			t.faulty = true
			return
		}
		amount, err := inventory.Exact(t.taken.quantities[i])
		if err != nil {
			t.faulty = true
			return
		}
		t.value, t.amounts = append(t.value, value), append(t.amounts, amount)
	}
	t.small = !covers(t.value, nil, t.amounts)
	var narrowValue, narrowAmounts bool
	t.valueSize, narrowValue = index.Size(t.value)
	t.amountsSize, narrowAmounts = index.Size(t.amounts)
	if t.narrow = narrowValue && narrowAmounts; t.narrow {
		t.demand = index.Narrowed(t.demand, t.amounts)
	}
}

// consumed returns what other claims consume of a device, in the order of names;
// nil where that is nothing.
func (b *binder) consumed(pool *inventory.Pool, device int, names []resourceapi.QualifiedName) ([]index.Exact, error) {
	others := b.othersOn(pool, device)
	if len(others) == 0 {
		return nil, nil
	}
	first := len(b.exacts)
	b.exacts = resized(b.exacts, first+len(names))
	consumed := b.exacts[first:]
	clear(consumed)
	for i, name := range names {
		if quantity := others[name]; quantity != nil {
			amount, err := b.Usage.Exact(quantity)
			if err != nil {
				return nil, err
			}
			consumed[i] = amount
		}
	}
	return consumed, nil
}

// othersOn returns what other claims consume of a device, nil where nothing is
// recorded.
func (b *Bound) othersOn(pool *inventory.Pool, device int) schedulerapi.ConsumedCapacity {
	if b.Usage.NothingConsumed() {
		return nil
	}
	return b.Usage.Consumed(pool.DeviceID(device))
}
