package plugin

import (
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	schedulingapi "k8s.io/api/scheduling/v1beta1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/dynamic-resource-allocation/resourceclaim"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"
)

// PodGroupPostFilter runs after no placement of a pod group would do. It does for
// each pod what PostFilter does, and frees a claim of the group itself if the
// group has no pod that runs. Composite groups and groups with topology are left
// alone, as upstream has it.
func (p *Plugin) PodGroupPostFilter(ctx context.Context, cycle fwk.PodGroupCycleState, info fwk.PodGroupInfo, _ fwk.PodGroupSchedulingFunc) (*fwk.PodGroupPostFilterResult, *fwk.Status) {
	nothing := fwk.NewStatus(fwk.Unschedulable)
	if !p.enabled || info.GetType() == fwk.CompositePodGroupKeyType {
		return nil, nothing
	}
	defer p.took(pointPodGroupPostFilter, p.clock.Now())
	if group := info.GetPodGroup(); p.features.EnableTopologyAwareWorkloadScheduling && group != nil && group.Spec.SchedulingConstraints != nil {
		return nil, nothing
	}
	g, err := readGroup(cycle)
	if err != nil {
		return nil, fwk.AsStatus(err)
	}
	if g == nil {
		return nil, nothing // no pod of the group has claims
	}
	freed, stuck := false, false
	for _, pod := range info.GetUnscheduledPods() {
		s := g.pods[types.NamespacedName{Namespace: pod.Namespace, Name: pod.Name}]
		if s == nil {
			continue
		}
		p.keepAttempt(pod, s, "")
		done, status := p.makeRoom(ctx, pod, s)
		if status.Code() == fwk.Error {
			return nil, status
		}
		freed = freed || done
		stuck = stuck || !done
	}
	if stuck && p.features.EnableDRAWorkloadResourceClaims {
		status, err := p.makeRoomForGroup(ctx, g, info.GetUnscheduledPods())
		if err != nil {
			return nil, fwk.AsStatus(err)
		}
		if status != nil {
			return nil, status
		}
	}
	if !freed && p.args.Reasons != ReasonsUpstream {
		return nil, nothing
	}
	return nil, fwk.NewStatus(fwk.Unschedulable, p.words("deallocation and deletion of ResourceClaims completed",
		"claims whose devices cannot be used gave them back"))
}

// makeRoomForGroup frees one claim of the group, or takes the group out of one
// claim's consumers. It returns nil if there is nothing to do. The members are the
// pods of the cycle.
func (p *Plugin) makeRoomForGroup(ctx context.Context, g *groupState, members []*corev1.Pod) (*fwk.Status, error) {
	pod := members[0]
	name, ok := p.groupName(pod)
	if !ok {
		return nil, nil
	}
	// The manager of groups counts pods that were placed in other cycles than this
	// one. While it says that there are none, there will be none: cycles of groups
	// run one after the other. If it is behind, a later cycle comes by.
	placed, err := p.handle.PodGroupManager().PodGroupStates().Get(pod.Namespace, name)
	if err != nil {
		return nil, fmt.Errorf("look up state of pod group %s/%s: %w", pod.Namespace, name, err)
	}
	if placed.ScheduledPodsCount() > 0 {
		return nil, nil
	}
	group, err := p.podGroup(pod)
	if err != nil {
		return nil, fmt.Errorf("look up pod group %s/%s: %w", pod.Namespace, name, err)
	}
	for _, member := range members {
		s := g.pods[types.NamespacedName{Namespace: member.Namespace, Name: member.Name}]
		if s == nil {
			continue
		}
		for _, i := range s.unavailableClaims() {
			claim := s.claims[i].claim
			if !onlyConsumer(claim, group.UID) {
				continue
			}
			if err := p.deallocate(ctx, claim); err != nil {
				return nil, err
			}
			return fwk.NewStatus(fwk.Unschedulable, p.words("deallocation of PodGroup ResourceClaim completed",
				about(claim, "", "its devices cannot be used and were given back"))), nil
		}
	}
	return p.unreserveForGroup(ctx, group)
}

// unreserveForGroup takes the group out of the consumers of the first claim that
// is reserved for it.
func (p *Plugin) unreserveForGroup(ctx context.Context, group *schedulingapi.PodGroup) (*fwk.Status, error) {
	for i := range group.Spec.ResourceClaims {
		claim, err := p.groupClaim(group, &group.Spec.ResourceClaims[i])
		if err != nil {
			return nil, err
		}
		if claim == nil || claim.Status.Allocation == nil || !consumes(claim, resourceapi.ResourceClaimConsumerReference{UID: group.UID}) {
			continue
		}
		if _, err := p.removeConsumer(ctx, claim, group.UID); err != nil {
			// The group is tried again, and comes by here again.
			klog.FromContext(ctx).Error(err, "Could not unreserve claim", "podGroup", klog.KObj(group), "resourceclaim", klog.KObj(claim))
			continue
		}
		return unschedulable(p.words("ResourceClaim unreserved for PodGroup", about(claim, "", "is no longer reserved for the pod group"))), nil
	}
	return nil, nil
}

// groupClaim is a claim that the group names, or nil if it was not generated, or
// belongs to somebody else.
func (p *Plugin) groupClaim(group *schedulingapi.PodGroup, entry *schedulingapi.PodGroupResourceClaim) (*resourceapi.ResourceClaim, error) {
	name, generated, err := resourceclaim.NameFromPodGroup(group, entry)
	if errors.Is(err, resourceclaim.ErrClaimNotFound) || err == nil && name == nil {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	claim, err := p.manager.ResourceClaims().Get(group.Namespace, *name)
	if err != nil {
		return nil, err
	}
	if generated && resourceclaim.IsForPodGroup(group, claim) != nil {
		return nil, nil
	}
	return claim, nil
}
