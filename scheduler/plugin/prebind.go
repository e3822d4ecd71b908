package plugin

import (
	"context"
	"errors"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/retry"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"
)

// PreBindPreFlight says whether PreBind has anything to do.
func (p *Plugin) PreBindPreFlight(ctx context.Context, cycle fwk.CycleState, pod *corev1.Pod, _ string) (*fwk.PreBindPreFlightResult, *fwk.Status) {
	result := &fwk.PreBindPreFlightResult{AllowParallel: true}
	if !p.enabled {
		return result, fwk.NewStatus(fwk.Skip)
	}
	s, err := readState(cycle)
	if err != nil {
		return result, failed(ctx, pod, err)
	}
	if len(s.claims) == 0 {
		return result, fwk.NewStatus(fwk.Skip)
	}
	return result, nil
}

// PreBind writes down what Reserve took: each claim's finalizer, allocation and
// consumer. Then it waits until devices with binding conditions are ready. It runs
// beside the cycles of other pods.
//
// An allocation stays in flight until all of this has succeeded or Unreserve gives
// it back, so that its devices do not look free meanwhile (package invariant 1).
func (p *Plugin) PreBind(ctx context.Context, cycle fwk.CycleState, pod *corev1.Pod, nodeName string) *fwk.Status {
	if !p.enabled {
		return nil
	}
	defer p.took(pointPreBind, p.clock.Now())
	s, err := readState(cycle)
	if err != nil {
		return failed(ctx, pod, err)
	}
	group, err := readGroup(cycle.GetPodGroupSchedulingCycle())
	if err != nil {
		return failed(ctx, pod, err)
	}
	for i := range s.claims {
		c := &s.claims[i]
		if p.reserves(pod, c) || i == s.special && c.reserved == nil {
			continue // done, or a special claim that the node does not need
		}
		if i == s.special {
			err = p.bindSpecial(ctx, s, pod, nodeName)
		} else {
			err = p.bindInTurn(ctx, c)
		}
		if err != nil {
			return failed(ctx, pod, err)
		}
	}
	if status := p.awaitBinding(ctx, s, pod, nodeName); status != nil {
		return status
	}
	for i := range s.claims {
		if i == s.special && !s.claims[i].known {
			p.giveBackWhen(ctx, pod, &s.claims[i], group, p.seen)
			continue
		}
		p.giveBack(&s.claims[i], group, true)
	}
	p.engine.attempts.forget(types.NamespacedName{Namespace: pod.Namespace, Name: pod.Name})
	return nil
}

// assume tells the manager what the API server returned before the informer does.
// It can only fail if the informer already knows better.
func (p *Plugin) assume(ctx context.Context, claim *resourceapi.ResourceClaim) {
	if err := p.manager.ResourceClaims().AssumeClaimAfterAPICall(claim); err != nil {
		klog.FromContext(ctx).V(5).Info("Claim not assumed", "resourceclaim", klog.KObj(claim), "resourceVersion", claim.ResourceVersion, "err", err)
	}
}

// bindInTurn is bindClaim and assume, when no other pod of this process is at it.
func (p *Plugin) bindInTurn(ctx context.Context, c *podClaim) error {
	unlock, err := p.engine.writes.lock(ctx, c.claim.UID)
	if err != nil {
		return fmt.Errorf("wait for other pods to be reserved in claim %s: %w", klog.KObj(c.claim), err)
	}
	defer unlock()
	if err := p.bindClaim(ctx, c); err != nil {
		return err
	}
	p.assume(ctx, c.claim)
	return nil
}

// latest is the claim as the manager knows it, with what the pods before have written,
// or as the cycle did. It may be another claim of the same name.
func (p *Plugin) latest(c *podClaim) *resourceapi.ResourceClaim {
	if known, err := p.manager.ResourceClaims().Get(c.claim.Namespace, c.claim.Name); err == nil {
		return known
	}
	return c.claim
}

