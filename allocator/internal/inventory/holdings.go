package inventory

import (
	"maps"
	"slices"
	"strings"
	"sync"

	resourceapi "k8s.io/api/resource/v1"
	draapi "k8s.io/dynamic-resource-allocation/api"
	"k8s.io/dynamic-resource-allocation/structured/schedulerapi"
)

// Holdings is what allocations hold of the cluster's devices, kept up allocation
// by allocation. Its snapshots share all pools of which nothing changed between
// them, so that one costs what changed and not what there is. It is safe for
// concurrent use.
//
// It knows nothing of claims: an allocation can be held several times, by a claim
// that is in flight and allocated, say, and is held until it was released as often.
// A share is known by its ID, so held twice it takes its capacity once.
//
// Invariants, where the answer of a set of allocations is what
// ResourceClaimTracker.GatherAllocatedState says about claims that have them, each
// share counted once:
//
//  1. The pools of latest with drafts in their place are the answer for the
//     allocations that are held. What is held does not depend on the order in which
//     it came to be.
//  2. Nothing that a Held refers to is written to. A draft owns the chunks that it
//     has copied and no others.
//  3. Two heldPools with one version are one. A version is never given out twice in
//     a process.
//  4. No pool in a Held is empty, and no device in a pool is free.
type Holdings struct {
	// shares: devices can be shared (DRAConsumableCapacity). Otherwise whoever has a
	// share has the device, as upstream has it.
	shares bool

	mu     sync.Mutex
	whole  map[schedulerapi.DeviceID]int
	shared map[schedulerapi.SharedDeviceID]int
	latest *Held
	drafts map[poolID]*poolDraft
}

// poolDraft is a pool that changed since the latest snapshot.
type poolDraft struct {
	heldPool
	// own says which chunks are the draft's.
	own []bool
}

// NewHoldings returns holdings without anything. shares: DRAConsumableCapacity is on.
func NewHoldings(shares bool) *Holdings {
	return &Holdings{
		shares: shares,
		whole:  make(map[schedulerapi.DeviceID]int),
		shared: make(map[schedulerapi.SharedDeviceID]int),
		latest: &Held{},
		drafts: make(map[poolID]*poolDraft),
	}
}

// Hold adds an allocation. What it has with admin access counts for nothing.
func (h *Holdings) Hold(results []resourceapi.DeviceRequestAllocationResult) {
	h.change(results, +1)
}

// Release takes away an allocation that was held before.
func (h *Holdings) Release(results []resourceapi.DeviceRequestAllocationResult) {
	h.change(results, -1)
}

func (h *Holdings) change(results []resourceapi.DeviceRequestAllocationResult, by int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for i := range results {
		r := &results[i]
		if adminAccess(r) {
			continue
		}
		id := schedulerapi.MakeDeviceID(r.Driver, r.Pool, r.Device)
		if !h.Whole(r) {
			if share := schedulerapi.MakeSharedDeviceID(id, r.ShareID); turned(h.shared, share, by) {
				h.draft(id).changeShare(id.Device, shareUse{share.ShareID, r.ConsumedCapacity}, by > 0)
			}
			continue
		}
		if turned(h.whole, id, by) {
			h.draft(id).changeWhole(id.Device, by > 0)
		}
	}
}

func adminAccess(r *resourceapi.DeviceRequestAllocationResult) bool {
	return r.AdminAccess != nil && *r.AdminAccess
}

// Whole says whether a device is held for itself.
func (h *Holdings) Whole(r *resourceapi.DeviceRequestAllocationResult) bool {
	return !adminAccess(r) && (!h.shares || r.ShareID == nil)
}

// Holders returns how many times a device is held for itself.
func (h *Holdings) Holders(id schedulerapi.DeviceID) int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.whole[id]
}

// turned counts, and says whether that made something of nothing or nothing of
// something. What was never held cannot be released.
func turned[K comparable](counts map[K]int, key K, by int) bool {
	before := counts[key]
	switch after := before + by; {
	case after < 0:
		return false
	case after == 0:
		delete(counts, key)
		return true
	default:
		counts[key] = after
		return before == 0
	}
}

