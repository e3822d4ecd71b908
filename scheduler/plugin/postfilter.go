package plugin

import (
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/util/retry"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"
)

// PostFilter runs after no node would do. A claim that stands in the way and that
// nobody else uses loses its allocation, so that the pod's next cycle can choose
// other devices; a claim for extended resources that is left from an earlier
// attempt goes. The pod stays unschedulable until the event of that change. With
// nothing to free, the status has no text: it would hide what Filter said.
func (p *Plugin) PostFilter(ctx context.Context, cycle fwk.CycleState, pod *corev1.Pod, _ fwk.NodeToStatusReader) (*fwk.PostFilterResult, *fwk.Status) {
	if !p.enabled || p.resizing(pod) {
		return nil, fwk.NewStatus(fwk.Unschedulable)
	}
	defer p.took(pointPostFilter, p.clock.Now())
	s, err := readState(cycle)
	if err != nil {
		return nil, failed(ctx, pod, err)
	}
	p.keepAttempt(pod, s, "")
	_, status := p.makeRoom(ctx, pod, s)
	return nil, status
}

// makeRoom frees at most one claim of the pod, and says whether it did, or tried.
func (p *Plugin) makeRoom(ctx context.Context, pod *corev1.Pod, s *podState) (bool, *fwk.Status) {
	for _, i := range s.unavailableClaims() {
		claim := s.claims[i].claim
		if i == s.special || !onlyConsumer(claim, pod.UID) {
			continue
		}
		if err := p.deallocate(ctx, claim); err != nil {
			return true, failed(ctx, pod, err)
		}
		return true, fwk.NewStatus(fwk.Unschedulable, p.words("deallocation of ResourceClaim completed",
			about(claim, "", "its devices cannot be used and were given back")))
	}
	if special := s.specialClaim(); special != nil && !isSpecial(special.claim) {
		if err := p.deleteClaim(ctx, special.claim); err != nil {
			return true, failed(ctx, pod, err)
		}
		return true, fwk.NewStatus(fwk.Unschedulable, p.words("deletion of ResourceClaim completed",
			about(special.claim, "", "left from an earlier attempt and deleted")))
	}
	return false, fwk.NewStatus(fwk.Unschedulable)
}

// unavailableClaims are the indices of claims that some node could not use, in the
// pod's order.
func (s *podState) unavailableClaims() []int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return sets.List(s.unavailable)
}

// onlyConsumer says whether nobody but the given consumer uses the claim.
func onlyConsumer(claim *resourceapi.ResourceClaim, consumer types.UID) bool {
	return !slices.ContainsFunc(claim.Status.ReservedFor, func(other resourceapi.ResourceClaimConsumerReference) bool {
		return other.UID != consumer
	})
}

// deallocate takes the claim's devices away. The API server refuses if the claim
// has changed since it was looked at.
func (p *Plugin) deallocate(ctx context.Context, claim *resourceapi.ResourceClaim) error {
	claim = claim.DeepCopy()
	claim.Status.ReservedFor = nil
	claim.Status.Allocation = nil
	claim.Status.Devices = nil
	if _, err := p.client.ResourceV1().ResourceClaims(claim.Namespace).UpdateStatus(ctx, claim, metav1.UpdateOptions{}); err != nil {
		return fmt.Errorf("deallocate claim %s: %w", klog.KObj(claim), err)
	}
	return nil
}

// deleteClaim deletes a claim that the plugin created, finalizer and all. A claim
// that is gone is fine. The claim is looked up: where an answer was lost it may have
// got the finalizer since the caller saw it, and with that it would stay until its
// controller looks at it, which for a claim that no pod's status names is never. The
// write may still be on its way, so no version is deleted but the one looked at.
func (p *Plugin) deleteClaim(ctx context.Context, claim *resourceapi.ResourceClaim) error {
	client := p.client.ResourceV1().ResourceClaims(claim.Namespace)
	err := retry.RetryOnConflict(retry.DefaultRetry, func() error {
		current, err := client.Get(ctx, claim.Name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		if current.UID != claim.UID {
			return nil // another claim has the name now
		}
		if i := slices.Index(current.Finalizers, resourceapi.Finalizer); i >= 0 {
			current.Finalizers = slices.Delete(current.Finalizers, i, i+1)
			if current, err = client.Update(ctx, current, metav1.UpdateOptions{}); err != nil {
				return fmt.Errorf("remove finalizer: %w", err)
			}
		}
		lookedAt := metav1.Preconditions{UID: &current.UID, ResourceVersion: &current.ResourceVersion}
		return client.Delete(ctx, claim.Name, metav1.DeleteOptions{Preconditions: &lookedAt})
	})
	if err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("delete claim %s: %w", klog.KObj(claim), err)
	}
	return nil
}
