package allocatortest

import (
	"cmp"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"
)

// Scenario is what a scheduler asks the allocator for the pod (namespace/name):
// the claims of the pod that are not allocated yet, made from their templates
// where necessary; the cluster's slices with taint rules applied; the nodes that
// the pod itself allows, by name. gates are on in addition to those of a stock
// 1.37 cluster.
//
// The scenario is without claims if the pod has none, or one that is allocated:
// then the scheduler has to decide more than what the allocator answers.
func (in *PublicInput) Scenario(pod string, gates []string) (*Scenario, error) {
	features, err := stockFeatures(gates)
	if err != nil {
		return nil, err
	}
	i := slices.IndexFunc(in.Pods, func(p *corev1.Pod) bool { return p.Namespace+"/"+p.Name == pod })
	if i < 0 {
		return nil, fmt.Errorf("pod %s is not in %s", pod, inputFile)
	}
	claims, err := in.claimsOf(in.Pods[i])
	if err != nil {
		return nil, fmt.Errorf("pod %s: %w", pod, err)
	}
	nodes, err := in.nodesFor(in.Pods[i])
	if err != nil {
		return nil, fmt.Errorf("pod %s: %w", pod, err)
	}
	s := (&Scenario{
		Features: features,
		Nodes:    nodes,
		Slices:   taintSlices(in.Slices, in.TaintRules),
		Classes:  in.Classes,
		Claims:   claims,
	}).Clone()
	for _, claim := range in.Claims {
		if claim.Status.Allocation != nil {
			s.Allocated = append(s.Allocated, claim.DeepCopy())
		}
	}
	for _, claim := range slices.Concat(s.Allocated, s.Claims) {
		setDefaults(claim)
	}
	s.Stamp()
	return s, nil
}

// nodesFor returns the nodes that the pod's node selector and affinity allow.
func (in *PublicInput) nodesFor(pod *corev1.Pod) ([]*corev1.Node, error) {
	required := nodeaffinity.GetRequiredNodeAffinity(pod)
	var nodes []*corev1.Node
	for _, node := range in.Nodes {
		switch matches, err := required.Match(node); {
		case err != nil:
			return nil, fmt.Errorf("node %s: %w", node.Name, err)
		case matches:
			nodes = append(nodes, node)
		}
	}
	slices.SortFunc(nodes, func(a, b *corev1.Node) int { return cmp.Compare(a.Name, b.Name) })
	return nodes, nil
}

// claimsOf returns the claims to allocate for the pod, in the pod's order; none
// if one of its claims is allocated.
func (in *PublicInput) claimsOf(pod *corev1.Pod) ([]*resourceapi.ResourceClaim, error) {
	var claims []*resourceapi.ResourceClaim
	for i, entry := range pod.Spec.ResourceClaims {
		switch {
		case entry.ResourceClaimName != nil:
			claim := named(in.Claims, pod.Namespace, *entry.ResourceClaimName)
			if claim == nil {
				return nil, fmt.Errorf("resourceClaims[%d]: claim %s does not exist", i, *entry.ResourceClaimName)
			}
			if claim.Status.Allocation != nil {
				return nil, nil
			}
			claims = append(claims, claim)
		case entry.ResourceClaimTemplateName != nil:
			template := named(in.Templates, pod.Namespace, *entry.ResourceClaimTemplateName)
			if template == nil {
				return nil, fmt.Errorf("resourceClaims[%d]: template %s does not exist", i, *entry.ResourceClaimTemplateName)
			}
			claims = append(claims, &resourceapi.ResourceClaim{
				ObjectMeta: metav1.ObjectMeta{
					// A controller would append random characters.
					Name:        fmt.Sprintf("%s-%s-%d", pod.Name, entry.Name, i),
					Namespace:   pod.Namespace,
					Labels:      template.Spec.Labels,
					Annotations: template.Spec.Annotations,
				},
				Spec: template.Spec.Spec,
			})
		default:
			return nil, fmt.Errorf("resourceClaims[%d] names neither a claim nor a template", i)
		}
	}
	return claims, nil
}

// named returns the object of that name, or nil.
func named[T interface {
	comparable
	metav1.Object
}](objects []T, namespace, name string) (object T) {
	for _, o := range objects {
		if o.GetNamespace() == namespace && o.GetName() == name {
			return o
		}
	}
	return object
}

// setDefaults fills in what the API server does in a claim.
func setDefaults(claim *resourceapi.ResourceClaim) {
	for i := range claim.Spec.Devices.Requests {
		request := &claim.Spec.Devices.Requests[i]
		if exactly := request.Exactly; exactly != nil {
			setRequestDefaults(&exactly.AllocationMode, &exactly.Count, exactly.Tolerations)
		}
		for j := range request.FirstAvailable {
			sub := &request.FirstAvailable[j]
			setRequestDefaults(&sub.AllocationMode, &sub.Count, sub.Tolerations)
		}
	}
}

func setRequestDefaults(mode *resourceapi.DeviceAllocationMode, count *int64, tolerations []resourceapi.DeviceToleration) {
	if *mode == "" {
		*mode = resourceapi.DeviceAllocationModeExactCount
	}
	if *mode == resourceapi.DeviceAllocationModeExactCount && *count == 0 {
		*count = 1
	}
	for i := range tolerations {
		if tolerations[i].Operator == "" {
			tolerations[i].Operator = resourceapi.DeviceTolerationOpEqual
		}
	}
}

// taintSlices returns the slices with the taint of each rule on the devices
// that it selects, rules in order of their names. What is not selected is
// returned as it is; nothing is modified.
func taintSlices(published []*resourceapi.ResourceSlice, rules []*resourceapi.DeviceTaintRule) []*resourceapi.ResourceSlice {
	rules = slices.Clone(rules)
	slices.SortFunc(rules, func(a, b *resourceapi.DeviceTaintRule) int { return cmp.Compare(a.Name, b.Name) })
	tainted := slices.Clone(published)
	for i, slice := range published {
		for j := range slice.Spec.Devices {
			for _, rule := range rules {
				if !selects(rule.Spec.DeviceSelector, slice, slice.Spec.Devices[j].Name) {
					continue
				}
				if tainted[i] == slice {
					tainted[i] = slice.DeepCopy()
				}
				device := &tainted[i].Spec.Devices[j]
				device.Taints = append(device.Taints, rule.Spec.Taint)
			}
		}
	}
	return tainted
}

// selects: no selector selects nothing, an empty one everything.
func selects(s *resourceapi.DeviceTaintSelector, slice *resourceapi.ResourceSlice, device string) bool {
	allows := func(want *string, is string) bool { return want == nil || *want == is }
	return s != nil && allows(s.Driver, slice.Spec.Driver) && allows(s.Pool, slice.Spec.Pool.Name) && allows(s.Device, device)
}
