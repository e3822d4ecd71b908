package hollow

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"
	podutil "k8s.io/kubernetes/pkg/api/v1/pod"
	"k8s.io/kubernetes/pkg/kubelet/lifecycle"

	"github.com/dray-dev/dray/e2e/hollow/shown"
)

// pod is a pod of the node. Object, gone, admitted, refused and released are guarded by
// Node.mu; the rest belongs to the worker that has the pod, of which there is one at
// a time.
type pod struct {
	// object is the newest that is known of it.
	object *corev1.Pod
	// gone: it is no longer in the API server.
	gone bool
	// admitted: the node has taken it, and counts it.
	admitted bool
	// refused: the node does not take it, and why.
	refused *lifecycle.PodAdmitResult
	// released: its resources are unprepared for good.
	released bool

	// prepared: its claims are, since this node runs.
	prepared bool
	// known: containers is as the status of the object says.
	known      bool
	containers map[string]*container
	// waiting is why its containers are not started yet.
	waiting, waitingReason string
	// said is the last problem that was told by an event, so that each is told once.
	said string
}

// container is one that has been started.
type container struct {
	since time.Time
	// ended: the time is over, or the pod is.
	ended bool
	until time.Time
	code  int32
	// given is nil if another run of the node has started it.
	given *shown.Given
}

// saw takes note of a pod as the API server knows it.
func (n *Node) saw(object any) {
	if seen, ok := object.(*corev1.Pod); ok {
		n.remember(seen)
		n.queue.Add(seen.UID)
	}
}

func (n *Node) remember(seen *corev1.Pod) {
	n.mu.Lock()
	defer n.mu.Unlock()
	p := n.pods[seen.UID]
	if p == nil {
		p = &pod{object: seen, containers: map[string]*container{}}
		n.pods[seen.UID] = p
	}
	// What this node has written may be newer than what it is told.
	if order, err := resourceversion.CompareResourceVersion(p.object.ResourceVersion, seen.ResourceVersion); err != nil || order <= 0 {
		p.object = seen
	}
}

// sawGone takes note that a pod is no longer there.
func (n *Node) sawGone(object any) {
	if last, ok := object.(cache.DeletedFinalStateUnknown); ok {
		object = last.Obj
	}
	seen, ok := object.(*corev1.Pod)
	if !ok {
		return
	}
	n.mu.Lock()
	p := n.pods[seen.UID]
	if p != nil {
		p.gone = true
	}
	n.mu.Unlock()
	if p != nil {
		n.queue.Add(seen.UID)
	}
}

// get returns a pod, its newest object, and whether it is gone; nil if it is not known.
func (n *Node) get(uid types.UID) (p *pod, object *corev1.Pod, gone bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if p = n.pods[uid]; p == nil {
		return nil, nil, false
	}
	return p, p.object, p.gone
}

func (n *Node) forget(uid types.UID) {
	n.mu.Lock()
	defer n.mu.Unlock()
	delete(n.pods, uid)
}

// setReleased says that the pod holds nothing of the node any more.
func (n *Node) setReleased(p *pod) {
	n.mu.Lock()
	defer n.mu.Unlock()
	p.released = true
}

func (n *Node) isReleased(p *pod) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return p.released
}

// activePods are those whose claims the DRA manager must keep prepared.
func (n *Node) activePods() []*corev1.Pod {
	n.mu.Lock()
	defer n.mu.Unlock()
	var active []*corev1.Pod
	for _, p := range n.pods {
		if !p.gone && !p.released && !podutil.IsPodTerminal(p.object) {
			active = append(active, p.object)
		}
	}
	return active
}

// work works on pods until the queue is shut down.
func (n *Node) work(ctx context.Context) {
	for {
		uid, down := n.queue.Get()
		if down {
			return
		}
		p, object, gone := n.get(uid)
		if p == nil {
			n.queue.Forget(uid)
			n.queue.Done(uid)
			continue
		}
		log := klog.FromContext(ctx).WithValues("pod", klog.KObj(object))
		again, err := n.sync(klog.NewContext(ctx, log), p, object, gone)
		switch {
		case err != nil && ctx.Err() == nil:
			log.V(2).Info("The pod is tried again", "reason", err)
			n.queue.AddRateLimited(uid)
		case err == nil:
			n.queue.Forget(uid)
			if again > 0 {
				n.queue.AddAfter(uid, again)
			}
		}
		n.queue.Done(uid)
	}
}
