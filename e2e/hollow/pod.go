package hollow

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/klog/v2"
	podutil "k8s.io/kubernetes/pkg/api/v1/pod"
	"k8s.io/kubernetes/pkg/kubelet/events"

	"github.com/dray-dev/dray/e2e/hollow/shown"
)

// Reasons of events, besides the kubelet's own.
const (
	// DevicesReason: what a container got.
	DevicesReason = "ContainerDevices"
	// UnprepareReason: claims of a pod that has ended cannot be unprepared.
	UnprepareReason = "FailedUnprepareDynamicResources"
)

// What a container waits for, as the kubelet has it.
const (
	waitingCreating = "ContainerCreating"
	waitingInit     = "PodInitializing"
	waitingFailed   = "CreateContainerError"
)

// exitTerminated is the code of a process that SIGTERM has ended.
const exitTerminated = 143

// sync does what is next to be done for a pod. It returns when to look again, 0 if
// not before something happens, or an error if it is to be tried again.
func (n *Node) sync(ctx context.Context, p *pod, object *corev1.Pod, gone bool) (time.Duration, error) {
	if gone {
		if err := n.release(ctx, p, object); err != nil {
			return 0, err
		}
		n.forget(object.UID)
		return 0, nil
	}
	p.learn(object)
	switch {
	case podutil.IsPodTerminal(object):
		return 0, n.afterEnd(ctx, p, object)
	case object.DeletionTimestamp != nil:
		return 0, n.terminate(ctx, p, object)
	}
	if result := n.admit(ctx, p); !result.Admit {
		n.problem(p, object, result.Reason, result.Message)
		return 0, n.reject(ctx, p, object, result.Reason, result.Message)
	}
	return n.run(ctx, p, object)
}

// learn reads from the status what another run of this node has started.
func (p *pod) learn(object *corev1.Pod) {
	if p.known {
		return
	}
	p.known = true
	for _, list := range [][]corev1.ContainerStatus{object.Status.InitContainerStatuses, object.Status.ContainerStatuses} {
		for _, status := range list {
			switch {
			case status.State.Running != nil:
				p.containers[status.Name] = &container{since: status.State.Running.StartedAt.Time}
			case status.State.Terminated != nil:
				t := status.State.Terminated
				p.containers[status.Name] = &container{since: t.StartedAt.Time, until: t.FinishedAt.Time, ended: true, code: t.ExitCode}
			}
		}
	}
}

// run brings a pod further that is to run.
func (n *Node) run(ctx context.Context, p *pod, object *corev1.Pod) (time.Duration, error) {
	var again time.Duration
	var failed error
	started := true
	for i := range object.Spec.InitContainers {
		c := &object.Spec.InitContainers[i]
		left, err := n.advance(ctx, p, object, c, true)
		if err != nil {
			failed, started = err, false
			break
		}
		if left != 0 && !podutil.IsRestartableInitContainer(c) {
			again, started = left, false
			break
		}
	}
	finished := started
	if started {
		for i := range object.Spec.Containers {
			left, err := n.advance(ctx, p, object, &object.Spec.Containers[i], false)
			if err != nil {
				failed, finished = err, false
				break
			}
			if left != 0 {
				finished = false
			}
			if left > 0 && (again <= 0 || left < again) {
				again = left
			}
		}
	}
	if finished {
		return 0, n.complete(ctx, p, object)
	}
	if err := n.write(ctx, p, object, n.status(ctx, p, object)); err != nil {
		return 0, err
	}
	return max(again, 0), failed
}

// advance starts a container that is not started, and ends one whose time is over. It
// returns how long it will still run: 0 if it has ended, less if it does not end.
func (n *Node) advance(ctx context.Context, p *pod, object *corev1.Pod, c *corev1.Container, init bool) (time.Duration, error) {
	now := n.options.Clock.Now()
	running := p.containers[c.Name]
	if running == nil {
		given, err := n.start(ctx, p, object, c)
		if err != nil {
			return 0, err
		}
		running = &container{since: now, given: given}
		p.containers[c.Name] = running
	}
	if running.ended {
		return 0, nil
	}
	runs := duration(object, c, init)
	if runs == forever {
		return forever, nil
	}
	if left := running.since.Add(runs).Sub(now); left > 0 {
		return left, nil
	}
	running.ended, running.until = true, now
	return 0, nil
}

