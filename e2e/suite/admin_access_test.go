package suite

import (
	"testing"

	resourceapi "k8s.io/api/resource/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

func TestAdministratorsReachDevicesInUse(t *testing.T) {
	promise(t, "a claim with admin access gets devices that others have, in namespaces that may, and takes none away", func(s *scene) {
		node, devices := s.gpuNode()
		yes := true
		spec := claimSpec(request("gpus", facts.gpuClass))
		spec.Devices.Requests[0].Exactly.AllocationMode = resourceapi.DeviceAllocationModeAll
		spec.Devices.Requests[0].Exactly.AdminAccess = &yes
		_, err := cluster.client.ResourceV1().ResourceClaims(s.namespace).Create(s.ctx,
			&resourceapi.ResourceClaim{ObjectMeta: metav1.ObjectMeta{Name: "admin"}, Spec: spec}, metav1.CreateOptions{})
		if !apierrors.IsForbidden(err) && !apierrors.IsInvalid(err) {
			s.Fatalf("a namespace that may not: %v", err)
		}
		patch := []byte(`{"metadata":{"labels":{"` + resourceapi.DRAAdminNamespaceLabelKey + `":"true"}}}`)
		_, err = cluster.client.CoreV1().Namespaces().Patch(s.ctx, s.namespace, types.MergePatchType, patch, metav1.PatchOptions{})
		s.must(err)
		s.makeClaim("user", claimSpec(request("gpu", facts.gpuClass)))
		s.makePod("user", usingClaim("user"), onNode(node))
		s.running("user")
		s.makeClaim("admin", spec)
		s.makePod("admin", usingClaim("admin"), onNode(node))
		object := s.running("admin")
		if got := gpuNodes(s.given(object, "main")); len(got) != len(ofType(devices, "gpu")) {
			s.Errorf("of %d GPUs the administrator got %v", len(ofType(devices, "gpu")), got)
		}
		s.makeClaim("next", claimSpec(request("gpu", facts.gpuClass)))
		s.makePod("next", usingClaim("next"), onNode(node))
		s.running("next")
	})
}
