package chaos

import (
	"context"

	resourceapi "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/dynamic-resource-allocation/resourceclaim"
)

// hopeless lists the pending pods that no scheduler can place, because somebody
// deleted a claim under them:
//
//   - a claim that was made for the pod is gone and the controller does not make
//     another one: for a while after it made a claim it believes its own memory
//     rather than the API;
//   - a claim is being deleted while it is reserved for a pod that is not bound, as
//     after the death of a scheduler between reservation and binding. It may not be
//     used for it, and is not deleted before the pod is.
//
// Whoever deleted the claims has to delete these pods.
func (a *actor) hopeless(ctx context.Context) ([]string, error) {
	claims, err := a.client.ResourceV1().ResourceClaims(namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, err
	}
	byName := map[string]*resourceapi.ResourceClaim{}
	deletedFor := map[types.UID]bool{} // pods that have a claim reserved that is being deleted
	for i := range claims.Items {
		claim := &claims.Items[i]
		byName[claim.Name] = claim
		if claim.DeletionTimestamp != nil {
			for _, consumer := range claim.Status.ReservedFor {
				deletedFor[consumer.UID] = true
			}
		}
	}
	// Pods are read after claims: one that names a claim that was made in between is
	// looked at again the next time.
	pods, err := a.client.CoreV1().Pods(namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, err
	}
	var names []string
	for i := range pods.Items {
		pod := &pods.Items[i]
		if pod.Spec.NodeName != "" {
			continue
		}
		lost := deletedFor[pod.UID]
		for j := range pod.Spec.ResourceClaims {
			if pod.Spec.ResourceClaims[j].ResourceClaimTemplateName == nil {
				continue
			}
			name, _, err := resourceclaim.Name(pod, &pod.Spec.ResourceClaims[j])
			lost = lost || err == nil && name != nil && byName[*name] == nil
		}
		if lost {
			names = append(names, pod.Name)
		}
	}
	return names, nil
}
