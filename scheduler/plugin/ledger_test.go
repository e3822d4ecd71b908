package plugin

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"

	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/tools/cache"
	"k8s.io/dynamic-resource-allocation/structured/schedulerapi"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/dynamicresources"
	"k8s.io/kubernetes/pkg/scheduler/util/assumecache"

	"github.com/dray-dev/dray/allocator"
)

// TestTheLedgerSaysWhatTheManagerWould lives through random histories: claims come, go
// and come back under their names, are allocated and deallocated by this scheduler and
// by others; what this one does is in flight, assumed, restored; the informer's store
// is behind the API, and its two handlers, the manager's and the ledger's, are behind
// the store, each by another distance; watches break and lists jump over what happened.
//
// After each step, a ledger that calls itself current says what its store, what is
// assumed and what is in flight add up to, and what the manager would answer once it
// has been told what the store knows. And it does call itself current, most of the time
// without reading everything: what it has read it need not be told. Told everything, it
// has what the store has, or knows that it is lost.
func TestTheLedgerSaysWhatTheManagerWould(t *testing.T) {
	const seed, histories, steps = 1, 300, 120
	var asked, proofs, compared, viewed int
	for i := range uint64(histories) {
		h := newLedgerHistory(t, seed+i)
		for range steps {
			h.step()
			h.check()
			if t.Failed() {
				t.Fatalf("seed %d: after\n%s", seed+i, strings.Join(h.log, "\n"))
			}
		}
		asked, proofs, compared, viewed = asked+h.asked, proofs+h.proofs, compared+h.compared, viewed+h.viewed
	}
	t.Logf("asked %d times, current %d times without reading, compared with the manager %d times, with the store %d times", asked, proofs, compared, viewed)
	if proofs*4 < asked || compared*8 < asked || viewed*20 < asked {
		t.Error("too few for the run to mean much")
	}
}

// TestALedgerThatNobodyAsksRemembersNothingForLong: with the upstream allocator in all
// profiles, or a store without versions, nothing is ever read, and claims come and go.
func TestALedgerThatNobodyAsksRemembersNothingForLong(t *testing.T) {
	h := newLedgerHistory(t, 1)
	for i := range 30 {
		name := fmt.Sprint("claim-", i)
		h.create(name)
		h.observe(1)
		h.tell("manager", h.managerHandler, &h.toManager, 1)
		written := h.write(name, "allocate", func(c *resourceapi.ResourceClaim) { c.Status.Allocation = h.allocation() })
		if err := h.claims.AssumeClaimAfterAPICall(written); err != nil {
			t.Fatal(err)
		}
		switch i % 3 {
		case 0: // the watch brings the claim
			h.observe(1)
		case 1: // a watch that is behind, and then brings that it is gone
			h.gone(name)
			h.observe(2)
		case 2: // a list that does not have it any more
			h.gone(name)
			h.relist()
		}
		h.tell("ledger", h.ledger, &h.toLedger, len(h.toLedger))
		h.tell("manager", h.managerHandler, &h.toManager, len(h.toManager))
	}
	if n := len(h.ledger.assumed); n > 0 {
		t.Errorf("%d claims are assumed, all of which the informer has seen", n)
	}
	h.check()
}

// ledgerHistory is an API with claims, an informer of it, and who listens to that.
type ledgerHistory struct {
	t       testing.TB
	rand    *rand.Rand
	log     []string
	version int
	uids    int
	devices int

	api     map[string]*resourceapi.ResourceClaim
	watch   []watchEvent // what the store has not been told
	store   cache.Indexer
	manager fwk.SharedDRAManager // the scheduler's own
	claims  fwk.ResourceClaimTracker
	ledger  *ledger
	counts  asked
	// toManager and toLedger are what each handler has not been told.
	managerHandler      cache.ResourceEventHandler
	toManager, toLedger []ledgerEvent

	flying  map[types.UID]*resourceapi.ResourceClaim // what is in flight, as allocated
	assumed map[string]*resourceapi.ResourceClaim
	// astray: the manager's answer is not to be compared with any more. It misses it
	// when a claim comes from one allocation to another without a step between, which a
	// list can hide, or a claim that is assumed; and it was made to restore.
	astray bool

	// shares says whether DRAConsumableCapacity is on, and misses whether everything may
	// change while no watch is there, after which the manager goes astray.
	shares, misses bool

	asked, proofs, compared, viewed int
}

// ledgerEvent is what a handler is to be told.
type ledgerEvent struct {
	call    func(cache.ResourceEventHandler)
	missing bool // a list lacked the claim
}

