package suite

import (
	"testing"

	resourceapi "k8s.io/api/resource/v1"
)

func TestTheFirstAlternativeThatFitsIsTaken(t *testing.T) {
	promise(t, "of a list of alternatives the first that can be had is allocated, and the result names it", func(s *scene) {
		r := resourceapi.DeviceRequest{Name: "gpu", FirstAvailable: []resourceapi.DeviceSubRequest{
			{Name: "impossible", DeviceClassName: facts.gpuClass, Selectors: cel([]string{`device.attributes["` + facts.driver + `"].productName == "no such product"`})},
			{Name: "two", DeviceClassName: facts.gpuClass, Count: 2, AllocationMode: resourceapi.DeviceAllocationModeExactCount},
			{Name: "one", DeviceClassName: facts.gpuClass},
		}}
		s.makeClaim("list", claimSpec(r))
		s.makePod("train", usingClaim("list"))
		given := gpuNodes(s.given(s.running("train"), "main"))
		results := s.results("list")
		if len(results) != 2 || results[0].Request != "gpu/two" || len(given) != 2 {
			s.Errorf("allocated is %+v, and the container got %v", results, given)
		}
	})
}
