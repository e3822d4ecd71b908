package suite

import "testing"

func TestAPodGetsTheDeviceOfAClaimThatItNames(t *testing.T) {
	promise(t, "a pod that names a claim runs on the node of the claim's device", func(s *scene) {
		s.makeClaim("gpu", claimSpec(request("gpu", facts.gpuClass)))
		s.makePod("train", usingClaim("gpu"))
		object := s.running("train")
		results := s.results("gpu")
		if len(results) != 1 || results[0].Driver != facts.driver || results[0].Pool != object.Spec.NodeName {
			s.Errorf("the pod is on %s, and the claim has %+v", object.Spec.NodeName, results)
		}
		reserved := s.claim("gpu").Status.ReservedFor
		if len(reserved) != 1 || reserved[0].UID != object.UID {
			s.Errorf("the claim is reserved for %+v", reserved)
		}
	})
}