type watchEvent struct {
	claim *resourceapi.ResourceClaim
	gone  bool
}

func newLedgerHistory(t testing.TB, seed uint64) *ledgerHistory {
	h := &ledgerHistory{
		t: t, rand: rand.New(rand.NewPCG(seed, 7)),
		api:    map[string]*resourceapi.ResourceClaim{},
		store:  cache.NewIndexer(cache.MetaNamespaceKeyFunc, cache.Indexers{}),
		flying: map[types.UID]*resourceapi.ResourceClaim{}, assumed: map[string]*resourceapi.ResourceClaim{},
		shares: seed%4 > 0, misses: seed%3 == 0,
	}
	h.astray = !h.shares // the manager that is asked here counts shares in any case
	ctx := klog.NewContext(t.Context(), klog.Logger{})
	claims := assumecache.NewAssumeCache(klog.Logger{}, h, "resource claim", "", nil)
	h.manager = dynamicresources.NewDRAManager(ctx, claims, nil, informers.NewSharedInformerFactory(fake.NewClientset(), 0))
	h.ledger = newLedger(h.store, h.shares, &h.counts)
	h.ledger.patience = 0
	h.claims = newLedgerManager(h.manager, h.ledger).ResourceClaims()
	h.relist()
	return h
}

// AddEventHandler makes the history the informer of the manager's cache.
func (h *ledgerHistory) AddEventHandler(handler cache.ResourceEventHandler) (cache.ResourceEventHandlerRegistration, error) {
	h.managerHandler = handler
	return nil, nil
}

func (h *ledgerHistory) say(format string, args ...any) {
	h.log = append(h.log, fmt.Sprintf(format, args...))
}

// step does one thing, or nothing if there is nothing to do it to.
func (h *ledgerHistory) step() {
	name := []string{"one", "two", "three", "four", "five"}[h.rand.IntN(5)]
	switch h.rand.IntN(17) {
	case 0, 1:
		h.create(name)
	case 2:
		h.gone(name)
	case 3:
		h.gone(name)
		h.create(name)
	case 4:
		h.write(name, "deallocate", func(c *resourceapi.ResourceClaim) { c.Status.Allocation = nil })
	case 5:
		h.write(name, "allocate elsewhere", func(c *resourceapi.ResourceClaim) {
			if c.Status.Allocation == nil {
				c.Status.Allocation = h.allocation()
			}
		})
	case 6:
		h.write(name, "label", func(c *resourceapi.ResourceClaim) { c.Labels = map[string]string{"n": strconv.Itoa(h.version)} })
	case 7, 8:
		h.signal(name)
	case 9, 10:
		h.land()
	case 11:
		h.restore(name)
	case 12:
		h.version++
		if len(h.watch) == 0 {
			h.store.Bookmark(strconv.Itoa(h.version))
			h.say("bookmark %d", h.version)
		}
	case 13:
		h.relist()
	case 14:
		if h.misses {
			h.missEverything(name)
		}
	default:
		h.observe(1 + h.rand.IntN(3))
	}
	h.tell("manager", h.managerHandler, &h.toManager, h.rand.IntN(4))
	h.tell("ledger", h.ledger, &h.toLedger, h.rand.IntN(4))
}

// missEverything lets each claim change, and one come that has devices, while no watch
// is there to tell of it. Then the list has nothing that the ledger knows. The handlers
// are told some of it, and the claim that changed last, which has the list's version,
// may be among that.
func (h *ledgerHistory) missEverything(name string) {
	h.astray = true
	if h.rand.IntN(2) == 0 {
		h.gone([]string{"one", "two", "three", "four", "five"}[h.rand.IntN(5)])
	}
	allocate := func(c *resourceapi.ResourceClaim) {
		if c.Status.Allocation == nil {
			c.Status.Allocation = h.allocation()
		}
	}
	h.create(name)
	h.write(name, "allocate", allocate)
	names := slices.Sorted(maps.Keys(h.api))
	h.rand.Shuffle(len(names), func(i, j int) { names[i], names[j] = names[j], names[i] })
	for _, other := range names {
		if other != name {
			h.write(other, "change", func(c *resourceapi.ResourceClaim) { c.Labels = map[string]string{"n": strconv.Itoa(h.version)} })
		}
	}
	h.tell("ledger", h.ledger, &h.toLedger, len(h.toLedger))
	if h.rand.IntN(2) == 0 {
		h.ledger.proof()
	}
	h.relist()
	h.tell("ledger", h.ledger, &h.toLedger, h.rand.IntN(1+len(h.toLedger)))
}

