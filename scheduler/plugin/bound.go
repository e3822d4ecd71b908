package plugin

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/klog/v2"
)

// mayRun says whether a pod that is given up may be bound all the same: its binding
// may have been carried out and only the answer lost. Such a pod runs, and what it
// was promised must stay its own, or its devices could be given to another pod.
//
// Only a pod for which PreBind has done everything can be bound, and only then is the
// API asked. Where it does not tell, the pod may run: a reservation too many is found
// again in the pod's next cycle, and the pod's deletion ends it.
func (p *Plugin) mayRun(ctx context.Context, pod *corev1.Pod, s *podState) bool {
	for i := range s.claims {
		c := &s.claims[i]
		// A special claim that the node did not need is not there to be written.
		if !isSpecial(c.claim) && !(c.allocated() && p.reserves(pod, c)) {
			return false
		}
	}
	// The caller's time may be what ran out.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), doubtTry)
	defer cancel()
	current, err := p.client.CoreV1().Pods(pod.Namespace).Get(ctx, pod.Name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return false
	}
	if err != nil {
		klog.FromContext(ctx).Error(err, "Pod stays in its claims, because it may have been bound", "pod", klog.KObj(pod))
		return true
	}
	return current.UID == pod.UID && current.Spec.NodeName != ""
}
