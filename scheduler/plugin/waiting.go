package plugin

import (
	"sync"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"
)

// waitingPods are the pods that PreEnqueue keeps out of the queue. The scheduler asks
// about one again with each event that may concern it, and the metric counts pods.
//
// A pod that is deleted while it waits is dropped when as many again have come as
// waited then, so that there are never more than twice those that have waited at one
// time, but for a few.
type waitingPods struct {
	mu      sync.Mutex
	pods    map[types.NamespacedName]types.UID
	sweepAt int
}

// fewWaiting are not worth looking for those that are gone.
const fewWaiting = 1024

// begin notes that the pod waits, and says whether it did not before. known has the
// pods that there are.
func (w *waitingPods) begin(pod *corev1.Pod, known cache.Store) bool {
	name := types.NamespacedName{Namespace: pod.Namespace, Name: pod.Name}
	w.mu.Lock()
	defer w.mu.Unlock()
	if uid, found := w.pods[name]; found && uid == pod.UID {
		return false
	}
	if len(w.pods) >= max(w.sweepAt, fewWaiting) {
		for other := range w.pods {
			if _, exists, err := known.GetByKey(other.String()); err == nil && !exists {
				delete(w.pods, other)
			}
		}
		w.sweepAt = 2 * len(w.pods)
	}
	if w.pods == nil {
		w.pods = map[types.NamespacedName]types.UID{}
	}
	w.pods[name] = pod.UID
	return true
}

// end notes that the pod does not wait any more.
func (w *waitingPods) end(pod *corev1.Pod) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.pods, types.NamespacedName{Namespace: pod.Namespace, Name: pod.Name})
}
