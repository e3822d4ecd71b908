package plugin

import (
	"context"
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/uuid"
	"k8s.io/apimachinery/pkg/util/wait"
	podresource "k8s.io/component-helpers/resource"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/metrics"
	"k8s.io/kubernetes/pkg/scheduler/util"
)

// specialName is the name of a claim for extended resources before it is created.
// The scheduler's manager of claims knows claims in flight by it that no informer
// can know, so it has to be this one.
const specialName = "<extended-resources>"

// isSpecial says whether the claim for extended resources exists only here.
func isSpecial(claim *resourceapi.ResourceClaim) bool { return claim.Name == specialName }

// specialClaimFor returns the claim for the extended resources that the pod
// requests and for which there are device classes, with the requests; nil if there
// are none. It is one that an earlier attempt has left in the API, or a new one
// without requests, which depend on the node.
func (p *Plugin) specialClaimFor(pod *corev1.Pod) (*resourceapi.ResourceClaim, map[corev1.ResourceName]int64, error) {
	scalars, backed := p.extendedResources(pod)
	if !backed {
		return nil, nil, nil
	}
	left, err := p.leftSpecialClaim(pod)
	if err != nil {
		return nil, nil, err
	}
	if left != nil {
		return left, scalars, nil
	}
	controller := true
	return &resourceapi.ResourceClaim{
		ObjectMeta: metav1.ObjectMeta{
			Namespace:    pod.Namespace,
			Name:         specialName,
			GenerateName: pod.Name + "-extended-resources-",
			UID:          uuid.NewUUID(), // for as long as it is in flight
			Annotations:  map[string]string{resourceapi.ExtendedResourceClaimAnnotation: "true"},
			OwnerReferences: []metav1.OwnerReference{
				{APIVersion: "v1", Kind: "Pod", Name: pod.Name, UID: pod.UID, Controller: &controller},
			},
		},
	}, scalars, nil
}

// extendedResources are the extended resources that the pod requests, and whether
// there is a device class for any of them.
func (p *Plugin) extendedResources(pod *corev1.Pod) (scalars map[corev1.ResourceName]int64, backed bool) {
	if !p.features.EnableDRAExtendedResource {
		return nil, false
	}
	classes := p.manager.DeviceClassResolver()
	scalars = map[corev1.ResourceName]int64{}
	for name, quantity := range podresource.PodRequests(pod, podresource.PodResourcesOptions{}) {
		if quantity.IsZero() || !util.IsDRAExtendedResourceName(name) {
			continue
		}
		scalars[name] = quantity.Value()
		backed = backed || classes.GetDeviceClass(name) != nil
	}
	return scalars, backed
}

// leftSpecialClaim looks for a claim for extended resources that an earlier
// attempt at the pod has created.
func (p *Plugin) leftSpecialClaim(pod *corev1.Pod) (*resourceapi.ResourceClaim, error) {
	claims, err := p.manager.ResourceClaims().List()
	if err != nil {
		return nil, fmt.Errorf("list claims: %w", err)
	}
	for _, claim := range claims {
		if claim.Namespace != pod.Namespace || claim.Annotations[resourceapi.ExtendedResourceClaimAnnotation] != "true" {
			continue
		}
		if owner := metav1.GetControllerOfNoCopy(claim); owner != nil && owner.UID == pod.UID && owner.Name == pod.Name {
			return claim, nil
		}
	}
	return nil, nil
}

// specialForNode returns the special claim with the requests that the node has to
// serve with DRA, and which container uses which. It is nil if there is no special
// claim, or if device plugins of the node have all that the pod asks for. The
// status says that the node cannot have the pod.
func (p *Plugin) specialForNode(ctx context.Context, s *podState, pod *corev1.Pod, info fwk.NodeInfo) (*resourceapi.ResourceClaim, []corev1.ContainerExtendedResourceRequest, *fwk.Status) {
	c := s.specialClaim()
	if c == nil {
		return nil, nil, nil
	}
	if !isSpecial(c.claim) {
		// Whether its devices still fit is hard to tell. PostFilter deletes it and
		// the pod starts anew.
		return nil, nil, p.refuse(ctx, pod, causeLeftOver, "cannot schedule extended resource claim", about(c.claim, "", "left from an earlier attempt"))
	}
	classes := p.manager.DeviceClassResolver()
	allocatable := info.GetAllocatable().GetScalarResources()
	wanted := map[corev1.ResourceName]string{} // resource → class
	for _, name := range slices.Sorted(maps.Keys(s.scalars)) {
		has, known := allocatable[name]
		class := classes.GetDeviceClass(name)
		switch {
		case has > 0: // NodeResourcesFit looks after it
		case class != nil:
			wanted[name] = class.Name
		case !known:
			return nil, nil, p.refuse(ctx, pod, causeNoResource, "cannot fit resource", about(c.claim, "", fmt.Sprintf("the node has no %s", name)))
		}
	}
	requests, mappings := extendedRequests(pod, wanted)
	if len(requests) == 0 {
		return nil, nil, nil
	}
	claim := c.claim.DeepCopy()
	claim.Spec.Devices.Requests = requests
	return claim, mappings, nil
}

// bindSpecial creates the special claim, writes its allocation, waits until the
// manager knows it, and tells the kubelet about it in the pod's status.
func (p *Plugin) bindSpecial(ctx context.Context, s *podState, pod *corev1.Pod, nodeName string) error {
	c := s.specialClaim()
	result, ok, err := p.result(ctx, s, nodeName)
	if err != nil {
		return err
	}
	if !ok || result.special == nil {
		return fmt.Errorf("%w %s", errNoSpecial, nodeName)
	}
	claim := result.special.DeepCopy()
	claim.Name, claim.UID, claim.Status = "", "", resourceapi.ResourceClaimStatus{}
	created, err := p.client.ResourceV1().ResourceClaims(claim.Namespace).Create(ctx, claim, metav1.CreateOptions{})
	metrics.ResourceClaimCreatesTotal.WithLabelValues(outcome(err), "false", "", "Pod").Inc()
	if err != nil {
		return fmt.Errorf("create claim for extended resources of pod %s: %w", klog.KObj(pod), err)
	}
	c.claim = created // from here on Unreserve deletes it
	if err := p.bindClaim(ctx, c); err != nil {
		return err
	}
	if err := p.awaitCreated(ctx, c); err != nil {
		return err
	}
	status := pod.Status.DeepCopy()
	status.ExtendedResourceClaimStatus = &corev1.PodExtendedResourceClaimStatus{
		RequestMappings:   result.mappings,
		ResourceClaimName: c.claim.Name,
	}
	if err := util.PatchPodStatus(ctx, p.client, pod.Name, pod.Namespace, &pod.Status, status); err != nil {
		return fmt.Errorf("update pod %s ExtendedResourceClaimStatus: %w", klog.KObj(pod), err)
	}
	return nil
}

func outcome(err error) string {
	if err != nil {
		return "failure"
	}
	return "success"
}

// awaitCreated waits until the informer has seen the claim, which a manager has to
// know before it can assume a later version. An informer that is behind is no
// reason to fail the pod, as all is written; but the devices stay in flight.
func (p *Plugin) awaitCreated(ctx context.Context, c *podClaim) error {
	err := wait.PollUntilContextTimeout(ctx, p.assumePoll, p.assumeWithin, true, func(context.Context) (bool, error) {
		c.known = p.assumed(c.claim)
		return c.known, nil
	})
	if err != nil && ctx.Err() != nil {
		return fmt.Errorf("wait for the informer to see claim %s: %w", klog.KObj(c.claim), context.Cause(ctx))
	}
	return nil
}
