package inventory

import (
	"fmt"
	"slices"
	"sync"

	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/dray-dev/dray/allocator/internal/bitset"
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
	mu sync.Mutex
	// list is a copy of the latest list, and at has the entry of each place in it.
	list   []*resourceapi.ResourceSlice
	at     []*entry
	known  map[*resourceapi.ResourceSlice]*entry
	met    bitset.Set // for same
	byUID  map[types.UID]*Slice
	pools  map[poolKey]*knownPool
	latest *Snapshot
}

// entry is a slice of the latest list.
//
// Invariant: outside of mark, times is the number of places in at that have the
// entry, and never 0; before and next are zero.
type entry struct {
	// api is the pointer in the list; slice.API may be an older copy.
	api   *resourceapi.ResourceSlice
	slice *Slice
	times int32
	// place is one of the places in at that have the entry, or, if it was in several,
	// had it.
	place int
	// before is what times was in the list before; next links entries of which
	// that may differ. Both are for mark.
	before int32
	next   *entry
}

// key is the pool of the slice. A copy of the same content has the same.
func (e *entry) key() poolKey {
	return poolKey{driver: e.slice.API.Spec.Driver, pool: e.slice.API.Spec.Pool.Name}
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
	inv.list, inv.at = nil, nil
	inv.known = make(map[*resourceapi.ResourceSlice]*entry)
	inv.byUID = make(map[types.UID]*Slice)
	inv.pools = make(map[poolKey]*knownPool)
	inv.latest = &Snapshot{shared: &sharedPools{}}
}

// Sync returns the snapshot of a list of slices. It costs a look at every
// pointer, one in a map for each that does not follow the one that it followed in the
// list before, and beyond that only the pools whose slices changed.
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
	if !inv.same(list) {
		if changed := inv.mark(list); len(changed) > 0 {
			inv.latest = inv.latest.with(inv.regroup(changed))
		}
	}
	done = true
	return inv.latest, nil
}

// same says whether list is the latest list in another order; false may mean that it
// was not found out. An informer lists what is in a map: from another place each time,
// but one slice mostly comes after the same other one. So each is looked for behind the
// one before it, and in the map only if it is not there.
func (inv *Inventory) same(list []*resourceapi.ResourceSlice) bool {
	if len(list) != len(inv.list) {
		return false
	}
	if words := bitset.Words(len(list)); words > cap(inv.met) {
		inv.met = bitset.New(len(list))
	} else {
		inv.met = inv.met[:words]
		clear(inv.met)
	}
	place := -1
	for _, api := range list {
		if place++; place == len(list) {
			place = 0
		}
		if inv.list[place] != api {
			e := inv.known[api]
			if e == nil || e.place >= len(list) || inv.list[e.place] != api {
				return false
			}
			place = e.place
		}
		if inv.met.Has(place) {
			return false // one that is in the list twice
		}
		inv.met.Add(place)
	}
	return true
}

// mark brings known and pools up to date and returns the pools whose slices may
// have changed.
func (inv *Inventory) mark(list []*resourceapi.ResourceSlice) map[poolKey]bool {
	end := &entry{} // So that next is nil only for what is not linked.
	touched := end
	touch := func(e *entry, more int32) {
		if e.next == nil {
			e.before, e.next = e.times, touched
			touched = e
		}
		e.times += more
	}
	// All that comes is counted before anything goes: a fresh copy takes over what
	// was compiled for the one before.
	for i, api := range list {
		replaces := i < len(inv.list)
		if replaces {
			if inv.list[i] == api {
				continue
			}
			touch(inv.at[i], -1)
		}
		e, ok := inv.known[api]
		if !ok {
			e = inv.add(api)
		}
		touch(e, +1)
		e.place = i
		if replaces {
			inv.list[i], inv.at[i] = api, e
		} else {
			inv.list, inv.at = append(inv.list, api), append(inv.at, e)
		}
	}
	for _, e := range inv.at[len(list):] {
		touch(e, -1)
	}
	inv.list, inv.at = cut(inv.list, len(list)), cut(inv.at, len(list))
	var changed map[poolKey]bool
	for e := touched; e != end; {
		if e.times != e.before {
			if changed == nil {
				changed = make(map[poolKey]bool)
			}
			changed[e.key()] = true
		}
		if e.times == 0 {
			inv.remove(e)
		}
		next := e.next
		e.before, e.next = 0, nil
		e = next
	}
	return changed
}

// cut shortens a list and lets go of the rest.
func cut[T any](list []*T, n int) []*T {
	clear(list[n:])
	return list[:n]
}

func (inv *Inventory) add(api *resourceapi.ResourceSlice) *entry {
	e := &entry{api: api}
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
	e.slice.entries++
	inv.known[api] = e
	key := e.key()
	pool := inv.pools[key]
	if pool == nil {
		pool = &knownPool{}
		inv.pools[key] = pool
	}
	pool.entries = append(pool.entries, e)
	return e
}

func (inv *Inventory) remove(e *entry) {
	delete(inv.known, e.api)
	// A fresh copy of the same content may have taken over what was compiled.
	e.slice.entries--
	if uid := e.slice.API.UID; inv.byUID[uid] == e.slice && e.slice.entries == 0 {
		delete(inv.byUID, uid)
	}
	pool := inv.pools[e.key()]
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
