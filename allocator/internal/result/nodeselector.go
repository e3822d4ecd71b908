package result

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/dray-dev/dray/allocator/internal/request"
)

// nodeSelector says which nodes can use the allocation: this one, if any of its
// devices is tied to it; otherwise the nodes that reach all devices; nil where
// all do.
func (w *writer) nodeSelector() (*corev1.NodeSelector, error) {
	var term corev1.NodeSelectorTerm
	for _, pick := range w.picks {
		device, slice := w.device(pick)
		nodeName, selector := slice.Spec.NodeName, slice.Spec.NodeSelector
		if perDevice := slice.Spec.PerDeviceNodeSelection; perDevice != nil && *perDevice {
			nodeName, selector = device.NodeName, device.NodeSelector
		}
		if nodeName != nil || device.BindsToNode != nil && *device.BindsToNode {
			return onlyNode(w.API.Name), nil
		}
		if selector == nil || len(selector.NodeSelectorTerms) == 0 {
			continue
		}
		if n := len(selector.NodeSelectorTerms); n > 1 {
			return nil, w.termsError(slice, device, n)
		}
		addMissing(&term.MatchFields, selector.NodeSelectorTerms[0].MatchFields)
		addMissing(&term.MatchExpressions, selector.NodeSelectorTerms[0].MatchExpressions)
	}
	if len(term.MatchFields) == 0 && len(term.MatchExpressions) == 0 {
		return nil, nil
	}
	return &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{term}}, nil
}

// termsError: several terms are alternatives, and alternatives of several
// devices cannot be joined into one selector. The API allows one term; v1.37
// checks that for slices but not for single devices.
func (w *writer) termsError(slice *resourceapi.ResourceSlice, device *resourceapi.Device, terms int) error {
	return &request.InputError{
		Claim:  w.claim.Name(),
		Device: slice.Spec.Driver + "/" + slice.Spec.Pool.Name + "/" + device.Name,
		Err: fmt.Errorf("create NodeSelector for claim %s: %w", w.claim.API.Name,
			fmt.Errorf("unsupported ResourceSlice.NodeSelector with %d terms", terms)),
	}
}

// onlyNode takes one allocation: most results have such a selector.
func onlyNode(name string) *corev1.NodeSelector {
	s := &struct {
		selector corev1.NodeSelector
		terms    [1]corev1.NodeSelectorTerm
		fields   [1]corev1.NodeSelectorRequirement
		values   [1]string
	}{}
	s.values[0] = name
	s.fields[0] = corev1.NodeSelectorRequirement{Key: metav1.ObjectNameField, Operator: corev1.NodeSelectorOpIn, Values: s.values[:]}
	s.terms[0].MatchFields = s.fields[:]
	s.selector.NodeSelectorTerms = s.terms[:]
	return &s.selector
}

// addMissing appends the requirements that are not there yet. The order of
// values does not matter.
func addMissing(to *[]corev1.NodeSelectorRequirement, from []corev1.NodeSelectorRequirement) {
	for _, requirement := range from {
		found := false
		for _, present := range *to {
			if present.Key == requirement.Key && present.Operator == requirement.Operator &&
				sets.New(present.Values...).Equal(sets.New(requirement.Values...)) {
				found = true
				break
			}
		}
		if !found {
			*to = append(*to, requirement)
		}
	}
}