func (h *ledgerHistory) create(name string) {
	if h.api[name] != nil {
		return
	}
	h.uids++
	claim := &resourceapi.ResourceClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name, UID: types.UID(fmt.Sprintf("uid-%d", h.uids))}}
	h.put(claim)
	h.say("create %s at %s", name, claim.ResourceVersion)
}

func (h *ledgerHistory) put(claim *resourceapi.ResourceClaim) {
	h.version++
	claim.ResourceVersion = strconv.Itoa(h.version)
	h.api[claim.Name] = claim
	h.watch = append(h.watch, watchEvent{claim: claim})
}

func (h *ledgerHistory) write(name, what string, change func(*resourceapi.ResourceClaim)) *resourceapi.ResourceClaim {
	if h.api[name] == nil {
		return nil
	}
	claim := h.api[name].DeepCopy()
	change(claim)
	h.put(claim)
	h.say("%s %s at %s", what, name, claim.ResourceVersion)
	return claim
}

func (h *ledgerHistory) gone(name string) {
	if h.api[name] == nil {
		return
	}
	h.version++
	claim := h.api[name].DeepCopy()
	claim.ResourceVersion = strconv.Itoa(h.version)
	delete(h.api, name)
	h.watch = append(h.watch, watchEvent{claim, true})
	h.say("delete %s at %s", name, claim.ResourceVersion)
}

// allocation has devices and shares that nobody had before.
func (h *ledgerHistory) allocation() *resourceapi.AllocationResult {
	allocation := &resourceapi.AllocationResult{}
	for range 1 + h.rand.IntN(3) {
		h.devices++
		result := resourceapi.DeviceRequestAllocationResult{Driver: "d", Pool: fmt.Sprintf("p%d", h.devices%2), Device: fmt.Sprintf("dev-%d", h.devices)}
		switch h.rand.IntN(4) {
		case 0:
			result.Device = fmt.Sprintf("shared-%d", h.rand.IntN(2))
			share := types.UID(fmt.Sprintf("share-%d", h.devices))
			result.ShareID = &share
			result.ConsumedCapacity = map[resourceapi.QualifiedName]resource.Quantity{"memory": resource.MustParse(strconv.Itoa(1+h.rand.IntN(3)) + "Gi")}
		case 1:
			admin := h.rand.IntN(2) == 0
			result.AdminAccess = &admin
		}
		allocation.Devices.Results = append(allocation.Devices.Results, result)
	}
	return allocation
}

// signal reserves devices, for a claim of the API as the manager knows it or for one
// that only this scheduler knows, as often as a pod group might.
func (h *ledgerHistory) signal(name string) {
	claim := &resourceapi.ResourceClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: specialName, UID: types.UID("temporary-" + name)}}
	if h.rand.IntN(4) > 0 {
		known, err := h.claims.Get("ns", name)
		if err != nil || known.Status.Allocation != nil {
			return
		}
		claim = known.DeepCopy()
	}
	claim.Status.Allocation = h.allocation()
	if err := h.claims.SignalClaimPendingAllocation(claim.UID, claim); err != nil {
		h.t.Error(err)
	}
	if h.flying[claim.UID] == nil && h.claims.GetPendingAllocation(claim.UID) != nil {
		h.flying[claim.UID] = claim
	}
	h.say("signal %s %s", claim.Name, claim.UID)
}

// land ends one flight, in most cases after the allocation was written and assumed.
func (h *ledgerHistory) land() {
	uids := make([]types.UID, 0, len(h.flying))
	for uid := range h.flying {
		uids = append(uids, uid)
	}
	if len(uids) == 0 {
		return
	}
	slices.Sort(uids)
	uid := uids[h.rand.IntN(len(uids))]
	claim := h.flying[uid]
	if current := h.api[claim.Name]; current != nil && current.UID == uid && current.Status.Allocation == nil && h.rand.IntN(4) > 0 {
		written := h.write(claim.Name, "write allocation of", func(c *resourceapi.ResourceClaim) { c.Status.Allocation = claim.Status.Allocation.DeepCopy() })
		if h.rand.IntN(6) == 0 {
			return // and may be given back before the informer has seen it
		}
		if known, err := h.claims.Get("ns", claim.Name); err == nil && known.Status.Allocation != nil {
			h.astray = true // it has an allocation that is gone, which makes it miss this one
		}
		if err := h.claims.AssumeClaimAfterAPICall(written); err == nil {
			h.assumed[written.Name] = written
			h.say("assume %s at %s", written.Name, written.ResourceVersion)
		}
		if h.rand.IntN(3) == 0 {
			return // binding conditions
		}
	}
	if h.claims.MaybeRemoveClaimPendingAllocation(uid, h.rand.IntN(2) == 0) {
		delete(h.flying, uid)
		h.say("land %s", uid)
	}
}

