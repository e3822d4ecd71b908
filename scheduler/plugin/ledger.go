package plugin

import (
	"strconv"
	"sync"
	"time"

	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"
	"k8s.io/dynamic-resource-allocation/structured/schedulerapi"

	"github.com/dray-dev/dray/allocator"
)

// ledger knows what allocated claims hold without asking the manager of claims for
// all of it: it hears of each change. It hears of claims in the API from the informer
// that the manager hears them from, and of what is assumed or in flight because all
// plugins of the process write to the manager through it (ledgerTracker).
//
// An informer tells its handlers one by one and later than it changes its store, so
// the ledger can be behind the manager, which would make a pod wait for an event that
// has been. Hence it answers only when it is current: when its view is the store's
// content. Then it can only be ahead of the manager. The proof takes two looks at the
// store:
//
//   - The store's version is the ledger's. Watch events come in the order of their
//     versions, and the store's version changes together with its content, so after a
//     watch nothing is missing then.
//   - The claim that was quiet for the longest time (oldest) is still the same object
//     in the store. After a list the store has new objects throughout, and the handlers
//     are told of those whose version changed, in the order of the list: the one that
//     carries the list's own version may come first. A claim that the ledger has not
//     been told about since it was last current cannot be the store's object then.
//
// Where the proof fails the ledger waits a moment for its handler, then reads all
// claims of the store (10 ms for 100,000), which bookmarks and lists make necessary
// some time each minute. If it cannot read them in a quiet moment either, the manager
// is asked.
//
// Invariants, under mu:
//
//  1. Unless it is lost, the view (claims) is what the store had at version, as soon
//     as the handler has been told all of that. Events of versions up to read are known
//     and change nothing.
//  2. assumed has what the manager accepted as assumed, each with a version above
//     version. Those take the place of the view's claims of the same name. Whatever
//     is not above version has been seen, be it as a claim or as one that is gone.
//  3. flights has what the manager has in flight: each signal and removal goes through
//     the ledger, which holds mu meanwhile.
//  4. holdings has once what each claim of the view or in its place has, and once what
//     each flight has. Of a change, what comes is held before what goes is released,
//     so that a device which stays never looks free.
//  5. What is assumed has been in flight until the manager and then the ledger took it
//     as assumed (package invariant 1). So a claim on its way from one to the other is
//     in the holdings all the time.
type ledger struct {
	store    claimStore
	counts   *asked
	patience time.Duration // how long to wait for the handler

	mu       sync.Mutex
	holdings *allocator.Holdings
	claims   map[string]*viewedClaim // by namespace/name
	assumed  map[string]assumedClaim
	flights  map[types.UID][]resourceapi.DeviceRequestAllocationResult
	// inFlight counts the flights that have a device for themselves, and twice has
	// the devices that several claims have for themselves.
	// sharers counts the claims that have a share of a device where shares count for
	// all of it, because DRAConsumableCapacity is off.
	inFlight map[schedulerapi.DeviceID]int
	sharers  map[schedulerapi.DeviceID]int
	twice    map[schedulerapi.DeviceID]struct{}

	lost          bool // the view is not known to be of any version
	version, read int64
	// oldest and newest are the ends of the claims in the order in which they were
	// touched; touches counts that, and proven is what it was when the ledger was
	// last current.
	oldest, newest  *viewedClaim
	touches, proven uint64
	changed         chan struct{} // closed when version changes
}

// claimStore is what the ledger needs of an informer's store.
type claimStore interface {
	List() []any
	GetByKey(key string) (item any, exists bool, err error)
	LastStoreSyncResourceVersion() string
}

type viewedClaim struct {
	key          string
	claim        *resourceapi.ResourceClaim
	touched      uint64
	before, next *viewedClaim // in the order of touched
}

type assumedClaim struct {
	claim   *resourceapi.ResourceClaim
	version int64
}

// ledgerPatience is many times what a handler takes to be told.
const ledgerPatience = 2 * time.Millisecond

func newLedger(store claimStore, shares bool, counts *asked) *ledger {
	return &ledger{
		store: store, counts: counts, patience: ledgerPatience,
		holdings: allocator.NewHoldings(shares),
		claims:   map[string]*viewedClaim{},
		assumed:  map[string]assumedClaim{},
		flights:  map[types.UID][]resourceapi.DeviceRequestAllocationResult{},
		inFlight: map[schedulerapi.DeviceID]int{},
		sharers:  map[schedulerapi.DeviceID]int{},
		twice:    map[schedulerapi.DeviceID]struct{}{},
		lost:     true,
		changed:  make(chan struct{}),
	}
}