// bindClaim writes the claim's allocation and consumer, and puts the result into
// c. On a conflict it looks at the claim as it is now and decides anew.
func (p *Plugin) bindClaim(ctx context.Context, c *podClaim) error {
	client := p.client.ResourceV1().ResourceClaims(c.claim.Namespace)
	current := p.latest(c).DeepCopy()
	first := true
	err := retry.RetryOnConflict(retry.DefaultRetry, func() error {
		if !first {
			latest, err := client.Get(ctx, c.claim.Name, metav1.GetOptions{})
			if err != nil {
				return fmt.Errorf("get updated claim %s after conflict: %w", klog.KObj(c.claim), err)
			}
			current = latest
			// What conflicted may have been this pod's own write, which the client has
			// repeated. Now it is known.
			c.inDoubt = c.reserved != nil && current.Status.Allocation != nil
		}
		first = false
		wanted, err := p.wantedAllocation(c, current)
		if err != nil {
			return err
		}
		if wanted != nil && !slices.Contains(current.Finalizers, resourceapi.Finalizer) {
			// A status update does not write metadata.
			current.Finalizers = append(current.Finalizers, resourceapi.Finalizer)
			updated, err := client.Update(ctx, current, metav1.UpdateOptions{})
			if err != nil {
				return fmt.Errorf("add finalizer to claim %s: %w", klog.KObj(current), err)
			}
			current = updated
		}
		if wanted != nil {
			current.Status.Allocation = wanted
		}
		switch {
		case !consumes(current, c.consumer):
			if full(current) {
				return fmt.Errorf("claim %s is reserved for %d consumers, which is as many as it can be", klog.KObj(current), len(current.Status.ReservedFor))
			}
			current.Status.ReservedFor = append(current.Status.ReservedFor, c.consumer)
		case wanted == nil:
			return nil // a pod of the same group was faster
		}
		if bindingConditionsOn(p.features) {
			current.Status.Allocation = p.stamped(current.Status.Allocation)
		}
		updated, err := client.UpdateStatus(ctx, current, metav1.UpdateOptions{})
		c.inDoubt = err != nil && c.reserved != nil && (c.inDoubt || mayHaveArrived(err) || apierrors.IsConflict(err))
		switch {
		case err != nil && c.reserved != nil:
			return fmt.Errorf("add allocation and reservation to claim %s: %w", klog.KObj(current), err)
		case err != nil:
			return fmt.Errorf("add reservation to claim %s: %w", klog.KObj(current), err)
		}
		current = updated
		return nil
	})
	if err != nil {
		return err
	}
	c.claim, c.inDoubt = current, false
	return nil
}

// wantedAllocation returns the allocation to write into the claim as it is now, or
// nil if it has the right one. The error says that the cycle was decided on a
// claim that is no more.
func (p *Plugin) wantedAllocation(c *podClaim, current *resourceapi.ResourceClaim) (*resourceapi.AllocationResult, error) {
	name := klog.KObj(current)
	has := current.Status.Allocation
	switch {
	case current.DeletionTimestamp != nil:
		return nil, fmt.Errorf("claim %s got deleted in the meantime", name)
	case current.UID != c.claim.UID:
		return nil, fmt.Errorf("claim %s got deleted and created anew in the meantime", name)
	case c.reserved == nil && has == nil:
		return nil, fmt.Errorf("claim %s got deallocated elsewhere in the meantime", name)
	case c.reserved == nil && !p.sameDevices(has, c.claim.Status.Allocation),
		c.reserved != nil && has != nil && !p.sameDevices(has, c.reserved):
		return nil, fmt.Errorf("claim %s got allocated elsewhere in the meantime", name)
	case has != nil:
		// Allocated before the cycle, or with what is reserved, by a pod of the same
		// group that was faster.
		return nil, nil
	case bindingConditionsOn(p.features):
		return p.stamped(c.reserved), nil
	}
	return p.copied(c.reserved), nil
}

// sameDevices says whether two allocations differ in nothing but the time.
func (p *Plugin) sameDevices(a, b *resourceapi.AllocationResult) bool {
	a, b = p.copied(a), p.copied(b)
	a.AllocationTimestamp, b.AllocationTimestamp = nil, nil
	return apiequality.Semantic.DeepEqual(a, b)
}

// stamped sets the allocation's time, if it has none, and returns a copy. An
// allocation in flight may be bound by several pods of a group at once, and all of
// them have to write the same, so this is the one change to an allocation after
// Filter, and stamping protects it.
func (p *Plugin) stamped(allocation *resourceapi.AllocationResult) *resourceapi.AllocationResult {
	p.stamping.Lock()
	defer p.stamping.Unlock()
	if allocation.AllocationTimestamp == nil {
		now := metav1.NewTime(p.clock.Now())
		allocation.AllocationTimestamp = &now
	}
	return allocation.DeepCopy()
}

func (p *Plugin) copied(allocation *resourceapi.AllocationResult) *resourceapi.AllocationResult {
	p.stamping.Lock()
	defer p.stamping.Unlock()
	return allocation.DeepCopy()
}

// reserves says whether the claim is reserved for the pod, or for its group as it
// is now. A group of the same name that is gone does not count: when the claim's
// controller drops its entry, the claim would lose its devices.
func (p *Plugin) reserves(pod *corev1.Pod, c *podClaim) bool {
	if c.consumer.UID != pod.UID {
		return consumes(c.claim, c.consumer) || consumes(c.claim, podConsumer(pod))
	}
	return p.reservedFor(pod, c.claim)
}

func consumes(claim *resourceapi.ResourceClaim, consumer resourceapi.ResourceClaimConsumerReference) bool {
	return slices.ContainsFunc(claim.Status.ReservedFor, func(other resourceapi.ResourceClaimConsumerReference) bool {
		return other.UID == consumer.UID
	})
}

// errNoSpecial cannot happen: Reserve takes a special claim only where Filter made
// one.
var errNoSpecial = errors.New("extended resource claim not found for node")
