package suite

import (
	"errors"
	"testing"
	"time"

	resourceapi "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestAPodIsBoundWhenItsDevicesAreReady(t *testing.T) {
	promise(t, "a device with a binding condition is allocated, and the pod is bound when the condition is true", func(s *scene) {
		const attached = "e2e.dray.dev/attached"
		class, driver := s.pretend(resourceapi.Device{Name: "remote", BindingConditions: []string{attached}, BindingFailureConditions: []string{"e2e.dray.dev/failed"}})
		s.makeClaim("remote", claimSpec(request("remote", class)))
		s.makePod("train", usingClaim("remote"))
		claims := cluster.client.ResourceV1().ResourceClaims(s.namespace)
		s.eventually("the claim is to be allocated", func() error {
			if s.claim("remote").Status.Allocation == nil {
				return errors.New("it is not")
			}
			return nil
		})
		if object := s.pod("train"); object.Spec.NodeName != "" {
			s.Fatalf("it was bound to %s before its device was ready", object.Spec.NodeName)
		}
		claim := s.claim("remote")
		result := claim.Status.Allocation.Devices.Results[0]
		claim.Status.Devices = []resourceapi.AllocatedDeviceStatus{{Driver: driver, Pool: result.Pool, Device: result.Device,
			Conditions: []metav1.Condition{{Type: attached, Status: metav1.ConditionTrue, Reason: "Attached", LastTransitionTime: metav1.NewTime(time.Now())}}}}
		_, err := claims.UpdateStatus(s.ctx, claim, metav1.UpdateOptions{})
		s.must(err)
		s.placed("train")
	})
}
