package inventory

import (
	"fmt"
	"slices"
	"sync"

	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Inventory turns slice lists into snapshots and keeps what the next list can
// reuse. It is safe for concurrent use. Callers with different lists may share
// one: each gets the snapshot of its own list, and what the lists have in
// common is compiled once as long as they take turns rarely.
//
// A slice is recognised by the pointer. A new pointer to known content (equal
// UID, resourceVersion and taints) reuses what was compiled, because the taint
// tracker hands out fresh copies after every status write of a taint rule. The
// objects must not change while the inventory knows them; informer caches
// promise that.
//
// The order of a list means nothing: upstream's tracker lists in random order,
// so everything is sorted by name here.
type Inventory struct {
	mu     sync.Mutex
	epoch  uint64
	known  map[*resourceapi.ResourceSlice]*entry
	byUID  map[types.UID]*Slice
	pools  map[poolKey]*knownPool
	latest *Snapshot
}

// entry is a slice of the latest list.
type entry struct {
	slice *Slice
	key   poolKey
	// epoch of the last list that held the pointer, and how often it did.
	epoch uint64
	times int
}

// knownPool is a pool of the latest list.
type knownPool struct {
	entries []*entry
	group   *group
}

// New returns an inventory that knows nothing yet.
func New() *Inventory {
	inv := &Inventory{}
	inv.forget()
	return inv
}

// forget empties the inventory.
func (inv *Inventory) forget() {
	inv.known = make(map[*resourceapi.ResourceSlice]*entry)
	inv.byUID = make(map[types.UID]*Slice)
	inv.pools = make(map[poolKey]*knownPool)
	inv.latest = &Snapshot{shared: &sharedPools{}}
}

// Sync returns the snapshot of a list of slices. It costs a look at every
// pointer, and beyond that only the pools whose slices changed.
func (inv *Inventory) Sync(list []*resourceapi.ResourceSlice) (*Snapshot, error) {
	if i := slices.Index(list, nil); i >= 0 {
		return nil, fmt.Errorf("resource slice %d of %d is nil", i+1, len(list))
	}
	inv.mu.Lock()
	defer inv.mu.Unlock()
	done := false
	defer func() {
		if !done { // A panic left things half done: begin from nothing.
			inv.forget()
		}
	}()
	changed := inv.mark(list)
	if len(changed) > 0 {
		inv.latest = inv.latest.with(inv.regroup(changed))
	}
	done = true
	return inv.latest, nil
}

// mark brings known and pools up to date and returns the pools whose slices may
// have changed.
func (inv *Inventory) mark(list []*resourceapi.ResourceSlice) map[poolKey]bool {
	inv.epoch++
	changed := make(map[poolKey]bool)
	seen := 0
	repeated := make(map[*entry]int)
	for _, api := range list {
		e, ok := inv.known[api]
		if !ok {
			e = inv.add(api)
			changed[e.key] = true
		}
		if e.epoch == inv.epoch {
			repeated[e]++
			continue
		}
		seen++
		e.epoch, e.slice.epoch = inv.epoch, inv.epoch
		if e.times != 1 {
			changed[e.key] = true
			e.times = 1
		}
	}
	for e, more := range repeated {
		e.times += more
		changed[e.key] = true
	}
	if seen < len(inv.known) {
		for api, e := range inv.known {
			if e.epoch != inv.epoch {
				changed[e.key] = true
				inv.remove(api, e)
			}
		}
	}
	return changed
}

func (inv *Inventory) add(api *resourceapi.ResourceSlice) *entry {
	e := &entry{key: poolKey{driver: api.Spec.Driver, pool: api.Spec.Pool.Name}, times: 1}
	identified := api.UID != "" && api.ResourceVersion != ""
	var before *Slice
	if identified {
		before = inv.byUID[api.UID]
	}
	if before != nil && before.sameContent(api) {
		e.slice = before
	} else {
		e.slice = compile(api, before)
		if identified {
			inv.byUID[api.UID] = e.slice
		}
	}
	inv.known[api] = e
	pool := inv.pools[e.key]
	if pool == nil {
		pool = &knownPool{}
		inv.pools[e.key] = pool
	}
	pool.entries = append(pool.entries, e)
	return e
}

func (inv *Inventory) remove(api *resourceapi.ResourceSlice, e *entry) {
	delete(inv.known, api)
	// A fresh copy of the same content may have taken over what was compiled.
	if inv.byUID[api.UID] == e.slice && e.slice.epoch != inv.epoch {
		delete(inv.byUID, api.UID)
	}
	pool := inv.pools[e.key]
	pool.entries = slices.DeleteFunc(pool.entries, func(other *entry) bool { return other == e })
}

// replacement is a pool's group before and after a change; nil where the pool
// is not there.
type replacement struct{ before, after *group }

// regroup makes the groups of pools that may have changed.
func (inv *Inventory) regroup(changed map[poolKey]bool) []replacement {
	var replaced []replacement
	for key := range changed {
		pool := inv.pools[key]
		r := replacement{before: pool.group}
		if len(pool.entries) == 0 {
			delete(inv.pools, key)
		} else {
			var members []*Slice
			for _, e := range pool.entries {
				for range e.times {
					members = append(members, e.slice)
				}
			}
			r.after = newGroup(key, members)
			if r.before != nil && slices.Equal(r.before.slices, r.after.slices) && slices.Equal(r.before.obsolete, r.after.obsolete) {
				continue
			}
			pool.group = r.after
		}
		replaced = append(replaced, r)
	}
	return replaced
}
