package suite

import (
	"testing"

	resourceapi "k8s.io/api/resource/v1"
)

func TestAllMeansAllOrNothing(t *testing.T) {
	promise(t, "a request for all devices gets each that matches on a node, and waits while one is in use", func(s *scene) {
		node, devices := s.gpuNode()
		count := len(ofType(devices, "gpu"))
		spec := claimSpec(request("gpus", facts.gpuClass))
		spec.Devices.Requests[0].Exactly.AllocationMode = resourceapi.DeviceAllocationModeAll
		s.makeClaim("one", claimSpec(request("gpu", facts.gpuClass)))
		s.makePod("first", usingClaim("one"), onNode(node))
		s.running("first")
		s.makeClaim("all", spec)
		s.makePod("all", usingClaim("all"), onNode(node))
		s.refused("all")
		s.remove("first")
		object := s.running("all")
		if got := gpuNodes(s.given(object, "main")); len(got) != count || len(s.devices("all")) != count {
			s.Errorf("of %d it got %v", count, got)
		}
	})
}
