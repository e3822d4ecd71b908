package plugin

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"
	"k8s.io/kubernetes/pkg/scheduler/util/assumecache"
)

// Nobody may think that devices are free while a claim in the API may have them.
// Where a pod gives a claim up and its fate is not known, because the answer to a
// write got lost, a deletion failed, or the informer is behind, its devices stay in
// flight until it is. That takes as long as it takes: for an API server that
// answers nothing, no other pod could be bound anyway.

// doubtTry bounds one try to learn a claim's fate.
const doubtTry = 10 * time.Second

// doubtPauses are between tries: 0.1 s to 30 s.
func doubtPauses(first time.Duration) wait.Backoff {
	return wait.Backoff{Duration: first, Factor: 2, Steps: 20, Cap: 30 * time.Second}
}

// fate looks whether a claim's fate is known by now, and tells the manager what it
// learns. false means that it has to be asked again.
type fate func(ctx context.Context, c *podClaim) bool

// giveBackWhen gives the claim's devices back as soon as its fate is known: at once,
// or later, when the pod has nothing to do with it any more.
func (p *Plugin) giveBackWhen(ctx context.Context, pod *corev1.Pod, c *podClaim, group *groupState, known fate) {
	// Whoever calls may have run out of time, which is what caused the doubt.
	try, cancel := context.WithTimeout(context.WithoutCancel(ctx), doubtTry)
	defer cancel()
	if known(try, c) || c.inFlight == nil {
		p.giveBack(c, group, false)
		return
	}
	logger := klog.FromContext(ctx)
	logger.Info("Devices stay in flight until it is known what became of the claim", "pod", klog.KObj(pod), "resourceclaim", klog.KObj(c.claim))
	// An entry for the pod in a claim that turns out to have been written stays: the
	// pod may count on it in its next cycle by then.
	later := *c
	c.inFlight, c.reserved, c.inDoubt = nil, nil, false
	p.engine.doubts.Add(1)
	go func() {
		defer p.engine.doubts.Add(-1)
		err := doubtPauses(p.doubtPause).DelayFunc().Until(p.background, false, true, func(ctx context.Context) (bool, error) {
			try, cancel := context.WithTimeout(ctx, doubtTry)
			defer cancel()
			return known(try, &later), nil
		})
		if err != nil {
			return // the process ends, and the next one reads the API
		}
		p.giveBack(&later, nil, false)
		logger.Info("Claim is no longer in doubt", "pod", klog.KObj(pod), "resourceclaim", klog.KObj(later.claim), "allocated", later.allocated())
		p.wake(logger)
	}()
}

// wake lets all pods with claims be tried again that no event would: what left
// flight shows in none.
func (p *Plugin) wake(logger klog.Logger) {
	pods := map[string]*corev1.Pod{}
	for _, object := range p.pods.List() {
		pod, ok := object.(*corev1.Pod)
		if !ok || pod.Spec.NodeName != "" {
			continue
		}
		if _, backed := p.extendedResources(pod); backed || len(pod.Spec.ResourceClaims) > 0 {
			pods[cache.MetaObjectToName(pod).String()] = pod
		}
	}
	p.handle.Activate(logger, pods)
}

// written says what became of a write of an allocation: it has arrived, or it never
// will.
func (p *Plugin) written(ctx context.Context, c *podClaim) bool {
	if !c.inDoubt {
		return true
	}
	client := p.client.ResourceV1().ResourceClaims(c.claim.Namespace)
	claim, err := client.Get(ctx, c.claim.Name, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err), err == nil && claim.UID != c.claim.UID:
		return true
	case err != nil:
		return false
	case claim.Status.Allocation != nil:
		// Before the devices leave flight: the informer may be behind.
		c.claim = claim
		p.assume(ctx, claim)
		return true
	}
	// The write may still be on its way. PreBind has set the finalizer, which a
	// claim without devices does not need; once it is gone the write conflicts.
	i := slices.Index(claim.Finalizers, resourceapi.Finalizer)
	if i < 0 {
		return true
	}
	claim.Finalizers = slices.Delete(claim.Finalizers, i, i+1)
	_, err = client.Update(ctx, claim, metav1.UpdateOptions{})
	return err == nil || apierrors.IsNotFound(err)
}

// dropped deletes the special claim, if it was created.
func (p *Plugin) dropped(ctx context.Context, c *podClaim) bool {
	if isSpecial(c.claim) {
		return true
	}
	if err := p.deleteClaim(ctx, c.claim); err != nil {
		// The pod's next cycle may find it as well, and PostFilter deletes it.
		klog.FromContext(ctx).Error(err, "Could not delete claim for extended resources", "resourceclaim", klog.KObj(c.claim))
		return false
	}
	return true
}

// seen says whether the manager knows a claim that was created and allocated, or
// need not, because it is gone.
func (p *Plugin) seen(ctx context.Context, c *podClaim) bool {
	if p.assumed(c.claim) {
		return true
	}
	claim, err := p.client.ResourceV1().ResourceClaims(c.claim.Namespace).Get(ctx, c.claim.Name, metav1.GetOptions{})
	return apierrors.IsNotFound(err) || err == nil && claim.UID != c.claim.UID
}

// assumed tells the manager about a claim and says whether it knows it: a manager
// has to have seen a claim before it can assume a later version. Any other error
// means that it knows a newer one.
func (p *Plugin) assumed(claim *resourceapi.ResourceClaim) bool {
	return !errors.Is(p.manager.ResourceClaims().AssumeClaimAfterAPICall(claim), assumecache.ErrNotFound)
}

// mayHaveArrived says whether a write may have taken effect although it returned
// the error: the server did not say that it refused.
func mayHaveArrived(err error) bool {
	status := apierrors.APIStatus(nil)
	return !errors.As(err, &status) || status.Status().Code >= http.StatusInternalServerError
}
