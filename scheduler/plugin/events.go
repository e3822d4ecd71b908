package plugin

import (
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	schedulingapi "k8s.io/api/scheduling/v1beta1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"
	"k8s.io/dynamic-resource-allocation/resourceclaim"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/util"
)

// EventsToRegister lists what may help a pod that the plugin refused.
func (p *Plugin) EventsToRegister(context.Context) ([]fwk.ClusterEventWithHint, error) {
	if !p.enabled {
		return nil, nil
	}
	nodeChanges := fwk.Add | fwk.UpdateNodeLabel | fwk.UpdateNodeAllocatable
	if p.features.EnableDRAOptionalNodeOperations {
		// A node that begins to declare the feature can take devices whose slices
		// skip node operations. Upstream does not listen for that.
		nodeChanges |= fwk.UpdateNodeDeclaredFeature
	}
	events := []fwk.ClusterEventWithHint{
		{Event: fwk.ClusterEvent{Resource: fwk.Node, ActionType: nodeChanges}},
		{
			Event:             fwk.ClusterEvent{Resource: fwk.ResourceClaim, ActionType: fwk.Add | fwk.Update | fwk.Delete},
			PreQueueingHintFn: p.podsOfClaim,
			QueueingHintFn:    p.afterClaimChange,
		},
		{
			Event:          fwk.ClusterEvent{Resource: fwk.TargetPod, ActionType: fwk.UpdatePodGeneratedResourceClaim},
			QueueingHintFn: p.afterPodChange,
		},
		{
			// The scheduler sends this, too, for a pod that was to be bound and failed.
			// What Unreserve takes out of flight then shows in no claim.
			Event:          fwk.ClusterEvent{Resource: fwk.AssignedPod, ActionType: fwk.Delete},
			QueueingHintFn: p.afterPodGone,
		},
		{Event: fwk.ClusterEvent{Resource: fwk.DeviceClass, ActionType: fwk.Add | fwk.Update}},
		{Event: fwk.ClusterEvent{Resource: fwk.ResourceSlice, ActionType: fwk.Add | fwk.Update | fwk.Delete}},
	}
	if p.features.EnableDRAWorkloadResourceClaims {
		events = append(events, fwk.ClusterEventWithHint{
			Event:          fwk.ClusterEvent{Resource: fwk.PodGroup, ActionType: fwk.Add},
			QueueingHintFn: p.afterGroupAdded,
		})
	}
	return events, nil
}

// PreEnqueue keeps a pod out of the queue while a claim that it names does not
// exist or cannot be its own.
func (p *Plugin) PreEnqueue(ctx context.Context, pod *corev1.Pod) *fwk.Status {
	if !p.enabled {
		return nil
	}
	defer p.took(pointPreEnqueue, p.clock.Now())
	err := p.eachClaim(pod, nil)
	if err == nil {
		p.engine.waiting.end(pod)
		return nil
	}
	if p.engine.waiting.begin(pod, p.pods) {
		return p.refuse(ctx, pod, causeClaimMissing, err.Error(), err.Error())
	}
	return unschedulable(err.Error()) // counted when it began to wait
}

// indexPods lets pods be found by the claims that they name. It has to be called
// before the informer runs.
func (p *Plugin) indexPods() error {
	informer := p.handle.SharedInformerFactory().Core().V1().Pods().Informer()
	p.podsByClaim = "drayPodsByClaim-" + p.handle.ProfileName()
	if err := informer.AddIndexers(cache.Indexers{p.podsByClaim: claimKeys}); err != nil {
		return fmt.Errorf("index pods by claim: %w", err)
	}
	p.pods = informer.GetIndexer()
	return nil
}

// claimKeys are namespace/name of the claims that a pod names. Claims for extended
// resources are not among them: no pod waits for one to be created.
func claimKeys(object any) ([]string, error) {
	pod, ok := object.(*corev1.Pod)
	if !ok {
		return nil, nil
	}
	var keys []string
	for i := range pod.Spec.ResourceClaims {
		name, _, err := resourceclaim.Name(pod, &pod.Spec.ResourceClaims[i])
		if err != nil || name == nil {
			continue
		}
		if key := pod.Namespace + "/" + *name; !slices.Contains(keys, key) {
			keys = append(keys, key)
		}
	}
	return keys, nil
}

// podsOfClaim narrows an event down to the pods that name the claim, unless
// devices have become free, which may help any pod.
func (p *Plugin) podsOfClaim(_ klog.Logger, before, after any) (fwk.PreQueueingHintResult, error) {
	everybody := fwk.PreQueueingHintResult{AllPods: true}
	was, wasClaim := before.(*resourceapi.ResourceClaim)
	is, isClaim := after.(*resourceapi.ResourceClaim)
	claim := is
	switch {
	case after != nil && !isClaim, after == nil && !wasClaim:
		return everybody, nil
	case after == nil:
		claim = was
	}
	if wasClaim && freedDevices(was, is) {
		return everybody, nil
	}
	objects, err := p.pods.ByIndex(p.podsByClaim, claim.Namespace+"/"+claim.Name)
	if err != nil {
		return fwk.PreQueueingHintResult{}, fmt.Errorf("find pods of claim %s: %w", klog.KObj(claim), err)
	}
	pods := make([]types.NamespacedName, 0, len(objects)+1)
	for _, object := range objects {
		if pod, ok := object.(*corev1.Pod); ok {
			pods = append(pods, types.NamespacedName{Namespace: pod.Namespace, Name: pod.Name})
		}
	}
	if owner := specialOwner(claim); owner != nil {
		pods = append(pods, types.NamespacedName{Namespace: claim.Namespace, Name: owner.Name})
	}
	return fwk.PreQueueingHintResult{Pods: pods}, nil
}

