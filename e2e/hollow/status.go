package hollow

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
	"k8s.io/klog/v2"
	podutil "k8s.io/kubernetes/pkg/api/v1/pod"

	"github.com/dray-dev/dray/e2e/hollow/shown"
)

// status is what the pod's status should be, from what it is and what this node knows.
func (n *Node) status(ctx context.Context, p *pod, object *corev1.Pod) *corev1.PodStatus {
	status := object.Status.DeepCopy()
	if status.StartTime == nil {
		now := metav1.NewTime(n.options.Clock.Now()).Rfc3339Copy()
		status.StartTime = &now
	}
	status.ObservedGeneration = object.Generation
	initialized, ready, begun := true, true, false
	status.InitContainerStatuses = nil
	for i := range object.Spec.InitContainers {
		c := &object.Spec.InitContainers[i]
		s := n.containerStatus(p, object, c, waitingInit)
		restartable := podutil.IsRestartableInitContainer(c)
		s.Ready = s.State.Terminated != nil && !restartable || s.State.Running != nil && restartable
		initialized = initialized && s.Ready
		begun = begun || s.State.Waiting == nil
		status.InitContainerStatuses = append(status.InitContainerStatuses, s)
	}
	health := allocatedResources(object.Status.ContainerStatuses)
	status.ContainerStatuses = nil
	for i := range object.Spec.Containers {
		c := &object.Spec.Containers[i]
		wait := waitingCreating
		if !initialized {
			wait = waitingInit
		}
		s := n.containerStatus(p, object, c, wait)
		s.Ready = s.State.Running != nil
		s.AllocatedResourcesStatus = health[c.Name]
		ready = ready && s.Ready
		begun = begun || s.State.Waiting == nil
		status.ContainerStatuses = append(status.ContainerStatuses, s)
	}
	status.Phase = corev1.PodPending
	if initialized && begun {
		status.Phase = corev1.PodRunning
	}
	n.conditions(object, status, p.prepared || begun, initialized, ready)
	if p.prepared || begun {
		n.manager.UpdateAllocatedResourcesStatus(klog.FromContext(ctx), object, status)
	}
	sortHealth(status.ContainerStatuses)
	return status
}

func (n *Node) containerStatus(p *pod, object *corev1.Pod, c *corev1.Container, wait string) corev1.ContainerStatus {
	s := corev1.ContainerStatus{Name: c.Name, Image: c.Image}
	started := p.containers[c.Name]
	if started == nil {
		s.State.Waiting = &corev1.ContainerStateWaiting{Reason: cmp.Or(p.waitingReason, wait), Message: p.waiting}
		s.Started = new(bool)
		return s
	}
	s.ContainerID = "hollow://" + string(object.UID) + "/" + c.Name
	s.ImageID = "hollow://" + c.Image
	running := !started.ended
	s.Started = &running
	since := metav1.NewTime(started.since).Rfc3339Copy()
	if running {
		s.State.Running = &corev1.ContainerStateRunning{StartedAt: since}
		return s
	}
	reason := "Completed"
	if started.code != 0 {
		reason = "Error"
	}
	s.State.Terminated = &corev1.ContainerStateTerminated{ExitCode: started.code, Reason: reason, StartedAt: since,
		FinishedAt: metav1.NewTime(started.until).Rfc3339Copy(), ContainerID: s.ContainerID}
	return s
}

func (n *Node) conditions(object *corev1.Pod, status *corev1.PodStatus, prepared, initialized, ready bool) {
	reason := ""
	if !ready {
		reason = "ContainersNotReady"
	}
	for _, c := range []struct {
		kind   corev1.PodConditionType
		is     bool
		reason string
	}{
		{corev1.PodReadyToStartContainers, prepared, ""}, {corev1.PodInitialized, initialized, ""},
		{corev1.ContainersReady, ready, reason}, {corev1.PodReady, ready && gatesOpen(object), reason},
	} {
		is := corev1.ConditionFalse
		if c.is {
			is = corev1.ConditionTrue
		}
		podutil.UpdatePodCondition(status, &corev1.PodCondition{Type: c.kind, Status: is, Reason: c.reason, ObservedGeneration: object.Generation})
	}
}

// gatesOpen says whether others have set all conditions that the pod wants besides.
func gatesOpen(object *corev1.Pod) bool {
	for _, gate := range object.Spec.ReadinessGates {
		_, condition := podutil.GetPodCondition(&object.Status, gate.ConditionType)
		if condition == nil || condition.Status != corev1.ConditionTrue {
			return false
		}
	}
	return true
}

// allocatedResources are what was said before of the health of the containers'
// devices. It stays said when the claims are unprepared.
func allocatedResources(statuses []corev1.ContainerStatus) map[string][]corev1.ResourceStatus {
	said := map[string][]corev1.ResourceStatus{}
	for i := range statuses {
		for _, resource := range statuses[i].AllocatedResourcesStatus {
			said[statuses[i].Name] = append(said[statuses[i].Name], *resource.DeepCopy())
		}
	}
	return said
}

// sortHealth brings into order what the DRA manager returns in none, so that the same
// status is not written again and again.
func sortHealth(statuses []corev1.ContainerStatus) {
	for i := range statuses {
		list := statuses[i].AllocatedResourcesStatus
		slices.SortFunc(list, func(a, b corev1.ResourceStatus) int { return cmp.Compare(a.Name, b.Name) })
		for j := range list {
			slices.SortFunc(list[j].Resources, func(a, b corev1.ResourceHealth) int { return cmp.Compare(a.ResourceID, b.ResourceID) })
		}
		if len(list) == 0 {
			statuses[i].AllocatedResourcesStatus = nil
		}
	}
}

// annotations are those of the pod with what its containers got.
func (p *pod) annotations(object *corev1.Pod) map[string]string {
	all := maps.Clone(object.Annotations)
	for name, c := range p.containers {
		if c.given == nil {
			continue
		}
		if all == nil {
			all = map[string]string{}
		}
		all[shown.ContainerAnnotation+name] = c.given.Text()
	}
	return all
}

// write writes what has changed of status and annotations.
func (n *Node) write(ctx context.Context, p *pod, object *corev1.Pod, status *corev1.PodStatus) error {
	// The UID is in the patch, so that it does not reach another pod of the name.
	before, err := json.Marshal(corev1.Pod{ObjectMeta: metav1.ObjectMeta{Annotations: object.Annotations}, Status: object.Status})
	if err != nil {
		return err
	}
	after, err := json.Marshal(corev1.Pod{ObjectMeta: metav1.ObjectMeta{UID: object.UID, Annotations: p.annotations(object)}, Status: *status})
	if err != nil {
		return err
	}
	patch, err := strategicpatch.CreateTwoWayMergePatch(before, after, corev1.Pod{})
	if err != nil {
		return fmt.Errorf("status of pod %s: %w", klog.KObj(object), err)
	}
	if bytes.Equal(patch, []byte(fmt.Sprintf(`{"metadata":{"uid":%q}}`, object.UID))) {
		return nil
	}
	written, err := n.options.Client.CoreV1().Pods(object.Namespace).Patch(ctx, object.Name, types.StrategicMergePatchType, patch, metav1.PatchOptions{}, "status")
	if apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
		return nil // it is gone, and the watch says so
	}
	if err != nil {
		return fmt.Errorf("status of pod %s: %w", klog.KObj(object), err)
	}
	n.remember(written)
	return nil
}
