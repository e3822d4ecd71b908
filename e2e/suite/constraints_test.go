package suite

import (
	"fmt"
	"testing"

	resourceapi "k8s.io/api/resource/v1"
)

// numa is an attribute that all GPUs have and that some share.
const numa = "resource.kubernetes.io/numaNode"

func TestDevicesThatMustMatchDo(t *testing.T) {
	promise(t, "devices of a matchAttribute constraint have one value, and a count that no value has is refused", func(s *scene) {
		node, devices := s.gpuNode()
		byValue := map[int64]int{}
		where := map[string]int64{}
		most := 0
		for _, device := range ofType(devices, "gpu") {
			value, ok := device.Attributes[numa]
			if !ok || value.IntValue == nil {
				s.Skip("GPUs have no NUMA node")
			}
			where[node+"/"+device.Name] = *value.IntValue
			byValue[*value.IntValue]++
			most = max(most, byValue[*value.IntValue])
		}
		spec := func(count int) resourceapi.ResourceClaimSpec {
			spec := claimSpec(requestOf("gpus", facts.gpuClass, int64(count)))
			attribute := resourceapi.FullyQualifiedName(numa)
			spec.Devices.Constraints = []resourceapi.DeviceConstraint{{MatchAttribute: &attribute}}
			return spec
		}
		s.makeClaim("near", spec(most))
		s.makePod("near", usingClaim("near"), onNode(node))
		s.running("near")
		values := map[int64]bool{}
		for _, device := range s.devices("near") {
			values[where[device]] = true
		}
		if len(values) != 1 {
			s.Errorf("devices %v are on NUMA nodes %v", s.devices("near"), values)
		}
		s.remove("near")
		s.makeClaim("too-many", spec(most+1))
		s.makePod("too-many", usingClaim("too-many"), onNode(node))
		why := s.refused("too-many")
		s.must(contains(why, "numaNode"))
	})
}

func TestDevicesThatMustDifferDo(t *testing.T) {
	promise(t, "devices of a distinctAttribute constraint have values that differ", func(s *scene) {
		node, devices := s.gpuNode()
		where := map[string]int64{}
		values := map[int64]bool{}
		for _, device := range ofType(devices, "gpu") {
			value := device.Attributes[numa]
			if value.IntValue == nil {
				s.Skip("GPUs have no NUMA node")
			}
			where[node+"/"+device.Name] = *value.IntValue
			values[*value.IntValue] = true
		}
		if len(values) < 2 {
			s.Skip("all GPUs are on one NUMA node")
		}
		spec := claimSpec(requestOf("gpus", facts.gpuClass, 2))
		attribute := resourceapi.FullyQualifiedName(numa)
		spec.Devices.Constraints = []resourceapi.DeviceConstraint{{DistinctAttribute: &attribute}}
		s.makeClaim("apart", spec)
		s.makePod("apart", usingClaim("apart"), onNode(node))
		s.running("apart")
		got := s.devices("apart")
		if len(got) != 2 || where[got[0]] == where[got[1]] {
			s.Error(fmt.Errorf("devices %v are on NUMA nodes %d and %d", got, where[got[0]], where[got[1]]))
		}
	})
}
