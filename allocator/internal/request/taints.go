package request

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/dynamic-resource-allocation/resourceclaim"
)

// SkippingFeature is what a node declares in status.declaredFeatures when its
// kubelet can leave out node operations (gate DRAOptionalNodeOperations).
const SkippingFeature = "DRAOptionalNodeOperations"

// SupportsSkipping says whether the node declares SkippingFeature. It is all that a
// problem depends on of a node beside what the node reaches.
func SupportsSkipping(node *corev1.Node) bool {
	return slices.Contains(node.Status.DeclaredFeatures, SkippingFeature)
}

// tolerated says whether each taint that keeps claims away is tolerated.
func tolerated(taints []resourceapi.DeviceTaint, tolerations []resourceapi.DeviceToleration) bool {
	return firstUntolerated(taints, tolerations) == nil
}

// firstUntolerated returns the first taint that keeps the claim away, or nil.
func firstUntolerated(taints []resourceapi.DeviceTaint, tolerations []resourceapi.DeviceToleration) *resourceapi.DeviceTaint {
	for i := range taints {
		taint := taints[i]
		if taint.Effect != resourceapi.DeviceTaintEffectNoSchedule && taint.Effect != resourceapi.DeviceTaintEffectNoExecute {
			continue
		}
		if !slices.ContainsFunc(tolerations, func(t resourceapi.DeviceToleration) bool { return resourceclaim.ToleratesTaint(t, taint) }) {
			return &taints[i]
		}
	}
	return nil
}
