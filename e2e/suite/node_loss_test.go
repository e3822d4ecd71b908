package suite

import (
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestTheDevicesOfALostNodeComeBackWithIt(t *testing.T) {
	h := needHands(t)
	promise(t, "pods of a node that is lost and deleted go, their claims are free, and the node can come back", func(s *scene) {
		node, _ := s.gpuNode()
		s.makeClaim("gpu", claimSpec(request("gpu", facts.gpuClass)))
		s.makePod("lost", usingClaim("gpu"), onNode(node))
		s.running("lost")
		s.must(h.stopNode(s.ctx, node))
		// Whoever does not wait for the node's lease to run out deletes the node.
		s.must(cluster.client.CoreV1().Nodes().Delete(s.ctx, node, metav1.DeleteOptions{}))
		s.within(2*patience, "the pod is to be removed", func() error {
			list, err := cluster.client.CoreV1().Pods(s.namespace).List(s.ctx, everything)
			if err == nil && len(list.Items) > 0 {
				err = fmt.Errorf("it is %s", list.Items[0].Status.Phase)
			}
			return err
		})
		s.eventually("the claim is to be free", func() error { return s.notAllocated("gpu") })
		s.must(h.startNode(s.ctx, node))
		// The driver's pod went with the node, and a new one comes.
		s.must(h.killDriver())
		s.must(h.startDriver(s.ctx))
		s.within(2*patience, "the node's devices are to be published", func() error {
			if len(s.nodes()[node]) == 0 {
				return fmt.Errorf("there are none")
			}
			return nil
		})
		s.makePod("again", usingClaim("gpu"), onNode(node))
		s.within(2*patience, "a pod is to run there again", func() error {
			if object := s.pod("again"); object.Status.Phase != corev1.PodRunning {
				return fmt.Errorf("it is %s: %s", object.Status.Phase, s.lastEvents("again"))
			}
			return nil
		})
	})
}