func (h *Holdings) draft(id schedulerapi.DeviceID) *poolDraft {
	key := poolID{id.Driver, id.Pool}
	d := h.drafts[key]
	if d == nil {
		d = newDraft(h.latest.pool(key))
		h.drafts[key] = d
	}
	return d
}

func newDraft(from *heldPool) *poolDraft {
	if from == nil {
		return &poolDraft{
			heldPool: heldPool{chunks: []heldDevices{make(heldDevices)}},
			own:      []bool{true},
		}
	}
	return &poolDraft{
		heldPool: heldPool{chunks: slices.Clone(from.chunks), devices: from.devices, consuming: from.consuming},
		own:      make([]bool, len(from.chunks)),
	}
}

// Held returns what is held now.
func (h *Holdings) Held() *Held {
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.drafts) == 0 {
		return h.latest
	}
	next := *h.latest
	var copied [numParts]bool
	for key, d := range h.drafts {
		i := key.part()
		if !copied[i] {
			copied[i] = true
			next.parts[i] = maps.Clone(next.parts[i])
			if next.parts[i] == nil {
				next.parts[i] = make(map[poolID]*heldPool)
			}
		}
		if before := next.parts[i][key]; before != nil {
			next.devices -= before.devices
			next.consuming -= before.consuming
		}
		if d.devices == 0 {
			delete(next.parts[i], key)
			continue
		}
		// A copy, because the draft is larger.
		pool := d.heldPool
		pool.version = serials.Add(1)
		next.parts[i][key] = &pool
		next.devices += pool.devices
		next.consuming += pool.consuming
	}
	h.latest = &next
	h.drafts = make(map[poolID]*poolDraft)
	return h.latest
}

func (d *poolDraft) changeWhole(device draapi.UniqueString, held bool) {
	use := d.use(device)
	use.whole = held
	d.put(device, use)
}

func (d *poolDraft) changeShare(device draapi.UniqueString, share shareUse, held bool) {
	use := d.use(device)
	i, _ := slices.BinarySearchFunc(use.shares, share.id, func(s shareUse, id draapi.UniqueString) int {
		return strings.Compare(s.id.String(), id.String())
	})
	// Copies: snapshots have what was there.
	if held {
		use.shares = slices.Insert(slices.Clip(use.shares), i, share)
	} else {
		share = use.shares[i]
		use.shares = slices.Delete(slices.Clone(use.shares), i, i+1)
	}
	if share.consumed != nil {
		before := use.consumed
		use.consumed = nil
		if slices.ContainsFunc(use.shares, func(s shareUse) bool { return s.consumed != nil }) {
			use.consumed = before.Clone()
			if amounts := asConsumed(share.consumed); held {
				use.consumed.Add(amounts)
			} else {
				use.consumed.Sub(amounts)
			}
		}
	}
	d.put(device, use)
}

func asConsumed(amounts consumptionOfShare) schedulerapi.ConsumedCapacity {
	consumed := make(schedulerapi.ConsumedCapacity, len(amounts))
	for name, quantity := range amounts {
		q := quantity.DeepCopy()
		consumed[name] = &q
	}
	return consumed
}

// put stores what is held of a device, or forgets the device if that is nothing.
func (d *poolDraft) put(device draapi.UniqueString, use deviceUse) {
	i := d.chunk(device)
	if !d.own[i] {
		d.own[i] = true
		d.chunks[i] = maps.Clone(d.chunks[i])
	}
	before, found := d.chunks[i][device]
	if found {
		d.devices--
	}
	if before.consumed != nil {
		d.consuming--
	}
	if use.consumed != nil {
		d.consuming++
	}
	if !use.whole && len(use.shares) == 0 {
		delete(d.chunks[i], device)
		return
	}
	d.chunks[i][device] = use
	d.devices++
	if d.devices > len(d.chunks)*chunkDevices {
		d.divide()
	}
}

// divide doubles the number of chunks.
func (d *poolDraft) divide() {
	chunks := d.chunks
	d.chunks = make([]heldDevices, 2*len(chunks))
	d.own = make([]bool, len(d.chunks))
	for i := range d.chunks {
		d.chunks[i], d.own[i] = make(heldDevices, chunkDevices), true
	}
	for _, devices := range chunks {
		for device, use := range devices {
			d.chunks[d.chunk(device)][device] = use
		}
	}
}
