package plugin

import (
	"context"
	"errors"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/dynamic-resource-allocation/resourceclaim"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"
)

// Reserve takes what Filter found for the node and tells the manager that it is in
// flight, so that no other pod gets the same devices. It calls no API: the cycle
// of a pod group reserves and gives back several times before it decides.
//
// If it fails, the scheduler calls Unreserve, which gives back what was taken.
func (p *Plugin) Reserve(ctx context.Context, cycle fwk.CycleState, pod *corev1.Pod, nodeName string) *fwk.Status {
	if !p.enabled {
		return nil
	}
	defer p.took(pointReserve, p.clock.Now())
	s, err := readState(cycle)
	if err != nil {
		return failed(ctx, pod, err)
	}
	group, err := readGroup(cycle.GetPodGroupSchedulingCycle())
	if err != nil {
		return failed(ctx, pod, err)
	}
	result, searched, err := p.result(ctx, s, nodeName)
	if err != nil {
		return failed(ctx, pod, err)
	}
	for i := range s.claims {
		c := &s.claims[i]
		if c.allocated() {
			continue // PreBind adds the pod to those that it is reserved for
		}
		claim := c.claim
		if i == s.special {
			if !searched || result.special == nil {
				continue // a device plugin has it
			}
			claim = result.special
		}
		if !searched || result.allocations[i] == nil {
			return failed(ctx, pod, errors.New("claim allocation not found for node"))
		}
		if err := p.signal(c, claim, result.allocations[i]); err != nil {
			return failed(ctx, pod, err)
		}
		if group != nil && c.inFlight != nil {
			group.pending.Insert(c.flight)
		}
	}
	return nil
}

// signal puts the allocation of the claim in flight on behalf of one pod.
func (p *Plugin) signal(c *podClaim, claim *resourceapi.ResourceClaim, allocation *resourceapi.AllocationResult) error {
	if c.inFlight != nil {
		return fmt.Errorf("claim %s was reserved before and not given back", klog.KObj(claim))
	}
	allocated := claim.DeepCopy()
	if !slices.Contains(allocated.Finalizers, resourceapi.Finalizer) {
		allocated.Finalizers = append(allocated.Finalizers, resourceapi.Finalizer)
	}
	allocated.Status.Allocation = allocation
	inFlight, err := p.engine.flights.begin(p.manager.ResourceClaims(), c.flight, allocated)
	if err != nil {
		return fmt.Errorf("reserve devices for claim %s: %w", klog.KObj(claim), err)
	}
	c.inFlight, c.reserved = inFlight, allocation
	return nil
}

// Unreserve gives back what Reserve took, and takes the pod out of the claims that
// PreBind has reserved for it. It does nothing for a pod without state, and nothing
// the second time.
//
// A claim that PreBind has allocated in the API keeps its devices: they are
// released when the claim is. What the manager assumes about it is what the API
// server returned, so nothing is restored; going back to what the informer has
// seen could show the devices as free until it has seen more.
//
// A pod that may have been bound all the same keeps everything.
func (p *Plugin) Unreserve(ctx context.Context, cycle fwk.CycleState, pod *corev1.Pod, _ string) {
	if !p.enabled {
		return
	}
	defer p.took(pointUnreserve, p.clock.Now())
	s, err := readState(cycle)
	if err != nil {
		return
	}
	group, err := readGroup(cycle.GetPodGroupSchedulingCycle())
	if err != nil {
		return
	}
	trial := cycle.GetPodGroupSchedulingCycle() != nil
	// In a trial nothing was written that a pod could run with.
	runs := !trial && p.mayRun(ctx, pod, s)
	for i := range s.claims {
		c := &s.claims[i]
		if runs {
			p.giveBackWhen(ctx, pod, c, group, p.seen)
			continue
		}
		if i == s.special {
			// In this order: the informer may not know yet what is deleted here.
			p.giveBackWhen(ctx, pod, c, group, p.dropped)
			continue
		}
		p.giveBackWhen(ctx, pod, c, group, p.written)
		if !trial {
			// Nothing was written in a trial. An entry for the pod is from an earlier
			// attempt, and PreBind counts on it if the pod is reserved for good later.
			p.unreserveFor(ctx, pod, c.claim)
		}
	}
}

// giveBack ends the pod's part in an allocation that is in flight. With written
// the allocation is in the API and need not be in flight for anybody.
func (p *Plugin) giveBack(c *podClaim, group *groupState, written bool) {
	if c.inFlight == nil {
		return
	}
	ended := p.engine.flights.end(p.manager.ResourceClaims(), c.flight, c.inFlight, written)
	c.inFlight, c.reserved, c.inDoubt = nil, nil, false
	if ended && group != nil {
		group.pending.Delete(c.flight)
	}
}

// unreserveFor takes the pod out of the claim's list of consumers. A group's
// reservation stays: others of the group may need it, and PodGroupPostFilter drops
// it when none does.
func (p *Plugin) unreserveFor(ctx context.Context, pod *corev1.Pod, claim *resourceapi.ResourceClaim) {
	if claim.Status.Allocation == nil || !resourceclaim.IsReservedForPod(pod, claim, false) {
		return
	}
	updated, err := p.removeConsumer(ctx, claim, pod.UID)
	if err != nil {
		// The pod is tried again, and comes by here again if it fails again.
		klog.FromContext(ctx).Error(err, "Could not unreserve claim", "pod", klog.KObj(pod), "resourceclaim", klog.KObj(claim))
		return
	}
	// PreBind writes nothing for a pod that a claim seems to be reserved for. A patch
	// that found nothing to change brings nothing that the manager has not seen.
	if updated.ResourceVersion != claim.ResourceVersion {
		p.assume(ctx, updated)
	}
}

// removeConsumer takes one entry out of the claim's list of consumers. The patch
// names the entry and the claim's UID, so it needs no recent claim.
func (p *Plugin) removeConsumer(ctx context.Context, claim *resourceapi.ResourceClaim, consumer types.UID) (*resourceapi.ResourceClaim, error) {
	patch := fmt.Sprintf(`{"metadata":{"uid":%q},"status":{"reservedFor":[{"$patch":"delete","uid":%q}]}}`, claim.UID, consumer)
	return p.client.ResourceV1().ResourceClaims(claim.Namespace).Patch(ctx, claim.Name, types.StrategicMergePatchType, []byte(patch), metav1.PatchOptions{}, "status")
}