// start prepares what the pod needs and resolves what the container gets.
func (n *Node) start(ctx context.Context, p *pod, object *corev1.Pod, c *corev1.Container) (*shown.Given, error) {
	if !p.prepared {
		if err := n.manager.PrepareResources(ctx, object); err != nil {
			n.problem(p, object, events.FailedPrepareDynamicResources, fmt.Sprintf("Failed to prepare dynamic resources: %v", err))
			p.waitingReason, p.waiting = waitingCreating, err.Error()
			return nil, err
		}
		p.prepared = true
	}
	given, err := n.give(object, c)
	if err != nil {
		n.problem(p, object, events.FailedToCreateContainer, fmt.Sprintf("container %s: %v", c.Name, err))
		p.waitingReason, p.waiting = waitingFailed, err.Error()
		return nil, err
	}
	p.waitingReason, p.waiting, p.said = "", "", ""
	if len(given.CDI) > 0 {
		n.recorder.Eventf(object, corev1.EventTypeNormal, DevicesReason, "container %s got %s", c.Name, given.Line())
	}
	return given, nil
}

func (n *Node) give(object *corev1.Pod, c *corev1.Container) (*shown.Given, error) {
	info, err := n.manager.GetResources(object, c)
	if err != nil {
		return nil, err
	}
	ids := []string{}
	seen := map[string]bool{}
	for _, device := range info.CDIDevices {
		if !seen[device.Name] {
			ids = append(ids, device.Name)
		}
		seen[device.Name] = true
	}
	return n.devices.resolve(ids)
}

// problem is told by an event when it is another one than before.
func (n *Node) problem(p *pod, object *corev1.Pod, reason, message string) {
	if p.said != message {
		n.recorder.Event(object, corev1.EventTypeWarning, reason, message)
		p.said = message
	}
}

// release unprepares what the pod had, once.
func (n *Node) release(ctx context.Context, p *pod, object *corev1.Pod) error {
	if n.isReleased(p) {
		return nil
	}
	if err := n.manager.UnprepareResources(ctx, object); err != nil {
		n.problem(p, object, UnprepareReason, err.Error())
		return err
	}
	n.setReleased(p)
	return nil
}

// complete ends a pod whose containers have all ended.
func (n *Node) complete(ctx context.Context, p *pod, object *corev1.Pod) error {
	n.endAll(p, 0)
	if err := n.release(ctx, p, object); err != nil {
		// The containers have ended, although the pod may not say so yet: see invariant 2.
		return err
	}
	status := n.status(ctx, p, object)
	status.Phase = corev1.PodSucceeded
	return n.write(ctx, p, object, status)
}

// terminate ends a pod that is being deleted, and removes it.
func (n *Node) terminate(ctx context.Context, p *pod, object *corev1.Pod) error {
	n.endAll(p, exitTerminated)
	if err := n.release(ctx, p, object); err != nil {
		return err
	}
	status := n.status(ctx, p, object)
	status.Phase = corev1.PodFailed
	if err := n.write(ctx, p, object, status); err != nil {
		return err
	}
	return n.remove(ctx, object)
}

// reject fails a pod that the node does not take.
func (n *Node) reject(ctx context.Context, p *pod, object *corev1.Pod, reason, message string) error {
	n.setReleased(p)
	status := object.Status.DeepCopy()
	status.Phase, status.Reason, status.Message = corev1.PodFailed, reason, "Pod was rejected: "+message
	return n.write(ctx, p, object, status)
}

// afterEnd sees to a pod whose end was reported.
func (n *Node) afterEnd(ctx context.Context, p *pod, object *corev1.Pod) error {
	if err := n.release(ctx, p, object); err != nil {
		return err
	}
	if object.DeletionTimestamp == nil {
		return nil
	}
	return n.remove(ctx, object)
}

// endAll ends the containers that run.
func (n *Node) endAll(p *pod, code int32) {
	now := n.options.Clock.Now()
	for _, running := range p.containers {
		if !running.ended {
			running.ended, running.until, running.code = true, now, code
		}
	}
}

// remove takes the pod out of the API server: it is this node that says when nothing
// of it is left.
func (n *Node) remove(ctx context.Context, object *corev1.Pod) error {
	now := int64(0)
	err := n.options.Client.CoreV1().Pods(object.Namespace).Delete(ctx, object.Name, metav1.DeleteOptions{
		GracePeriodSeconds: &now, Preconditions: &metav1.Preconditions{UID: &object.UID}})
	if apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
		return nil
	}
	if err == nil {
		klog.FromContext(ctx).V(2).Info("The pod is removed")
	}
	return err
}
