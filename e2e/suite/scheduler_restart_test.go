package suite

import "testing"

func TestASchedulerThatIsKilledIsNotMissed(t *testing.T) {
	h := needHands(t)
	promise(t, "pods that were made before the scheduler is killed run after it is back, with devices that no one has", func(s *scene) {
		node, devices := s.gpuNode()
		s.makeTemplate("gpu", claimSpec(request("gpu", facts.gpuClass)))
		names := []string{"a", "b", "c", "d"}[:min(4, len(ofType(devices, "gpu")))]
		for i, name := range names {
			s.makePod(name, usingTemplate("gpu"), onNode(node))
			if i == 1 {
				s.must(h.restartScheduler(s.ctx))
			}
		}
		for _, name := range names {
			s.running(name)
		}
		s.noDeviceTwice()
	})
}