// held returns what allocated claims hold, or false if the manager has to be asked.
func (l *ledger) held() (allocator.Held, bool) {
	if held, ok := l.proof(); ok {
		return held, true
	}
	l.await()
	if held, ok := l.proof(); ok {
		return held, true
	}
	for range readAttempts {
		if held, ok := l.readAll(); ok {
			return held, true
		}
	}
	return allocator.Held{}, false
}

// readAttempts is how often to read all claims while they change.
const readAttempts = 3

// proof returns what is held if the ledger is current.
func (l *ledger) proof() (allocator.Held, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.lost || l.oldest == nil || l.oldest.touched > l.proven {
		return allocator.Held{}, false
	}
	if version, ok := versionOf(l.store.LastStoreSyncResourceVersion()); !ok || version != l.version {
		return allocator.Held{}, false
	}
	if item, exists, err := l.store.GetByKey(l.oldest.key); err != nil || !exists || item != any(l.oldest.claim) {
		return allocator.Held{}, false
	}
	l.proven = l.touches
	return l.holdings.Held(), true
}

// await waits until the handler has been told what the store knows now, or for a
// moment.
func (l *ledger) await() {
	version, ok := versionOf(l.store.LastStoreSyncResourceVersion())
	if !ok {
		return
	}
	deadline := time.NewTimer(l.patience)
	defer deadline.Stop()
	for {
		l.mu.Lock()
		reached, changed := l.lost || l.version >= version, l.changed
		l.mu.Unlock()
		if reached {
			return
		}
		select {
		case <-changed:
		case <-deadline.C:
			return
		}
	}
}

// readAll makes the view what the store has, if that does not change meanwhile.
func (l *ledger) readAll() (allocator.Held, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	before := l.store.LastStoreSyncResourceVersion()
	version, ok := versionOf(before)
	if !ok {
		return allocator.Held{}, false
	}
	list := l.store.List()
	if l.store.LastStoreSyncResourceVersion() != before {
		return allocator.Held{}, false
	}
	l.counts.readings.Add(1)
	start := l.touches
	for _, item := range list {
		if claim, ok := item.(*resourceapi.ResourceClaim); ok {
			l.put(keyOf(claim), claim)
		}
	}
	for l.oldest != nil && l.oldest.touched <= start {
		l.remove(l.oldest)
	}
	l.lost, l.read = false, version
	l.advance(version)
	l.proven = l.touches
	return l.holdings.Held(), true
}

// advance sets the version, and drops what was assumed and has been seen since.
func (l *ledger) advance(version int64) {
	l.version = version
	for key, assumed := range l.assumed {
		if assumed.version <= version {
			l.setAssumed(key, assumedClaim{})
		}
	}
	close(l.changed)
	l.changed = make(chan struct{})
}

// lose says that the view is not to be trusted before all is read again.
func (l *ledger) lose() { l.lost = true }

// OnAdd, OnUpdate and OnDelete are told by the informer.
func (l *ledger) OnAdd(object any, _ bool) { l.seen(object, false) }

// OnUpdate is told of a change.
func (l *ledger) OnUpdate(_, object any) { l.seen(object, false) }

// OnDelete is told of a claim that is gone. If it went while the informer did not
// watch, the object is not a claim, and the list that showed it has a version of its
// own: all has to be read.
func (l *ledger) OnDelete(object any) { l.seen(object, true) }

func (l *ledger) seen(object any, gone bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.lost {
		l.overtake(object, gone)
		return
	}
	claim, ok := object.(*resourceapi.ResourceClaim)
	if !ok {
		l.lose()
		return
	}
	version, ok := versionOf(claim.ResourceVersion)
	viewed := l.claims[keyOf(claim)]
	switch {
	case !ok:
		l.lose()
	case version > l.version:
		if !gone {
			l.put(keyOf(claim), claim)
		} else if viewed != nil {
			l.remove(viewed)
		}
		l.advance(version)
	case gone && viewed != nil && viewed.claim.UID == claim.UID:
		l.lose() // an API that does not count deletions
	case version > l.read && (viewed == nil || viewed.claim != claim):
		l.lose() // a list, which is in no order of versions
	}
}

// overtake drops what was assumed of a claim and is in the store by now, or gone from
// it. A ledger that nobody asks stays lost, and must not remember all claims that ever
// were.
func (l *ledger) overtake(object any, gone bool) {
	if last, ok := object.(cache.DeletedFinalStateUnknown); ok {
		object = last.Obj
	}
	claim, ok := object.(*resourceapi.ResourceClaim)
	if !ok {
		return
	}
	key := keyOf(claim)
	assumed, ok := l.assumed[key]
	if !ok {
		return
	}
	version, ok := versionOf(claim.ResourceVersion)
	if gone && claim.UID == assumed.claim.UID || ok && version >= assumed.version {
		l.setAssumed(key, assumedClaim{})
	}
}

