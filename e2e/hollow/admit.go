package hollow

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/kubernetes/pkg/kubelet/lifecycle"
	schedulerframework "k8s.io/kubernetes/pkg/scheduler/framework"
)

// noPreemption: nothing is removed to make room for critical pods.
type noPreemption struct{}

// HandleAdmissionFailure implements lifecycle.AdmissionFailureHandler.
func (noPreemption) HandleAdmissionFailure(_ context.Context, _ *corev1.Pod, reasons []lifecycle.PredicateFailureReason, _ lifecycle.Operation) ([]lifecycle.PredicateFailureReason, error) {
	return reasons, nil
}

// noDevicePlugins: what device plugins would have is in the capacity already.
func noDevicePlugins(*schedulerframework.NodeInfo, *lifecycle.PodAdmitAttributes) error { return nil }

// admit decides whether the node takes the pod, once: one that was refused stays so,
// though there may be room before that is written. A pod that has been started before
// was admitted then. One pod is decided on at a time: each counts those before.
func (n *Node) admit(ctx context.Context, p *pod) lifecycle.PodAdmitResult {
	n.mu.Lock()
	defer n.mu.Unlock()
	if p.admitted || p.object.Status.StartTime != nil {
		p.admitted = true
		return lifecycle.PodAdmitResult{Admit: true}
	}
	if p.refused != nil {
		return *p.refused
	}
	var others []*corev1.Pod
	for _, other := range n.pods {
		if other != p && other.admitted && !other.released {
			others = append(others, other.object)
		}
	}
	result := n.admitter.Admit(ctx, &lifecycle.PodAdmitAttributes{Pod: p.object, OtherPods: others, Operation: lifecycle.AddOperation})
	p.admitted = result.Admit
	if !result.Admit {
		p.refused = &result
	}
	return result
}
