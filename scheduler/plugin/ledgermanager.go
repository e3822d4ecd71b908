package plugin

import (
	"reflect"

	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/dynamic-resource-allocation/structured/schedulerapi"
	fwk "k8s.io/kube-scheduler/framework"
)

// ledgerManager is the scheduler's manager for plugins: all answers are its own, and
// what it is told the ledger is told as well.
type ledgerManager struct {
	fwk.SharedDRAManager
	claims ledgerTracker
}

func newLedgerManager(manager fwk.SharedDRAManager, l *ledger) *ledgerManager {
	return &ledgerManager{manager, ledgerTracker{manager.ResourceClaims(), l}}
}

// ResourceClaims implements fwk.SharedDRAManager.
func (m *ledgerManager) ResourceClaims() fwk.ResourceClaimTracker { return &m.claims }

type ledgerTracker struct {
	fwk.ResourceClaimTracker
	ledger *ledger
}

// SignalClaimPendingAllocation implements fwk.ResourceClaimTracker. The ledger's lock
// is held while the manager decides. The manager takes no lock for it under which
// others are called.
func (t *ledgerTracker) SignalClaimPendingAllocation(uid types.UID, claim *resourceapi.ResourceClaim) error {
	l := t.ledger
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := t.ResourceClaimTracker.SignalClaimPendingAllocation(uid, claim); err != nil {
		return err
	}
	_, known := l.flights[uid]
	if pending := t.GetPendingAllocation(uid); pending != nil && !known {
		l.takeOff(uid, pending.Devices.Results)
	}
	return nil
}

// MaybeRemoveClaimPendingAllocation implements fwk.ResourceClaimTracker.
func (t *ledgerTracker) MaybeRemoveClaimPendingAllocation(uid types.UID, force bool) bool {
	l := t.ledger
	l.mu.Lock()
	defer l.mu.Unlock()
	removed := t.ResourceClaimTracker.MaybeRemoveClaimPendingAllocation(uid, force)
	if removed {
		l.land(uid)
	}
	return removed
}

// AssumeClaimAfterAPICall implements fwk.ResourceClaimTracker. The manager calls event
// handlers meanwhile, so no lock is held.
func (t *ledgerTracker) AssumeClaimAfterAPICall(claim *resourceapi.ResourceClaim) error {
	if err := t.ResourceClaimTracker.AssumeClaimAfterAPICall(claim); err != nil {
		return err
	}
	t.ledger.assume(claim)
	return nil
}

// AssumedClaimRestore implements fwk.ResourceClaimTracker.
func (t *ledgerTracker) AssumedClaimRestore(namespace, name string) {
	t.ResourceClaimTracker.AssumedClaimRestore(namespace, name)
	t.ledger.restore(namespace + "/" + name)
}

func (l *ledger) takeOff(uid types.UID, results []resourceapi.DeviceRequestAllocationResult) {
	l.flights[uid] = results
	l.countFlight(results, +1)
	l.holdings.Hold(results)
	l.compareHolders(results)
}

func (l *ledger) land(uid types.UID) {
	results := l.flights[uid]
	delete(l.flights, uid)
	l.countFlight(results, -1)
	l.holdings.Release(results)
	l.compareHolders(results)
}

func (l *ledger) countFlight(results []resourceapi.DeviceRequestAllocationResult, by int) {
	for i := range results {
		if r := &results[i]; l.holdings.Whole(r) {
			addTo(l.inFlight, schedulerapi.MakeDeviceID(r.Driver, r.Pool, r.Device), by)
		}
	}
}

// assume notes what the manager assumes. It is nothing new if the view is as new: then
// the claim has been seen, or seen to be gone. A ledger that is lost cannot tell, and
// can when it has read all.
func (l *ledger) assume(claim *resourceapi.ResourceClaim) {
	version, ok := versionOf(claim.ResourceVersion)
	l.mu.Lock()
	defer l.mu.Unlock()
	key := keyOf(claim)
	if !ok || !l.lost && version <= l.version || version < l.assumed[key].version {
		return
	}
	l.setAssumed(key, assumedClaim{claim, version})
}

func (l *ledger) restore(key string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.assumed[key].claim != nil {
		l.setAssumed(key, assumedClaim{})
	}
}

// canHaveLedger says whether the manager is the scheduler's own, which hears of claims
// from the informer of the scheduler's factory. What another one knows, a simulation's
// or a test's, no informer does.
func canHaveLedger(manager fwk.SharedDRAManager) bool {
	kind := reflect.TypeOf(manager)
	return kind != nil && kind.Kind() == reflect.Pointer && kind.Elem().Name() == "DefaultDRAManager" &&
		kind.Elem().PkgPath() == "k8s.io/kubernetes/pkg/scheduler/framework/plugins/dynamicresources"
}
