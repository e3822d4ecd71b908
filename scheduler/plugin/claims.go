package plugin

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	schedulingapi "k8s.io/api/scheduling/v1beta1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/dynamic-resource-allocation/resourceclaim"
)

// eachClaim calls visit for the claims that the pod names, in the pod's order. A
// claim whose generation the API has recorded as not needed is passed over, and a
// claim that the pod names twice is visited once. The error says why the pod
// cannot be scheduled for now: a claim does not exist yet, is going away, or
// belongs to somebody else.
func (p *Plugin) eachClaim(pod *corev1.Pod, visit func(entry *corev1.PodResourceClaim, claim *resourceapi.ResourceClaim) error) error {
	var seen []types.UID
entries:
	for i := range pod.Spec.ResourceClaims {
		entry := &pod.Spec.ResourceClaims[i]
		name, generated, err := resourceclaim.Name(pod, entry)
		if err != nil {
			return err
		}
		if name == nil {
			continue
		}
		claim, err := p.manager.ResourceClaims().Get(pod.Namespace, *name)
		if err != nil {
			return err
		}
		if claim.DeletionTimestamp != nil {
			return fmt.Errorf("resourceclaim %q is being deleted", claim.Name)
		}
		if generated {
			if err := resourceclaim.IsForPod(pod, claim, p.features.EnableDRAWorkloadResourceClaims); err != nil {
				return err
			}
		}
		for _, uid := range seen {
			if uid == claim.UID {
				continue entries
			}
		}
		seen = append(seen, claim.UID)
		if visit == nil {
			continue
		}
		if err := visit(entry, claim); err != nil {
			return err
		}
	}
	return nil
}

// userClaims are the claims that the pod names, each with what it is to be
// reserved for.
func (p *Plugin) userClaims(pod *corev1.Pod) ([]podClaim, error) {
	group, err := p.podGroup(pod)
	if err != nil {
		return nil, noGroupError{err}
	}
	var claims []podClaim
	err = p.eachClaim(pod, func(entry *corev1.PodResourceClaim, claim *resourceapi.ResourceClaim) error {
		consumer := podConsumer(pod)
		if p.features.EnableDRAWorkloadResourceClaims {
			var err error
			if consumer, err = resourceclaim.BindTo(pod, group, entry); err != nil {
				return err
			}
		}
		claims = append(claims, podClaim{claim: claim, consumer: consumer, flight: claim.UID})
		return nil
	})
	return claims, err
}

// noGroupError says that the pod's group is not in the cycle's snapshot. The event
// of its arrival brings the pod back.
type noGroupError struct{ error }

// podGroup is the pod's group as the cycle's snapshot has it, or nil if the pod is
// in none or groups cannot have claims.
func (p *Plugin) podGroup(pod *corev1.Pod) (*schedulingapi.PodGroup, error) {
	name, ok := p.groupName(pod)
	if !ok {
		return nil, nil
	}
	return p.handle.SnapshotSharedLister().PodGroups().Get(pod.Namespace, name)
}

func (p *Plugin) groupName(pod *corev1.Pod) (string, bool) {
	group := pod.Spec.SchedulingGroup
	if !p.features.EnableDRAWorkloadResourceClaims || group == nil || group.PodGroupName == nil {
		return "", false
	}
	return *group.PodGroupName, true
}

// reservedFor says whether the claim is reserved for the pod or its group.
func (p *Plugin) reservedFor(pod *corev1.Pod, claim *resourceapi.ResourceClaim) bool {
	return resourceclaim.IsReservedForPod(pod, claim, p.features.EnableDRAWorkloadResourceClaims)
}

// full says whether no other consumer fits into the claim's list.
func full(claim *resourceapi.ResourceClaim) bool {
	return len(claim.Status.ReservedFor) >= resourceapi.ResourceClaimReservedForMaxSize
}

func podConsumer(pod *corev1.Pod) resourceapi.ResourceClaimConsumerReference {
	return resourceapi.ResourceClaimConsumerReference{
		APIGroup: corev1.GroupName,
		Resource: "pods",
		Name:     pod.Name,
		UID:      pod.UID,
	}
}
