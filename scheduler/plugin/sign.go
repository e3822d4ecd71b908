package plugin

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	fwk "k8s.io/kube-scheduler/framework"
)

// SignPod keeps pods with claims out of batches: where one of them fits says
// nothing about the next, which gets other devices. Without this method the
// scheduler would batch no pod of the profile at all. Pods with extended
// resources alone are signed, as upstream has it: their claims differ only by the
// pod's requests, which NodeResourcesFit signs.
func (p *Plugin) SignPod(_ context.Context, pod *corev1.Pod) ([]fwk.SignFragment, *fwk.Status) {
	if len(pod.Spec.ResourceClaims) > 0 {
		return nil, fwk.NewStatus(fwk.Unschedulable, "pods with dra resource claims are not signable")
	}
	return nil, nil
}
