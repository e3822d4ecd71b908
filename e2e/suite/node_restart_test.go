package suite

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
)

func TestANodeThatIsRestartedKeepsItsPods(t *testing.T) {
	h := needHands(t)
	promise(t, "a kubelet that is restarted finds its pods and what is prepared for them, and gives it back at their end", func(s *scene) {
		node, _ := s.gpuNode()
		s.makeTemplate("gpu", claimSpec(request("gpu", facts.gpuClass)))
		s.makePod("train", usingTemplate("gpu"), onNode(node))
		before := s.running("train")
		s.must(h.restartKubelet(s.ctx, node))
		s.makePod("next", usingTemplate("gpu"), onNode(node))
		s.running("next")
		now := s.pod("train")
		if now.UID != before.UID || now.Status.Phase != corev1.PodRunning || now.Status.ContainerStatuses[0].ContainerID != before.Status.ContainerStatuses[0].ContainerID ||
			now.Status.ContainerStatuses[0].RestartCount != 0 {
			s.Errorf("it is %+v", now.Status)
		}
		s.remove("train")
	})
}