// specialOwner is the pod for whose extended resources the claim was made, or nil.
func specialOwner(claim *resourceapi.ResourceClaim) *metav1.OwnerReference {
	if claim.Annotations[resourceapi.ExtendedResourceClaimAnnotation] != "true" {
		return nil
	}
	return metav1.GetControllerOfNoCopy(claim)
}

// freedDevices says whether a claim lost an allocation; after is nil if it was
// deleted. An object that was deleted and created anew in one event lost its
// allocation, too.
func freedDevices(before, after *resourceapi.ResourceClaim) bool {
	if before.Status.Allocation == nil {
		return false
	}
	return after == nil || after.Status.Allocation == nil || after.UID != before.UID
}

// afterClaimChange says whether a pod that was refused should be tried again. It
// errs on the side of trying.
func (p *Plugin) afterClaimChange(_ klog.Logger, pod *corev1.Pod, before, after any) (fwk.QueueingHint, error) {
	if _, unknown := before.(cache.DeletedFinalStateUnknown); unknown && after == nil {
		return fwk.Queue, nil // what the claim held when it went is not known
	}
	was, is, err := util.As[*resourceapi.ResourceClaim](before, after)
	if err != nil {
		return fwk.Queue, fmt.Errorf("event of a claim: %w", err)
	}
	if is == nil {
		if freedDevices(was, nil) {
			return fwk.Queue, nil
		}
		if owner := specialOwner(was); owner != nil && owner.UID == pod.UID {
			return fwk.Queue, nil // it was left from an earlier attempt, and in the way
		}
		return fwk.QueueSkip, nil
	}
	uses := false
	err = p.eachClaim(pod, func(_ *corev1.PodResourceClaim, claim *resourceapi.ResourceClaim) error {
		uses = uses || claim.UID == is.UID
		return nil
	})
	switch {
	case err != nil: // the pod waits for another claim
		return fwk.QueueSkip, nil
	case was != nil && freedDevices(was, is):
		return fwk.Queue, nil
	case !uses:
		return fwk.QueueSkip, nil
	case was == nil || was.UID != is.UID: // the claims may ask for different things
		return fwk.Queue, nil
	case apiequality.Semantic.DeepEqual(&was.Status, &is.Status):
		return fwk.QueueSkip, nil // a finalizer, a label: nothing that scheduling reads
	}
	return fwk.Queue, nil
}

// afterPodChange says whether the pod now has all its claims.
func (p *Plugin) afterPodChange(_ klog.Logger, _ *corev1.Pod, _, after any) (fwk.QueueingHint, error) {
	_, is, err := util.As[*corev1.Pod](nil, after)
	if err != nil {
		return fwk.Queue, fmt.Errorf("event of a pod: %w", err)
	}
	if p.eachClaim(is, nil) != nil {
		return fwk.QueueSkip, nil
	}
	return fwk.Queue, nil
}

// afterGroupAdded says whether the group is the pod's, which PreFilter refuses
// without it.
func (p *Plugin) afterGroupAdded(_ klog.Logger, pod *corev1.Pod, _, after any) (fwk.QueueingHint, error) {
	_, group, err := util.As[*schedulingapi.PodGroup](nil, after)
	if err != nil {
		return fwk.Queue, fmt.Errorf("event of a pod group: %w", err)
	}
	if name, ok := p.groupName(pod); !ok || name != group.Name || pod.Namespace != group.Namespace {
		return fwk.QueueSkip, nil
	}
	return fwk.Queue, nil
}

// afterPodGone says whether devices may have left flight without an event of a
// claim: those of a pod that failed between Reserve and the write of its claims.
// What a claim has in the API is freed by an event of that claim, later.
func (p *Plugin) afterPodGone(_ klog.Logger, _ *corev1.Pod, before, _ any) (fwk.QueueingHint, error) {
	gone, _, err := util.As[*corev1.Pod](before, nil)
	if err != nil {
		return fwk.Queue, fmt.Errorf("event of a pod: %w", err)
	}
	for i := range gone.Spec.ResourceClaims {
		name, _, err := resourceclaim.Name(gone, &gone.Spec.ResourceClaims[i])
		if err != nil || name == nil {
			continue
		}
		claim, err := p.manager.ResourceClaims().Get(gone.Namespace, *name)
		if err == nil && claim.Status.Allocation == nil {
			return fwk.Queue, nil
		}
	}
	if _, backed := p.extendedResources(gone); backed && gone.Status.ExtendedResourceClaimStatus == nil {
		return fwk.Queue, nil
	}
	return fwk.QueueSkip, nil
}
