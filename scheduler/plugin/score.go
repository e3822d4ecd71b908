package plugin

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/dynamic-resource-allocation/resourceclaim"
	fwk "k8s.io/kube-scheduler/framework"
)

// Score prefers nodes where requests get alternatives that are listed early: each
// request with alternatives adds 8 for its first one, 7 for its second, and so on.
func (p *Plugin) Score(ctx context.Context, cycle fwk.CycleState, pod *corev1.Pod, info fwk.NodeInfo) (int64, *fwk.Status) {
	if !p.enabled || !p.features.EnableDRAPrioritizedList {
		return 0, nil
	}
	s, err := readState(cycle)
	if err != nil {
		return 0, failed(ctx, pod, err)
	}
	if !s.ranked {
		return 0, nil
	}
	if s.timed {
		defer p.took(pointScore, p.clock.Now())
	}
	result, ok, err := p.result(ctx, s, info.Node().Name)
	if err != nil {
		return 0, failed(ctx, pod, err)
	}
	if !ok {
		return 0, nil // nothing was searched, so all nodes are equal
	}
	var score int64
	for i := range s.claims {
		allocation := result.allocations[i]
		if s.claims[i].allocated() {
			allocation = s.claims[i].claim.Status.Allocation
		}
		if allocation != nil {
			score += preference(s.claims[i].claim, allocation)
		}
	}
	return score, nil
}

func preference(claim *resourceapi.ResourceClaim, allocation *resourceapi.AllocationResult) int64 {
	chosen := sets.New[string]()
	for i := range allocation.Devices.Results {
		chosen.Insert(allocation.Devices.Results[i].Request)
	}
	var sum int64
	for i := range claim.Spec.Devices.Requests {
		request := &claim.Spec.Devices.Requests[i]
		for k := range request.FirstAvailable {
			if chosen.Has(resourceclaim.CreateSubRequestRef(request.Name, request.FirstAvailable[k].Name)) {
				sum += int64(resourceapi.FirstAvailableDeviceRequestMaxSize - k)
			}
		}
	}
	return sum
}

// ScoreExtensions returns the plugin itself.
func (p *Plugin) ScoreExtensions() fwk.ScoreExtensions { return p }

// NormalizeScore brings the scores into the scheduler's range: the best node gets
// all of it, others in proportion.
func (p *Plugin) NormalizeScore(_ context.Context, _ fwk.CycleState, _ *corev1.Pod, scores fwk.NodeScoreList) *fwk.Status {
	var best int64
	for i := range scores {
		best = max(best, scores[i].Score)
	}
	if !p.enabled || best == 0 {
		return nil
	}
	for i := range scores {
		scores[i].Score = scores[i].Score * fwk.MaxScore / best
	}
	return nil
}
