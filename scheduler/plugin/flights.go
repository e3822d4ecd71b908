package plugin

import (
	"sync"

	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/types"
	fwk "k8s.io/kube-scheduler/framework"
)

// flights tell one stay of a claim in flight from the next. The manager knows a
// claim in flight by its UID alone and counts who shares it. A pod of a group whose
// claim was taken out of flight for all of them by another, and put in flight again
// by a third, must not take that out. All plugins with the manager share one, so
// the manager's entries change under mu only.
type flights struct {
	mu   sync.Mutex
	last map[types.UID]*flight // by UID in flight; those that have not ended
}

// flight is one stay of a claim in flight, shared by the pods that signalled it.
type flight struct{ ended bool }

// begin signals the allocated claim. It returns nil if the manager puts nothing in
// flight, because the claim has been allocated since the cycle began: then there is
// nothing to end.
func (f *flights) begin(claims fwk.ResourceClaimTracker, uid types.UID, allocated *resourceapi.ResourceClaim) (*flight, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	joins := claims.GetPendingAllocation(uid) != nil
	if err := claims.SignalClaimPendingAllocation(uid, allocated); err != nil {
		return nil, err
	}
	if claims.GetPendingAllocation(uid) == nil {
		return nil, nil
	}
	if now := f.last[uid]; joins && now != nil {
		return now, nil
	}
	if f.last == nil {
		f.last = map[types.UID]*flight{}
	}
	f.last[uid] = &flight{}
	return f.last[uid], nil
}

// end takes one pod out of the flight, or with all whoever shares it, and says
// whether that was the end of it. A flight that has ended stays as it is.
func (f *flights) end(claims fwk.ResourceClaimTracker, uid types.UID, of *flight, all bool) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if of.ended || f.last[uid] != of || !claims.MaybeRemoveClaimPendingAllocation(uid, all) {
		return false
	}
	of.ended = true
	delete(f.last, uid)
	return true
}
