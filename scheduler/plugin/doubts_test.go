package plugin

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"time"

	resourceapi "k8s.io/api/resource/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	clienttesting "k8s.io/client-go/testing"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/util/assumecache"
)

// outage makes calls of a kind fail until it ends. Each tells that it was made.
type outage struct {
	mu    sync.Mutex
	over  bool
	calls chan struct{}
}

func (w *world) breakCalls(verb, resource string) *outage {
	o := &outage{calls: make(chan struct{}, 1)}
	w.api.PrependReactor(verb, resource, func(clienttesting.Action) (bool, runtime.Object, error) {
		o.mu.Lock()
		defer o.mu.Unlock()
		select {
		case o.calls <- struct{}{}:
		default:
		}
		return !o.over, nil, apierrors.NewServiceUnavailable("injected")
	})
	return o
}

func (o *outage) end() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.over = true
}

// awaitCalls waits until that many calls were made, but for those that came at once.
func (o *outage) awaitCalls(t *testing.T, n int) {
	t.Helper()
	for range n {
		select {
		case <-o.calls:
		case <-time.After(10 * time.Second):
			t.Fatal("no call was made")
		}
	}
}

func (w *world) awaitNoDoubt() {
	w.t.Helper()
	w.check(wait.PollUntilContextTimeout(w.ctx, time.Millisecond, 10*time.Second, true, func(context.Context) (bool, error) {
		return w.plugin.engine.doubts.Load() == 0, nil
	}))
}

const doubtObjects = `node a
class gpu resource=example.com/gpu
slice a devices=gpu-0
claim train gpu
pod p claims=train
pod q claims=train
pod plain
pod x extended=example.com/gpu:1
`

func TestDevicesStayInFlightUntilItIsKnownWhetherAWriteArrived(t *testing.T) {
	for kind, arrived := range map[string]bool{"lost": true, "error": false} {
		t.Run(kind, func(t *testing.T) {
			w := newWorld(t, parseObjects(t, doubtObjects), "", stableFeatures())
			w.api.fail(&fault{times: 1, kind: kind, verb: "update", resource: "resourceclaims/status"})
			gets := w.breakCalls("get", "resourceclaims")
			w.schedule("p")
			gets.awaitCalls(t, 3)
			const uid = "uid-train"
			if w.manager.ResourceClaims().GetPendingAllocation(uid) == nil {
				t.Fatal("the claim is not in flight, and nobody knows whether it has devices")
			}
			gets.end()
			w.awaitNoDoubt()
			if w.manager.ResourceClaims().GetPendingAllocation(uid) != nil {
				t.Error("the claim stays in flight")
			}
			claim, err := w.manager.ResourceClaims().Get(testNamespace, "train")
			w.check(err)
			if has := claim.Status.Allocation != nil; has != arrived {
				t.Errorf("the manager thinks that the claim is allocated: %v", has)
			}
			if woken := w.activated.names(); !slices.Equal(woken, []string{"default/p", "default/q", "default/x"}) {
				t.Errorf("woke %v", woken)
			}
		})
	}
}

func TestAWriteThatArrivesAfterItsDevicesWereGivenBackConflicts(t *testing.T) {
	w := newWorld(t, parseObjects(t, doubtObjects), "", stableFeatures())
	var late *resourceapi.ResourceClaim
	w.api.PrependReactor("update", "resourceclaims", func(action clienttesting.Action) (bool, runtime.Object, error) {
		if action.GetSubresource() != "status" || late != nil {
			return false, nil, nil
		}
		late = action.(clienttesting.UpdateAction).GetObject().(*resourceapi.ResourceClaim).DeepCopy()
		return true, nil, apierrors.NewTimeoutError("injected, and the write is on its way", 1)
	})
	w.schedule("p")
	w.settle()
	if late == nil || late.Status.Allocation == nil {
		t.Fatal("nothing was written late")
	}
	_, err := w.api.ResourceV1().ResourceClaims(testNamespace).UpdateStatus(w.ctx, late, metav1.UpdateOptions{})
	if !apierrors.IsConflict(err) {
		t.Errorf("the late write: %v", err)
	}
	if said := w.schedule("q"); said != "bound to a\n" {
		t.Error(said)
	}
}

func TestDevicesOfASpecialClaimStayInFlightUntilItIsDeleted(t *testing.T) {
	w := newWorld(t, parseObjects(t, doubtObjects), "", stableFeatures())
	w.api.fail(&fault{times: 1, kind: "lost", verb: "update", resource: "resourceclaims/status"})
	deletions := w.breakCalls("delete", "resourceclaims")
	w.schedule("x")
	deletions.awaitCalls(t, 3)
	state, err := readState(w.cycle("x"))
	w.check(err)
	flight := state.specialClaim().flight
	if w.manager.ResourceClaims().GetPendingAllocation(flight) == nil {
		t.Error("the claim exists, and its devices are not in flight")
	}
	deletions.end()
	w.awaitNoDoubt()
	if w.manager.ResourceClaims().GetPendingAllocation(flight) != nil {
		t.Error("the claim stays in flight")
	}
	if claims := w.listClaims(); len(claims) != 1 {
		t.Errorf("there are %d claims", len(claims))
	}
}

