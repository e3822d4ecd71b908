package plugin

import (
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	podresource "k8s.io/component-helpers/resource"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"
)

// PreFilter collects the pod's claims, refuses the pod if one of them cannot be
// used on any node for now, and prepares an allocator for the rest. It never
// searches: the scheduler runs it alone and without a time limit. It never
// narrows the nodes down either: nodes that are left out would be reported as
// refused for good, and Filter would not see which claims stand in the way.
func (p *Plugin) PreFilter(ctx context.Context, cycle fwk.CycleState, pod *corev1.Pod, _ []fwk.NodeInfo) (result *fwk.PreFilterResult, status *fwk.Status) {
	if !p.enabled || p.resizing(pod) {
		return nil, fwk.NewStatus(fwk.Skip)
	}
	defer p.took(pointPreFilter, p.clock.Now())
	// A pod that is refused below leaves a state without claims, and later
	// extension points have nothing to do.
	s := &podState{special: -1, timed: p.engine.timesNodes()}
	cycle.Write(stateKey, s)
	defer func() {
		if !status.IsSuccess() && !status.IsSkip() {
			p.keepAttempt(pod, s, status.Message())
		}
	}()
	group, err := joinGroup(cycle, pod, s)
	if err != nil {
		return nil, failed(ctx, pod, err)
	}
	claims, err := p.userClaims(pod)
	if err != nil {
		why := causeClaimMissing
		if errors.As(err, &noGroupError{}) {
			why = causeGroupMissing
		}
		return nil, p.refuse(ctx, pod, why, err.Error(), err.Error())
	}
	special, scalars, err := p.specialClaimFor(pod)
	if err != nil {
		return nil, failed(ctx, pod, err)
	}
	specialIndex := -1
	if special != nil {
		specialIndex = len(claims)
		claims = append(claims, podClaim{claim: special, consumer: podConsumer(pod), flight: special.UID})
	}
	if len(claims) == 0 {
		return nil, fwk.NewStatus(fwk.Skip)
	}
	search := false
	for i := range claims {
		if status := p.prepareClaim(ctx, pod, &claims[i], group, i == specialIndex); status != nil {
			return nil, status
		}
		search = search || !claims[i].allocated()
	}
	if search {
		if s.allocator, err = p.newAllocator(ctx); err != nil {
			return nil, failed(ctx, pod, fmt.Errorf("gather allocation state: %w", err))
		}
	}
	s.prepare(claims, specialIndex)
	s.scalars = scalars
	return nil, nil
}

// PreFilterExtensions returns nil: pods that come or go on a node change no
// claim.
func (p *Plugin) PreFilterExtensions() fwk.PreFilterExtensions { return nil }

// resizing says whether the cycle only looks for room for a pod that runs
// already.
func (p *Plugin) resizing(pod *corev1.Pod) bool {
	return p.features.EnableInPlacePodVerticalScalingSchedulerPreemption && podresource.IsPodResizeDeferred(pod)
}

// prepareClaim completes c, or says why no node can have the pod.
func (p *Plugin) prepareClaim(ctx context.Context, pod *corev1.Pod, c *podClaim, group *groupState, special bool) *fwk.Status {
	if c.allocated() {
		if full(c.claim) && !p.reservedFor(pod, c.claim) {
			return p.refuse(ctx, pod, causeFull, "resourceclaim in use", about(c.claim, "", "is reserved for as many pods as it can be"))
		}
		return p.setAvailable(ctx, pod, c, c.claim.Status.Allocation)
	}
	if pending := p.manager.ResourceClaims().GetPendingAllocation(c.claim.UID); pending != nil {
		if group == nil || !group.pending.Has(c.claim.UID) {
			// Whoever has reserved devices for it may still fail to write that down.
			// The event of the claim's update brings the pod back, or that of the other
			// pod's failure.
			return p.refuse(ctx, pod, causeInFlight, fmt.Sprintf("resource claim %s is in the process of being allocated", klog.KObj(c.claim)),
				about(c.claim, "", "is being allocated for another pod"))
		}
		c.pending = pending
		return p.setAvailable(ctx, pod, c, pending)
	}
	if special {
		return nil // its requests depend on the node
	}
	for i := range c.claim.Spec.Devices.Requests {
		if status := p.checkRequest(ctx, pod, c.claim, &c.claim.Spec.Devices.Requests[i]); status != nil {
			return status
		}
	}
	return nil
}

func (p *Plugin) setAvailable(ctx context.Context, pod *corev1.Pod, c *podClaim, allocation *resourceapi.AllocationResult) *fwk.Status {
	if allocation.NodeSelector == nil {
		return nil
	}
	selector, err := nodeaffinity.NewNodeSelector(allocation.NodeSelector)
	if err != nil {
		return failed(ctx, pod, fmt.Errorf("claim %s: node selector of the allocation: %w", klog.KObj(c.claim), err))
	}
	c.availableOn = selector
	return nil
}

// checkRequest refuses what no node can satisfy. The allocator checks the same
// later, for each node.
func (p *Plugin) checkRequest(ctx context.Context, pod *corev1.Pod, claim *resourceapi.ResourceClaim, request *resourceapi.DeviceRequest) *fwk.Status {
	switch {
	case request.Exactly != nil:
		return p.checkClass(ctx, pod, claim, request.Name, request.Exactly.DeviceClassName)
	case len(request.FirstAvailable) == 0:
		return p.refuse(ctx, pod, causeRequest, fmt.Sprintf("resource claim %s, request %s: unknown request type", klog.KObj(claim), request.Name),
			about(claim, request.Name, "has neither exactly nor firstAvailable, or a field that this scheduler does not know"))
	case !p.features.EnableDRAPrioritizedList:
		return p.refuse(ctx, pod, causeRequest,
			fmt.Sprintf("resource claim %s, request %s: has subrequests, but the DRAPrioritizedList feature is disabled", klog.KObj(claim), request.Name),
			about(claim, request.Name, "has firstAvailable and the feature gate DRAPrioritizedList is off"))
	}
	for i := range request.FirstAvailable {
		alternative := &request.FirstAvailable[i]
		if status := p.checkClass(ctx, pod, claim, request.Name+"/"+alternative.Name, alternative.DeviceClassName); status != nil {
			return status
		}
	}
	return nil
}

func (p *Plugin) checkClass(ctx context.Context, pod *corev1.Pod, claim *resourceapi.ResourceClaim, request, class string) *fwk.Status {
	if class == "" {
		if p.args.Reasons == ReasonsUpstream {
			return failed(ctx, pod, fmt.Errorf("request %s: unsupported request type", request))
		}
		return failed(ctx, pod, errors.New(about(claim, request, "names no device class")))
	}
	// Any other error is the allocator's to report, if it meets it as well.
	if _, err := p.manager.DeviceClasses().Get(class); apierrors.IsNotFound(err) {
		return p.refuse(ctx, pod, causeNoClass, fmt.Sprintf("request %s: device class %s does not exist", request, class),
			about(claim, request, fmt.Sprintf("device class %s does not exist", class)))
	}
	return nil
}
