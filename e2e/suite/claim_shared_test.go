package suite

import (
	"slices"
	"testing"
)

func TestPodsThatShareAClaimHaveTheSameDevice(t *testing.T) {
	promise(t, "pods that name one claim run on one node with one device, which is free when the last is gone", func(s *scene) {
		s.makeClaim("shared", claimSpec(request("gpu", facts.gpuClass)))
		s.makePod("one", usingClaim("shared"))
		s.makePod("two", usingClaim("shared"))
		one, two := s.running("one"), s.running("two")
		if one.Spec.NodeName != two.Spec.NodeName {
			s.Errorf("they are on %s and %s", one.Spec.NodeName, two.Spec.NodeName)
		}
		if a, b := s.given(one, "main"), s.given(two, "main"); !slices.Equal(a.Devices, b.Devices) || len(a.Devices) == 0 {
			s.Errorf("they got %v and %v", a.Devices, b.Devices)
		}
		s.remove("one")
		if still := s.given(s.pod("two"), "main"); len(still.Devices) == 0 || s.claim("shared").Status.Allocation == nil {
			s.Error("the claim has lost its device under a pod that uses it")
		}
		s.remove("two")
		s.eventually("the claim is to give back its device", func() error { return s.notAllocated("shared") })
	})
}
