package plugin

import (
	"context"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/dray-dev/dray/allocator"
)

// What a failure may cost: each problem that nodes pose is judged once, with few
// steps, and each reason that comes of it is explained in full once, for the endpoint.
const (
	explainedReasons = 64
	explanationSteps = 1 << 11
)

// unschedulable is the status of a pod that does not fit on a node, or on none,
// and that removing other pods would not help.
func unschedulable(reason string) *fwk.Status {
	return fwk.NewStatus(fwk.UnschedulableAndUnresolvable, reason)
}

// refuse is unschedulable in the words that the arguments ask for, and counts the
// cause. Our words say the same for all nodes that fail alike, so that the
// scheduler can add them up.
func (p *Plugin) refuse(ctx context.Context, pod *corev1.Pod, why cause, upstream, ours string) *fwk.Status {
	reason := p.words(upstream, ours)
	// Thousands of nodes may refuse a pod, and the arguments cost more than the check.
	if logger := klog.FromContext(ctx).V(5); logger.Enabled() {
		logger.Info("Pod does not fit", "pod", klog.KObj(pod), "cause", why, "reason", reason)
	}
	p.engine.metrics.refused(why)
	return unschedulable(reason)
}

func (p *Plugin) words(upstream, ours string) string {
	if p.args.Reasons == ReasonsUpstream {
		return upstream
	}
	return ours
}

// failed is the status of a failure that is nobody's fault of not fitting: the pod
// is tried again after a pause.
func failed(ctx context.Context, pod *corev1.Pod, err error) *fwk.Status {
	klog.FromContext(ctx).V(5).Info("DRA plugin failed", "plugin", Name, "pod", klog.KObj(pod), "err", err)
	return fwk.AsStatus(err)
}

const noRoom = "cannot allocate all claims"

// whyNot says why the claims do not fit on the node: a sentence, and what kind of
// thing is in the way.
func (p *Plugin) whyNot(ctx context.Context, s *podState, node *corev1.Node, claims []*resourceapi.ResourceClaim) (string, cause) {
	explainer, ok := s.allocator.(*allocator.Allocator)
	if !ok || p.args.Reasons == ReasonsUpstream {
		return noRoom, causeUnexplained
	}
	verdict, ok, err := explainer.Why(ctx, node, claims)
	if err != nil || !ok {
		return noRoom, causeUnexplained
	}
	reason := strings.Replace(verdict.Reason, "claim "+specialName, specialSubject, 1)
	p.exemplify(ctx, s, node, claims, reason)
	return reason, cause(verdict.Cause)
}

// exemplify explains the node in full, if it is the first of the cycle with the
// reason.
func (p *Plugin) exemplify(ctx context.Context, s *podState, node *corev1.Node, claims []*resourceapi.ResourceClaim, reason string) {
	if *p.args.ExplainAddress == "" {
		return // nobody can ask
	}
	s.mu.Lock()
	_, known := s.examples[reason]
	first := !known && len(s.examples) < explainedReasons
	if first {
		if s.examples == nil {
			s.examples = map[string]*allocator.Explanation{}
		}
		s.examples[reason] = nil // others need not
	}
	s.mu.Unlock()
	if !first {
		return
	}
	explanation, err := s.allocator.(*allocator.Allocator).Explain(ctx, node, claims)
	if err != nil || explanation.Fits {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.examples[reason] = explanation
}

// specialSubject is what a special claim is called in reasons: its name means
// nothing to the pod's owner.
const specialSubject = "extended resources"

// about begins a reason of ours with the claim it is about. Claims of a pod are in
// its namespace, which is left out.
func about(claim *resourceapi.ResourceClaim, request, rest string) string {
	subject := "claim " + claim.Name
	if isSpecial(claim) {
		subject = specialSubject
	}
	if request != "" {
		subject += ", request " + request
	}
	return fmt.Sprintf("%s: %s", subject, rest)
}
