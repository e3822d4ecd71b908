package inventory

import (
	"sync"

	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/dynamic-resource-allocation/structured/schedulerapi"

	"github.com/dray-dev/dray/allocator/internal/bitset"
	"github.com/dray-dev/dray/allocator/internal/index"
)

// Usage is what the allocated claims hold of the devices, for one allocated
// state. It is worked out for a pool when the pool is first asked about; the
// state must not change. Usage is safe for concurrent use, and is not copied
// once it is used. State or Held has to be set.
type Usage struct {
	// State is not looked at if Held is set. What is worked out for a Held is kept
	// with the pools, for all Usages in which what is held of the pool is the same.
	State schedulerapi.AllocatedState
	Held  *Held
	// ConsumableCapacity: the feature is on, so that devices which allow it are
	// shared. Of those fewer shares have to be known (PoolUsage.Shared).
	ConsumableCapacity bool

	// shared are the devices with shares that consume nothing.
	sharedOnce sync.Once
	shared     map[schedulerapi.DeviceID]struct{}

	mu sync.Mutex
	// first is the first pool that was asked about: often there is no other, and
	// then there need not be a map.
	first      *Pool
	firstUsage PoolUsage
	pools      map[*Pool]*PoolUsage
	left       map[*members]countersUsage
	// exact are the amounts of State.AggregatedCapacity that are no whole numbers.
	exact map[*resource.Quantity]exactAmount
}

type exactAmount struct {
	amount index.Exact
	err    error
}

// NewUsage wraps an allocated state, without looking at it.
func NewUsage(state schedulerapi.AllocatedState) *Usage { return &Usage{State: state} }

// PoolUsage is the usage of one pool's devices. It is shared and read-only.
type PoolUsage struct {
	// InUse: a claim has the device for itself.
	InUse bitset.Set
	// Shared: claims have shares of the device. It says nothing of a device that
	// can be shared and draws no counters, for there nothing depends on it: what
	// is left of the device says whether there is room for one more share.
	Shared bitset.Set
	// Left is what the pool's counters still hold, by counter; empty without counters.
	Left index.Amounts
	// Groups is the state of each counter set.
	Groups []index.GroupState
}

// Pool returns the usage of a pool.
func (u *Usage) Pool(p *Pool) *PoolUsage {
	if u.Held != nil {
		return u.heldOf(p)
	}
	if words := bitset.Words(p.Devices); p.members == nil && words < len(unused) && u.nothing() {
		return &unused[words]
	}
	if usage := u.known(p); usage != nil {
		return usage
	}
	worked := u.work(p)
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.first == nil {
		u.first, u.firstUsage = p, worked
	}
	if u.first == p {
		return &u.firstUsage
	}
	if u.pools == nil {
		u.pools = make(map[*Pool]*PoolUsage)
	}
	usage := new(PoolUsage)
	*usage = worked
	u.pools[p] = usage
	return usage
}

// known returns what was worked out before, or nil.
func (u *Usage) known(p *Pool) *PoolUsage {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.first == p {
		return &u.firstUsage
	}
	return u.pools[p]
}

// nothing says that no device is allocated in any way.
func (u *Usage) nothing() bool { return len(u.State.AllocatedDevices) == 0 && !u.anyShared() }

func (u *Usage) anyShared() bool {
	return len(u.State.AllocatedSharedDeviceIDs) > 0 || len(u.State.AggregatedCapacity) > 0
}

// unused has the usage of pools of which nothing is used, by the words of their
// sets. Nobody writes to it. Larger pools have their own.
var unused = func() (usages [65]PoolUsage) {
	empty := make(bitset.Set, len(usages))
	for words := range usages {
		usages[words] = PoolUsage{InUse: empty[:words:words], Shared: empty[:words:words]}
	}
	return usages
}()

// Consumed returns what the shares of a device have taken of its capacity; nil
// where nothing is recorded. The result must not be modified.
func (u *Usage) Consumed(id schedulerapi.DeviceID) schedulerapi.ConsumedCapacity {
	if u.Held != nil {
		return u.Held.pool(poolID{id.Driver, id.Pool}).use(id.Device).consumed
	}
	return u.State.AggregatedCapacity[id]
}