// restore goes back to what the informer knows. Of an object that was assumed before
// the informer brought the same one, the manager keeps the one before that to go back
// to, so it forgets an allocation that the informer has seen. The plugin never restores.
func (h *ledgerHistory) restore(name string) {
	if claim := h.assumed[name]; claim != nil {
		version, _ := versionOf(claim.ResourceVersion)
		seen, _ := versionOf(h.store.LastStoreSyncResourceVersion())
		h.astray = h.astray || version <= seen
	}
	h.claims.AssumedClaimRestore("ns", name)
	delete(h.assumed, name)
	h.say("restore %s", name)
}

// observe lets the store have the next events of the watch.
func (h *ledgerHistory) observe(n int) {
	for ; n > 0 && len(h.watch) > 0; n-- {
		event := h.watch[0]
		h.watch = h.watch[1:]
		old, known, _ := h.store.Get(event.claim)
		switch {
		case event.gone:
			_ = h.store.Delete(event.claim)
			h.notify(func(to cache.ResourceEventHandler) { to.OnDelete(event.claim) })
		case known:
			_ = h.store.Update(event.claim)
			h.notify(func(to cache.ResourceEventHandler) { to.OnUpdate(old, event.claim) })
		default:
			_ = h.store.Add(event.claim)
			h.notify(func(to cache.ResourceEventHandler) { to.OnAdd(event.claim, false) })
		}
		h.say("store has %s at %s", event.claim.Name, event.claim.ResourceVersion)
	}
}

func (h *ledgerHistory) notify(call func(cache.ResourceEventHandler)) {
	h.queue(ledgerEvent{call: call})
}

func (h *ledgerHistory) queue(e ledgerEvent) {
	h.toManager, h.toLedger = append(h.toManager, e), append(h.toLedger, e)
}

// relist replaces the store's content by the API's, in copies, as an informer does
// after a watch broke: handlers are told of what is missing first, then in the order
// of the list of those whose version is another.
func (h *ledgerHistory) relist() {
	h.watch = nil
	var items []any
	var calls []func(cache.ResourceEventHandler)
	listed := map[string]bool{}
	names := make([]string, 0, len(h.api))
	for name := range h.api {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		claim := h.api[name].DeepCopy()
		items, listed["ns/"+name] = append(items, claim), true
		item, known, _ := h.store.GetByKey("ns/" + name)
		if !known {
			calls = append(calls, func(to cache.ResourceEventHandler) { to.OnAdd(claim, false) })
			continue
		}
		old := item.(*resourceapi.ResourceClaim)
		if old.ResourceVersion == claim.ResourceVersion {
			continue
		}
		calls = append(calls, func(to cache.ResourceEventHandler) { to.OnUpdate(old, claim) })
		has := claim.Status.Allocation
		for _, earlier := range []*resourceapi.ResourceClaim{old, h.assumed[name]} {
			h.astray = h.astray || earlier != nil && earlier.Status.Allocation != nil && has != nil &&
				earlier.Status.Allocation.Devices.Results[0].Device != has.Devices.Results[0].Device
		}
	}
	keys := h.store.ListKeys()
	slices.Sort(keys)
	for _, key := range keys {
		if item, _, _ := h.store.GetByKey(key); !listed[key] {
			h.queue(ledgerEvent{missing: true, call: func(to cache.ResourceEventHandler) {
				to.OnDelete(cache.DeletedFinalStateUnknown{Key: key, Obj: item})
			}})
		}
	}
	_ = h.store.Replace(items, strconv.Itoa(h.version))
	for _, call := range calls {
		h.notify(call)
	}
	h.say("list at %d", h.version)
}

func (h *ledgerHistory) tell(who string, handler cache.ResourceEventHandler, queue *[]ledgerEvent, n int) {
	for ; n > 0 && len(*queue) > 0; n-- {
		(*queue)[0].call(handler)
		*queue = (*queue)[1:]
		h.say("%s is told", who)
	}
}

