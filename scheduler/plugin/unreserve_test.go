package plugin

import (
	"testing"

	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clienttesting "k8s.io/client-go/testing"
)

func TestASpecialClaimIsDeletedBeforeItsDevicesLeaveFlight(t *testing.T) {
	w := newWorld(t, parseObjects(t, `node a
class gpu resource=example.com/gpu
slice a devices=gpu-0
pod p extended=example.com/gpu:1
`), "", stableFeatures())
	pod := w.pod("p")
	if said := w.preFilter("p"); said != "ok" {
		t.Fatal(said)
	}
	cycle := w.cycle("p")
	if status := w.plugin.Filter(w.ctx, cycle, pod, w.node("a")); !status.IsSuccess() {
		t.Fatal(status)
	}
	if status := w.plugin.Reserve(w.ctx, cycle, pod, "a"); !status.IsSuccess() {
		t.Fatal(status)
	}
	state, err := readState(cycle)
	w.check(err)
	flight := state.specialClaim().flight
	// The allocation arrives in the API, and neither the answer nor an event does.
	w.api.fail(&fault{times: 1, kind: "lost", verb: "update", resource: "resourceclaims/status"})
	if status := w.plugin.PreBind(w.ctx, cycle, pod, "a"); status.IsSuccess() {
		t.Fatal("PreBind succeeded")
	}
	deleted := false
	w.api.PrependReactor("delete", "resourceclaims", func(action clienttesting.Action) (bool, runtime.Object, error) {
		deleted = true
		object, err := w.api.Tracker().Get(action.GetResource(), action.GetNamespace(), action.(clienttesting.DeleteAction).GetName())
		if err != nil || len(object.(*resourceapi.ResourceClaim).Finalizers) > 0 {
			t.Errorf("the claim is deleted with a finalizer, and stays: %v, %v", object, err)
		}
		if w.manager.ResourceClaims().GetPendingAllocation(flight) == nil {
			t.Error("the claim has devices in the API and is not in flight")
		}
		return false, nil, nil
	})
	w.plugin.Unreserve(w.ctx, cycle, pod, "a")
	if !deleted {
		t.Error("the claim was not deleted")
	}
	if w.manager.ResourceClaims().GetPendingAllocation(flight) != nil {
		t.Error("the devices stay in flight")
	}
}

func TestAfterUnreserveTheManagerKnowsThatTheClaimIsNotReserved(t *testing.T) {
	w := newWorld(t, parseObjects(t, "node a\nclass gpu\nslice a devices=gpu-0\nclaim train gpu\npod p claims=train\n"), "", stableFeatures())
	if said := w.schedule("p"); said != "bound to a\n" {
		t.Fatal(said)
	}
	w.settle()
	w.plugin.Unreserve(w.ctx, w.cycle("p"), w.pod("p"), "a")
	// No event has to come first: PreBind of a next attempt would take the pod for
	// one that the claim is reserved for.
	claim, err := w.manager.ResourceClaims().Get(testNamespace, "train")
	w.check(err)
	if len(claim.Status.ReservedFor) > 0 {
		t.Errorf("the claim is still reserved for %v", claim.Status.ReservedFor)
	}
}

func TestPreBindDoesNotPassOverAClaimWithoutDevices(t *testing.T) {
	w := newWorld(t, parseObjects(t, "node a\nclass gpu\nslice a devices=gpu-0\nclaim train gpu\npod p claims=train\n"), "", stableFeatures())
	if said := w.preFilter("p"); said != "ok" {
		t.Fatal(said)
	}
	// A profile without our Reserve would do this.
	if status := w.plugin.PreBind(w.ctx, w.cycle("p"), w.pod("p"), "a"); status.IsSuccess() {
		t.Error("the pod is bound without its devices")
	}
}

func TestTheReasonForLackingResourcesIsTheSameForAllNodes(t *testing.T) {
	w := newWorld(t, parseObjects(t, `node a
class gpu resource=example.com/gpu
slice a devices=gpu-0
pod p extended=example.com/gpu:1,example.com/x:1,example.com/y:1,example.com/z:1
`), "", stableFeatures())
	if said := w.preFilter("p"); said != "ok" {
		t.Fatal(said)
	}
	for range 100 {
		got := tellStatus(w.plugin.Filter(w.ctx, w.cycle("p"), w.pod("p"), w.node("a")))
		if want := "UnschedulableAndUnresolvable: extended resources: the node has no example.com/x"; got != want {
			t.Fatalf("got %q, want %q", got, want)
		}
	}
}
