package inventory

import (
	"github.com/dray-dev/dray/allocator/internal/bitset"
)

// heldUsage is what was worked out for a pool last. It is immutable.
type heldUsage struct {
	version uint64
	// consumable is Usage.ConsumableCapacity, the one other thing that matters.
	consumable bool
	PoolUsage
}

// heldOf is Pool where Held is set. The pool remembers the latest answer: snapshots
// of what is held come one after the other, and most pools are the same in all.
func (u *Usage) heldOf(p *Pool) *PoolUsage {
	held := u.Held.pool(poolID{p.driver, p.pool})
	if words := bitset.Words(p.Devices); held == nil && p.members == nil && words < len(unused) {
		return &unused[words]
	}
	if known := p.held.Load(); known != nil && known.version == held.number() && known.consumable == u.ConsumableCapacity {
		return &known.PoolUsage
	}
	worked := &heldUsage{version: held.number(), consumable: u.ConsumableCapacity, PoolUsage: u.workHeld(p, held)}
	p.held.Store(worked)
	return &worked.PoolUsage
}

// workHeld is work where Held is set.
func (u *Usage) workHeld(p *Pool, held *heldPool) PoolUsage {
	words := bitset.Words(p.Devices)
	sets := make(bitset.Set, 2*words)
	usage := PoolUsage{InUse: sets[:words:words], Shared: sets[words:]}
	if held != nil {
		for device := range p.Devices {
			use := held.use(p.DeviceID(device).Device)
			if use.whole {
				usage.InUse.Add(device)
			}
			if len(use.shares) > 0 && !u.pointless(p, device) {
				usage.Shared.Add(device)
			}
		}
	}
	if p.members != nil {
		counters := u.counters(p.members)
		usage.Left = counters.left
		usage.Groups = p.groupStates(counters.allocated)
	}
	return usage
}

// heldCountersUsage is what was worked out for members last. It is immutable.
type heldCountersUsage struct {
	version uint64
	countersUsage
}

// heldCounters is counters where Held is set.
func (u *Usage) heldCounters(m *members) countersUsage {
	held := u.Held.pool(poolID{m.driver, m.pool})
	if known := m.held.Load(); known != nil && known.version == held.number() {
		return known.countersUsage
	}
	worked := &heldCountersUsage{version: held.number()}
	worked.allocated = bitset.New(m.Members)
	for _, member := range m.drawing {
		if use := held.use(member.id.Device); use.whole || len(use.shares) > 0 {
			worked.allocated.Add(member.number)
		}
	}
	worked.left = m.Left(worked.allocated)
	m.held.Store(worked)
	return worked.countersUsage
}