func (h *ledgerHistory) check() {
	h.t.Helper()
	want := h.addUp()
	held, proven := h.ledger.proof()
	h.asked++
	if proven {
		h.proofs++
		h.compare("proven", want, held.State())
	}
	if h.rand.IntN(3) > 0 {
		return
	}
	if h.rand.IntN(4) == 0 {
		h.tell("ledger", h.ledger, &h.toLedger, len(h.toLedger))
		h.compareView()
	}
	h.tell("manager", h.managerHandler, &h.toManager, len(h.toManager))
	held, known := h.ledger.held()
	if !known {
		h.t.Error("the ledger cannot read a store that stands still")
	}
	h.compare("read", want, held.State())
	if h.counts.heldTwice.Load() != 0 {
		h.t.Error("a device is held twice")
	}
	// What is on its way has been read, but that a list lacked a claim. Without claims
	// nothing can be proved.
	if len(h.ledger.claims) > 0 && !slices.ContainsFunc(h.toLedger, func(e ledgerEvent) bool { return e.missing }) {
		h.tell("ledger", h.ledger, &h.toLedger, len(h.toLedger))
		if _, proven := h.ledger.proof(); !proven {
			h.t.Error("events that were read before make the ledger lose its way")
		}
	}
	if !h.astray {
		h.compared++
		state, err := h.manager.ResourceClaims().GatherAllocatedState()
		if err != nil {
			h.t.Fatal(err)
		}
		got := held.State()
		if h.flyingAndAllocated() {
			state.AggregatedCapacity, got.AggregatedCapacity = nil, nil // the manager counts those shares twice
		}
		h.compare("manager", *state, got)
	}
}

// compareView compares what the ledger has seen with the store, once it was told all.
func (h *ledgerHistory) compareView() {
	h.t.Helper()
	if h.ledger.lost {
		return
	}
	h.viewed++
	seen, stored := map[string]string{}, map[string]string{}
	for key, viewed := range h.ledger.claims {
		seen[key] = string(viewed.claim.UID) + " at " + viewed.claim.ResourceVersion
	}
	for _, item := range h.store.List() {
		claim := item.(*resourceapi.ResourceClaim)
		stored[keyOf(claim)] = string(claim.UID) + " at " + claim.ResourceVersion
	}
	if !maps.Equal(seen, stored) {
		h.t.Errorf("told everything, the ledger has %v, the store %v", seen, stored)
	}
}

// addUp is the obvious implementation: holdings made from nothing.
func (h *ledgerHistory) addUp() schedulerapi.AllocatedState {
	holdings := allocator.NewHoldings(h.shares)
	for _, claim := range h.effective() {
		holdings.Hold(resultsOf(claim))
	}
	for _, claim := range h.flying {
		holdings.Hold(resultsOf(claim))
	}
	return holdings.Held().State()
}

// effective are the store's claims, and in their place what is assumed and newer than
// the store.
func (h *ledgerHistory) effective() map[string]*resourceapi.ResourceClaim {
	claims := map[string]*resourceapi.ResourceClaim{}
	for _, item := range h.store.List() {
		claim := item.(*resourceapi.ResourceClaim)
		claims[claim.Name] = claim
	}
	seen, _ := versionOf(h.store.LastStoreSyncResourceVersion())
	for name, claim := range h.assumed {
		if version, _ := versionOf(claim.ResourceVersion); version > seen {
			claims[name] = claim
		}
	}
	return claims
}

func (h *ledgerHistory) flyingAndAllocated() bool {
	for _, claim := range h.effective() {
		if claim.Status.Allocation != nil && h.flying[claim.UID] != nil {
			return true
		}
	}
	return false
}

func (h *ledgerHistory) compare(what string, want, got schedulerapi.AllocatedState) {
	h.t.Helper()
	if lost, more := want.AllocatedDevices.Difference(got.AllocatedDevices), got.AllocatedDevices.Difference(want.AllocatedDevices); len(lost)+len(more) > 0 {
		h.t.Errorf("%s: the ledger lacks devices %v and has %v beyond", what, lost.UnsortedList(), more.UnsortedList())
	}
	if !want.AllocatedSharedDeviceIDs.Equal(got.AllocatedSharedDeviceIDs) {
		h.t.Errorf("%s: shares are %v, want %v", what, got.AllocatedSharedDeviceIDs.UnsortedList(), want.AllocatedSharedDeviceIDs.UnsortedList())
	}
	for _, pair := range [][2]schedulerapi.ConsumedCapacityCollection{{want.AggregatedCapacity, got.AggregatedCapacity}, {got.AggregatedCapacity, want.AggregatedCapacity}} {
		for id, capacity := range pair[0] {
			for name, quantity := range capacity {
				if other := pair[1][id][name]; other == nil && !quantity.IsZero() || other != nil && other.Cmp(*quantity) != 0 {
					h.t.Errorf("%s: device %s: capacity %s is %v and %v", what, id, name, quantity, other)
				}
			}
		}
	}
}