// put makes claim the view's of that name, and the one touched last.
func (l *ledger) put(key string, claim *resourceapi.ResourceClaim) {
	viewed := l.claims[key]
	if viewed == nil {
		viewed = &viewedClaim{key: key}
		l.claims[key] = viewed
	} else {
		l.unlink(viewed)
	}
	l.touches++
	viewed.touched = l.touches
	if viewed.before = l.newest; l.newest != nil {
		l.newest.next = viewed
	} else {
		l.oldest = viewed
	}
	l.newest = viewed
	was := viewed.claim
	viewed.claim = claim
	if _, replaced := l.assumed[key]; !replaced && !sameVersion(was, claim) {
		l.exchange(was, claim)
	}
}

func sameVersion(a, b *resourceapi.ResourceClaim) bool {
	return a == b || a != nil && b != nil && a.UID == b.UID && a.ResourceVersion == b.ResourceVersion
}

func (l *ledger) remove(viewed *viewedClaim) {
	l.unlink(viewed)
	delete(l.claims, viewed.key)
	if _, replaced := l.assumed[viewed.key]; !replaced {
		l.exchange(viewed.claim, nil)
	}
}

func (l *ledger) unlink(viewed *viewedClaim) {
	if viewed.before != nil {
		viewed.before.next = viewed.next
	} else {
		l.oldest = viewed.next
	}
	if viewed.next != nil {
		viewed.next.before = viewed.before
	} else {
		l.newest = viewed.before
	}
	viewed.before, viewed.next = nil, nil
}

// setAssumed puts a claim in the place of the view's, or takes away the one that is
// there if the new one has no claim.
func (l *ledger) setAssumed(key string, assumed assumedClaim) {
	was := l.assumed[key].claim
	var view *resourceapi.ResourceClaim
	if viewed := l.claims[key]; viewed != nil {
		view = viewed.claim
	}
	is := assumed.claim
	if is == nil {
		delete(l.assumed, key)
		is = view
	} else {
		l.assumed[key] = assumed
	}
	if was == nil {
		was = view
	}
	l.exchange(was, is)
}

// exchange holds what one claim has in place of what another had; either may be nil.
func (l *ledger) exchange(was, is *resourceapi.ResourceClaim) {
	going, coming := resultsOf(was), resultsOf(is)
	if len(going) > 0 && len(coming) > 0 && &going[0] == &coming[0] {
		return
	}
	l.holdings.Hold(coming)
	l.holdings.Release(going)
	l.countShares(coming, +1)
	l.countShares(going, -1)
	l.compareHolders(coming)
	l.compareHolders(going)
}

func resultsOf(claim *resourceapi.ResourceClaim) []resourceapi.DeviceRequestAllocationResult {
	if claim == nil || claim.Status.Allocation == nil {
		return nil
	}
	return claim.Status.Allocation.Devices.Results
}

// countShares adds to sharers what a claim has, or takes it away.
func (l *ledger) countShares(results []resourceapi.DeviceRequestAllocationResult, by int) {
	for i := range results {
		if r := &results[i]; r.ShareID != nil && l.holdings.Whole(r) {
			addTo(l.sharers, schedulerapi.MakeDeviceID(r.Driver, r.Pool, r.Device), by)
		}
	}
}

func addTo(counts map[schedulerapi.DeviceID]int, id schedulerapi.DeviceID, by int) {
	if counts[id] += by; counts[id] == 0 {
		delete(counts, id)
	}
}

// compareHolders brings twice up to date for the devices. A claim that is in flight
// and written holds its devices two times and is one claim, so flights do not count.
// Nor do shares, of which several claims may have one each.
func (l *ledger) compareHolders(results []resourceapi.DeviceRequestAllocationResult) {
	for i := range results {
		r := &results[i]
		if !l.holdings.Whole(r) {
			continue
		}
		id := schedulerapi.MakeDeviceID(r.Driver, r.Pool, r.Device)
		if l.holdings.Holders(id)-l.inFlight[id]-l.sharers[id] > 1 {
			l.twice[id] = struct{}{}
		} else {
			delete(l.twice, id)
		}
	}
	l.counts.heldTwice.Store(int64(len(l.twice)))
}

func keyOf(claim *resourceapi.ResourceClaim) string { return claim.Namespace + "/" + claim.Name }

// versionOf reads a resource version, which is a number wherever the scheduler's
// manager of claims works.
func versionOf(text string) (int64, bool) {
	version, err := strconv.ParseInt(text, 10, 64)
	return version, err == nil
}

var _ cache.ResourceEventHandler = &ledger{}