// NothingConsumed says that Consumed is nil for all devices.
func (u *Usage) NothingConsumed() bool {
	if u.Held != nil {
		return u.Held.consuming == 0
	}
	return len(u.State.AggregatedCapacity) == 0
}

// Exact is the function of that name for a quantity of what Consumed returns. It
// takes big numbers to read a fraction, so those are remembered.
func (u *Usage) Exact(q *resource.Quantity) (index.Exact, error) {
	if amount, whole := wholeExact(q); whole {
		return amount, nil
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	known, found := u.exact[q]
	if !found {
		known.amount, known.err = Exact(*q)
		if u.exact == nil {
			u.exact = make(map[*resource.Quantity]exactAmount)
		}
		u.exact[q] = known
	}
	return known.amount, known.err
}

func (u *Usage) work(p *Pool) PoolUsage {
	words := bitset.Words(p.Devices)
	sets := make(bitset.Set, 2*words)
	usage := PoolUsage{InUse: sets[:words:words], Shared: sets[words:]}
	if len(u.State.AllocatedDevices) > 0 {
		for device := range p.Devices {
			if u.State.AllocatedDevices.Has(p.DeviceID(device)) {
				usage.InUse.Add(device)
			}
		}
	}
	if u.anyShared() {
		u.addShared(usage.Shared, p)
	}
	if p.members != nil {
		counters := u.counters(p.members)
		usage.Left = counters.left
		usage.Groups = p.groupStates(counters.allocated)
	}
	return usage
}

// addShared adds the devices of which there are shares. To find a share of which
// nothing but its ID is recorded, the IDs of the whole cluster have to be read:
// that is not done for devices of which it does not matter.
func (u *Usage) addShared(shared bitset.Set, p *Pool) {
	for device := range p.Devices {
		if !u.pointless(p, device) && u.isShared(p.DeviceID(device)) {
			shared.Add(device)
		}
	}
}

// pointless says that it does not matter whether there are shares of the device.
func (u *Usage) pointless(p *Pool, device int) bool {
	return u.ConsumableCapacity && p.MultiAllocatable.Has(device) && !p.ConsumesCounters.Has(device)
}

// isShared says whether any share of the device is known, be it by its ID or
// only by what it consumes.
func (u *Usage) isShared(id schedulerapi.DeviceID) bool {
	if _, found := u.State.AggregatedCapacity[id]; found {
		return true
	}
	u.sharedOnce.Do(func() {
		u.shared = make(map[schedulerapi.DeviceID]struct{})
		for id := range u.State.AllocatedSharedDeviceIDs {
			device := id.GetDeviceID()
			if _, found := u.State.AggregatedCapacity[device]; !found {
				u.shared[device] = struct{}{}
			}
		}
	})
	_, found := u.shared[id]
	return found
}

type countersUsage struct {
	allocated bitset.Set
	left      index.Amounts
}

// counters adds up what the allocated members draw. A device whose allocation
// is recorded but that is no longer published draws nothing, as upstream has it.
func (u *Usage) counters(m *members) countersUsage {
	if u.Held != nil {
		return u.heldCounters(m)
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	usage, ok := u.left[m]
	if !ok {
		usage.allocated = bitset.New(m.Members)
		for _, member := range m.drawing {
			if u.State.AllocatedDevices.Has(member.id) || u.isShared(member.id) {
				usage.allocated.Add(member.number)
			}
		}
		usage.left = m.Left(usage.allocated)
		if u.left == nil {
			u.left = make(map[*members]countersUsage)
		}
		u.left[m] = usage
	}
	return usage
}

// groupStates places the allocated members on the counter sets: first those
// that the node reaches. The order only matters where members are allocated
// together that should not be; then the first one decides, as upstream has it.
func (p *Pool) groupStates(allocated bitset.Set) []index.GroupState {
	states := make([]index.GroupState, len(p.members.Sets))
	if allocated.Empty() {
		return states
	}
	others := allocated.Clone()
	for _, member := range p.MemberOf {
		if allocated.Has(member) {
			p.members.Place(states, member)
			others.Remove(member)
		}
	}
	for member := range others.All {
		p.members.Place(states, member)
	}
	return states
}
