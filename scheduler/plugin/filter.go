package plugin

import (
	"context"
	"errors"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/component-helpers/nodedeclaredfeatures/features/draoptionalnodeoperations"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/dray-dev/dray/allocator"
)

// Filter says whether the pod's claims can be used on the node: those that are
// allocated as they are, the others by finding devices. What is found is kept for
// Reserve.
//
// A node that cannot use an allocated claim is not searched: nothing that could be
// found would help. Upstream searches it all the same.
func (p *Plugin) Filter(ctx context.Context, cycle fwk.CycleState, pod *corev1.Pod, info fwk.NodeInfo) *fwk.Status {
	if !p.enabled || p.resizing(pod) {
		return nil
	}
	s, err := readState(cycle)
	if err != nil {
		return failed(ctx, pod, err)
	}
	if len(s.claims) == 0 {
		return nil
	}
	if s.timed {
		defer p.took(pointFilter, p.clock.Now())
	}
	status := p.filterNode(ctx, s, pod, info)
	s.noteRefusal(info.Node().Name, status)
	if status.Code() == fwk.Error {
		p.keepAttempt(pod, s, "") // the cycle ends here
	}
	return status
}

func (p *Plugin) filterNode(ctx context.Context, s *podState, pod *corev1.Pod, info fwk.NodeInfo) *fwk.Status {
	node := info.Node()
	special, mappings, status := p.specialForNode(ctx, s, pod, info)
	if status != nil {
		return status
	}
	if special == nil && s.onlySpecial() {
		return nil // a device plugin has what the pod asks for
	}
	if status := p.checkAllocated(ctx, s, pod, node); status != nil {
		return status
	}
	if s.allocator == nil {
		return nil
	}
	if special == nil {
		if known, status := p.known(ctx, s, pod, node); known {
			return status
		}
	}
	result, status := p.search(ctx, s, pod, node, special)
	if status != nil {
		return status
	}
	result.mappings = mappings
	s.found(node, result)
	return nil
}

// known is search, if there is nothing to search for, or if the answer of an earlier
// pod holds. Then it needs no context of its own and leaves the result to be written.
func (p *Plugin) known(ctx context.Context, s *podState, pod *corev1.Pod, node *corev1.Node) (bool, *fwk.Status) {
	if len(s.wanted) == 0 {
		s.found(node, nil)
		return true, nil
	}
	ours, ok := s.allocator.(*allocator.Allocator)
	if !ok {
		return false, nil
	}
	answer, known, err := ours.Known(ctx, node, s.wanted)
	switch {
	case !known:
		return false, nil
	case err != nil:
		return true, p.searchFailed(ctx, pod, node, err)
	case answer.Fits:
		s.found(node, nil)
		return true, nil
	case answer.Why == nil || p.args.Reasons == ReasonsUpstream:
		limited, cancel := p.limit(ctx)
		defer cancel()
		return true, p.doesNotFit(limited, s, pod, node, s.wanted)
	}
	p.exemplify(ctx, s, node, s.wanted, answer.Why.Reason)
	return true, p.refuse(ctx, pod, cause(answer.Why.Cause), answer.Why.Reason, answer.Why.Reason)
}

// limit ends the context when a search has taken as long as it may.
func (p *Plugin) limit(ctx context.Context) (context.Context, context.CancelFunc) {
	if timeout := p.args.FilterTimeout.Duration; p.features.EnableDRASchedulerFilterTimeout && timeout > 0 {
		return context.WithTimeout(ctx, timeout)
	}
	return ctx, func() {}
}

// checkAllocated looks for claims that have devices already, or are about to get
// them for another pod of the group, and cannot be used on the node. PostFilter may
// free those that have.
func (p *Plugin) checkAllocated(ctx context.Context, s *podState, pod *corev1.Pod, node *corev1.Node) *fwk.Status {
	first, why := "", cause("")
	var unavailable []int
	for i := range s.claims {
		c := &s.claims[i]
		unusable := p.unusable(c, node)
		if unusable == "" {
			continue
		}
		if first == "" {
			first, why = about(c.claim, "", unusableReasons[unusable]), unusable
		}
		if c.allocated() {
			unavailable = append(unavailable, i)
		}
	}
	if first == "" {
		return nil
	}
	if len(unavailable) > 0 {
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.unavailable == nil {
			s.unavailable = sets.New[int]()
		}
		s.unavailable.Insert(unavailable...)
	}
	return p.refuse(ctx, pod, why, "resourceclaim not available on the node", first)
}