func TestASpecialClaimIsGoneForAllThatWasWrittenIntoIt(t *testing.T) {
	for _, kind := range []string{"lost", "error"} {
		for _, write := range []string{"resourceclaims", "resourceclaims/status"} {
			t.Run(kind+" "+write, func(t *testing.T) {
				w := newWorld(t, parseObjects(t, doubtObjects), "", stableFeatures())
				w.api.fail(&fault{times: 1, kind: kind, verb: "update", resource: write})
				w.schedule("x")
				w.awaitNoDoubt()
				for _, claim := range w.listClaims() {
					if claim.Name != "train" {
						t.Errorf("%s is there: finalizers %v, allocated: %v", claim.Name, claim.Finalizers, claim.Status.Allocation != nil)
					}
				}
			})
		}
	}
}

func TestAFinalizerThatArrivesLateDoesNotKeepASpecialClaim(t *testing.T) {
	w := newWorld(t, parseObjects(t, doubtObjects), "", stableFeatures())
	var late *resourceapi.ResourceClaim
	w.api.PrependReactor("update", "resourceclaims", func(action clienttesting.Action) (bool, runtime.Object, error) {
		if late != nil {
			return false, nil, nil
		}
		late = action.(clienttesting.UpdateAction).GetObject().(*resourceapi.ResourceClaim).DeepCopy()
		return true, nil, apierrors.NewTimeoutError("injected, and the write is on its way", 1)
	})
	arrived := false
	w.api.PrependReactor("delete", "resourceclaims", func(action clienttesting.Action) (bool, runtime.Object, error) {
		if !arrived {
			arrived = true
			if _, _, err := w.api.react(clienttesting.NewUpdateAction(action.GetResource(), action.GetNamespace(), late)); err != nil {
				t.Errorf("the late write: %v", err)
			}
		}
		return false, nil, nil
	})
	w.schedule("x")
	w.awaitNoDoubt()
	if claims := w.listClaims(); !arrived || len(claims) != 1 {
		t.Errorf("there are %d claims", len(claims))
	}
}

func TestAConflictWithAWriteThatArrivedLeavesTheClaimInDoubt(t *testing.T) {
	w := newWorld(t, parseObjects(t, doubtObjects), "", stableFeatures())
	// The client repeats a write that a proxy asks it to, and meets its own.
	w.api.PrependReactor("update", "resourceclaims", func(action clienttesting.Action) (bool, runtime.Object, error) {
		if action.GetSubresource() != "status" {
			return false, nil, nil
		}
		if _, _, err := w.api.react(action); err != nil {
			return true, nil, err
		}
		return true, nil, apierrors.NewConflict(action.GetResource().GroupResource(), "train", errors.New("injected, after the write"))
	})
	gets := w.breakCalls("get", "resourceclaims")
	w.schedule("p")
	const uid = "uid-train"
	if w.manager.ResourceClaims().GetPendingAllocation(uid) == nil {
		t.Error("the claim is not in flight, and nobody knows whether it has devices")
	}
	gets.end()
	w.awaitNoDoubt()
	if claim, err := w.manager.ResourceClaims().Get(testNamespace, "train"); err != nil || claim.Status.Allocation == nil {
		t.Errorf("the manager thinks that the claim is not allocated (%v)", err)
	}
}

// blind is a manager that has not seen claims that were created.
type blind struct {
	fwk.SharedDRAManager
	claims *blindClaims
}

type blindClaims struct {
	fwk.ResourceClaimTracker
	mu   sync.Mutex
	sees bool
}

func (b blind) ResourceClaims() fwk.ResourceClaimTracker { return b.claims }

func (b *blindClaims) AssumeClaimAfterAPICall(claim *resourceapi.ResourceClaim) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.sees {
		return assumecache.ErrNotFound
	}
	return b.ResourceClaimTracker.AssumeClaimAfterAPICall(claim)
}

func TestAPodIsBoundAlthoughTheInformerIsBehindAndItsDevicesStayInFlight(t *testing.T) {
	w := newWorld(t, parseObjects(t, doubtObjects), "", stableFeatures())
	claims := &blindClaims{ResourceClaimTracker: w.manager.ResourceClaims()}
	w.plugin.manager = blind{SharedDRAManager: w.manager, claims: claims}
	w.plugin.assumeWithin = time.Millisecond
	if said := w.schedule("x"); said != "bound to a\n" {
		t.Fatal(said)
	}
	state, err := readState(w.cycle("x"))
	w.check(err)
	flight := state.specialClaim().flight
	if w.manager.ResourceClaims().GetPendingAllocation(flight) == nil {
		t.Error("the devices look free to who has not seen the claim")
	}
	claims.mu.Lock()
	claims.sees = true
	claims.mu.Unlock()
	w.awaitNoDoubt()
	if w.manager.ResourceClaims().GetPendingAllocation(flight) != nil {
		t.Error("the devices stay in flight")
	}
}

func TestAPodThatSharedAFlightDoesNotEndTheNext(t *testing.T) {
	w := newWorld(t, parseObjects(t, doubtObjects), "", stableFeatures())
	claim := parseClaim(t, "train", readFields([]string{"gpu", "on=a:gpu-0"}))
	claims, flights := w.manager.ResourceClaims(), &w.plugin.engine.flights
	begin := func() *flight {
		f, err := flights.begin(claims, claim.UID, claim)
		w.check(err)
		return f
	}
	one, two := begin(), begin()
	if one == nil || one != two {
		t.Fatal("pods that share a claim do not share its flight")
	}
	if !flights.end(claims, claim.UID, one, true) {
		t.Error("the flight did not end for all")
	}
	third := begin()
	if flights.end(claims, claim.UID, two, false) || claims.GetPendingAllocation(claim.UID) == nil {
		t.Error("the second pod ended the third's flight")
	}
	if !flights.end(claims, claim.UID, third, false) || claims.GetPendingAllocation(claim.UID) != nil {
		t.Error("the third pod could not end its flight")
	}
}
