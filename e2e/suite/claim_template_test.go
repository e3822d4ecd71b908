package suite

import (
	"fmt"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestEachPodOfATemplateHasDevicesOfItsOwn(t *testing.T) {
	promise(t, "pods of one template get devices that differ, and their claims go with them", func(s *scene) {
		s.makeTemplate("gpu", claimSpec(request("gpu", facts.gpuClass)))
		node, devices := s.gpuNode()
		has := map[string]string{}
		claims := map[string]string{}
		for i := range ofType(devices, "gpu") {
			name := fmt.Sprintf("worker-%d", i)
			s.makePod(name, usingTemplate("gpu"), onNode(node))
		}
		for i := range ofType(devices, "gpu") {
			name := fmt.Sprintf("worker-%d", i)
			claims[name] = claimOf(s.running(name), "gpu")
			device := s.devices(claims[name])[0]
			if other := has[device]; other != "" {
				s.Errorf("%s and %s both have %s", name, other, device)
			}
			has[device] = name
		}
		s.remove("worker-0")
		s.eventually("the claim of the pod that is gone", func() error {
			_, err := cluster.client.ResourceV1().ResourceClaims(s.namespace).Get(s.ctx, claims["worker-0"], metav1.GetOptions{})
			if !apierrors.IsNotFound(err) {
				return fmt.Errorf("it is there: %v", err)
			}
			return nil
		})
	})
}