// unusable says why the devices that the claim has, or is about to have, cannot be
// used on the node; it is empty if they can, or if the claim has none.
func (p *Plugin) unusable(c *podClaim, node *corev1.Node) cause {
	allocation := c.claim.Status.Allocation
	if allocation == nil {
		allocation = c.pending
	}
	switch {
	case allocation == nil:
		return ""
	case c.availableOn != nil && !c.availableOn.Match(node):
		return causeElsewhere
	case skipsNodeOperations(allocation) && !declaresOptionalNodeOperations(node):
		return causeNodeFeature
	case !c.allocated() || !bindingConditionsOn(p.features):
		return ""
	}
	ready, err := readyForBinding(c.claim)
	switch {
	case err != nil:
		return causeBindingFailed
	case !ready && p.bindingTimedOut(c.claim):
		return causeBindingTimeout
	}
	return ""
}

// unusableReasons says the same to the pod's owner.
var unusableReasons = map[cause]string{
	causeElsewhere:      "its devices are not available on the node",
	causeNodeFeature:    "its devices need the node to declare " + draoptionalnodeoperations.DRAOptionalNodeOperationsFeatureGate,
	causeBindingFailed:  "its devices failed to bind",
	causeBindingTimeout: "its devices took too long to bind",
}

func skipsNodeOperations(allocation *resourceapi.AllocationResult) bool {
	return slices.ContainsFunc(allocation.Devices.Results, func(device resourceapi.DeviceRequestAllocationResult) bool {
		return len(device.SkipNodeOperations) > 0
	})
}

func declaresOptionalNodeOperations(node *corev1.Node) bool {
	return slices.Contains(node.Status.DeclaredFeatures, draoptionalnodeoperations.DRAOptionalNodeOperationsFeatureGate)
}

// search finds devices for the claims that have none. special is the node's claim
// for extended resources, or nil.
func (p *Plugin) search(ctx context.Context, s *podState, pod *corev1.Pod, node *corev1.Node, special *resourceapi.ResourceClaim) (*nodeResult, *fwk.Status) {
	claims := s.wanted
	if special != nil {
		claims = append(slices.Clone(claims), special) // it is the last of the pod's claims
	}
	limited, cancel := p.limit(ctx)
	defer cancel()
	found, err := s.allocator.Allocate(limited, node, claims)
	if err != nil {
		return nil, p.searchFailed(ctx, pod, node, err)
	}
	if len(found) != len(claims) {
		return nil, p.doesNotFit(limited, s, pod, node, claims)
	}
	return s.newResult(found, special), nil
}

// doesNotFit says why there are no devices for the claims.
func (p *Plugin) doesNotFit(ctx context.Context, s *podState, pod *corev1.Pod, node *corev1.Node, claims []*resourceapi.ResourceClaim) *fwk.Status {
	reason, why := p.whyNot(ctx, s, node, claims)
	return p.refuse(ctx, pod, why, reason, reason)
}

// searchFailed is the status for an error of the search.
func (p *Plugin) searchFailed(ctx context.Context, pod *corev1.Pod, node *corev1.Node, err error) *fwk.Status {
	switch {
	case ctx.Err() == nil && errors.Is(err, context.DeadlineExceeded):
		// An error rather than a refusal: the pod is tried again after a pause and
		// does not wait for an event that may never come.
		return failed(ctx, pod, fmt.Errorf("node %s: timed out trying to allocate devices", node.Name))
	case concernsNodeOnly(err):
		return p.refuse(ctx, pod, causeInvalidPools, err.Error(), err.Error())
	case ctx.Err() != nil:
		// The scheduler has enough nodes, or is about to stop.
		reason := fmt.Sprintf("asked by caller to stop allocating devices: %v", context.Cause(ctx))
		return p.refuse(ctx, pod, causeStopped, reason, reason)
	}
	// Some claim, class or device is wrong. Other nodes would not help, so the cycle
	// ends here.
	klog.FromContext(ctx).V(5).Info("Search for devices failed", "pod", klog.KObj(pod), "node", klog.KObj(node), "err", err)
	return failed(ctx, pod, err)
}
