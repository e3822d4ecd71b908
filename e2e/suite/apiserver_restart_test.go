package suite

import "testing"

func TestAnAPIServerThatIsKilledIsNotMissed(t *testing.T) {
	h := needHands(t)
	promise(t, "a pod runs on while the API server is killed, and pods that come after it is back run as well", func(s *scene) {
		s.makeTemplate("gpu", claimSpec(request("gpu", facts.gpuClass)))
		s.makePod("before", usingTemplate("gpu"))
		before := s.running("before")
		s.must(h.restartAPIServer(s.ctx))
		s.makePod("after", usingTemplate("gpu"))
		s.running("after")
		if now := s.pod("before"); now.UID != before.UID || now.Status.Phase != "Running" {
			s.Errorf("the pod is %s", now.Status.Phase)
		}
		s.remove("before")
	})
}
