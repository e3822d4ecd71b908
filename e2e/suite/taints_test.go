package suite

import (
	"fmt"
	"testing"

	resourceapi "k8s.io/api/resource/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const taintKey = "e2e.dray.dev/broken"

// taint taints all devices of a node, until the test is over.
func (s *scene) taint(node, device string, effect resourceapi.DeviceTaintEffect) {
	s.Helper()
	rules := cluster.client.ResourceV1().DeviceTaintRules()
	selector := &resourceapi.DeviceTaintSelector{Driver: &facts.driver, Pool: &node}
	if device != "" {
		selector.Device = &device
	}
	rule, err := rules.Create(s.ctx, &resourceapi.DeviceTaintRule{
		ObjectMeta: metav1.ObjectMeta{Name: "taint-" + s.namespace},
		Spec:       resourceapi.DeviceTaintRuleSpec{DeviceSelector: selector, Taint: resourceapi.DeviceTaint{Key: taintKey, Value: "yes", Effect: effect}},
	}, metav1.CreateOptions{})
	s.must(err)
	s.Cleanup(func() { _ = rules.Delete(s.ctx, rule.Name, metav1.DeleteOptions{}) })
}

func TestTaintedDevicesAreForThoseWhoTolerateThem(t *testing.T) {
	promise(t, "a device with a NoSchedule taint is given to claims that tolerate it alone", func(s *scene) {
		node, _ := s.gpuNode()
		s.taint(node, "", resourceapi.DeviceTaintEffectNoSchedule)
		s.makeClaim("plain", claimSpec(request("gpu", facts.gpuClass)))
		s.makePod("plain", usingClaim("plain"), onNode(node))
		s.refused("plain")
		spec := claimSpec(request("gpu", facts.gpuClass))
		spec.Devices.Requests[0].Exactly.Tolerations = []resourceapi.DeviceToleration{{Key: taintKey, Operator: resourceapi.DeviceTolerationOpExists}}
		s.makeClaim("tolerant", spec)
		s.makePod("tolerant", usingClaim("tolerant"), onNode(node))
		s.running("tolerant")
	})
}

func TestATaintCanEvict(t *testing.T) {
	promise(t, "a NoExecute taint removes the pod that uses the device, and no other", func(s *scene) {
		s.makeTemplate("gpu", claimSpec(request("gpu", facts.gpuClass)))
		node, _ := s.gpuNode()
		s.makePod("victim", usingTemplate("gpu"), onNode(node))
		s.makePod("other", usingTemplate("gpu"), onNode(node))
		victim, other := s.running("victim"), s.running("other")
		s.taint(node, s.results(claimOf(victim, "gpu"))[0].Device, resourceapi.DeviceTaintEffectNoExecute)
		s.eventually("the pod is to be evicted", func() error {
			_, err := cluster.client.CoreV1().Pods(s.namespace).Get(s.ctx, "victim", metav1.GetOptions{})
			if !apierrors.IsNotFound(err) {
				return fmt.Errorf("it is there: %v", err)
			}
			return nil
		})
		if now := s.pod("other"); now.UID != other.UID || now.DeletionTimestamp != nil {
			s.Error("the other pod was evicted as well")
		}
	})
}
