package suite

import (
	"fmt"
	"testing"

	resourceapi "k8s.io/api/resource/v1"
)

// smallest is a selector of the smallest profile of a node's partitions.
func (s *scene) smallest(devices []resourceapi.Device) (profile, selector string) {
	s.Helper()
	least := int64(-1)
	partitions := ofType(devices, "mig")
	for i := range partitions {
		memory := partitions[i].Capacity["memory"].Value
		if is := attribute(&partitions[i], "profile"); is != nil && (least < 0 || memory.Value() < least) {
			profile, least = *is, memory.Value()
		}
	}
	if profile == "" {
		s.Skip("partitions have no profile")
	}
	return profile, `device.attributes["` + facts.driver + `"].profile == "` + profile + `"`
}

// instances counts the GPU instances on a simulated node.
func (s *scene) instances(node string) int {
	s.Helper()
	folder, err := needHandsOf(s).hardware(node)
	s.must(err)
	view, err := folder.View()
	s.must(err)
	count := 0
	for i := range view.Node.GPUs {
		if view.Node.GPUs[i].MIG != nil {
			count += len(view.Node.GPUs[i].MIG.Instances)
		}
	}
	return count
}

func TestPartitionsAreMadeForClaimsAndGoWithThem(t *testing.T) {
	promise(t, "a claim of a partition makes it on the GPU, and its end removes it", func(s *scene) {
		node, devices := s.migNode()
		_, selector := s.smallest(devices)
		before := s.instances(node)
		s.makeTemplate("partition", claimSpec(request("partition", facts.migClass, selector)))
		s.makePod("one", usingTemplate("partition"), onNode(node))
		s.makePod("two", usingTemplate("partition"), onNode(node))
		one, two := s.running("one"), s.running("two")
		if now := s.instances(node); now != before+2 {
			s.Errorf("there were %d instances, and there are %d", before, now)
		}
		if a, b := s.devices(claimOf(one, "partition"))[0], s.devices(claimOf(two, "partition"))[0]; a == b {
			s.Errorf("both have %s", a)
		}
		s.remove("one")
		s.remove("two")
		s.eventually("instances are to go", func() error {
			if now := s.instances(node); now != before {
				return fmt.Errorf("there were %d, and there are %d", before, now)
			}
			return nil
		})
	})
}

func TestAGPUIsWholeOrPartitioned(t *testing.T) {
	promise(t, "while a partition of each GPU is in use no whole GPU is given out, and afterwards all are", func(s *scene) {
		node, devices := s.migNode()
		gpus := ofType(devices, "gpu")
		_, selector := s.smallest(devices)
		var requests []resourceapi.DeviceRequest
		for i := range gpus {
			parent := attribute(&gpus[i], "uuid")
			if parent == nil {
				s.Skip("GPUs have no uuid")
			}
			requests = append(requests, request(fmt.Sprintf("on-%d", i), facts.migClass, selector,
				`device.attributes["`+facts.driver+`"].parentUUID == "`+*parent+`"`))
		}
		s.makeClaim("one-each", claimSpec(requests...))
		s.makePod("one-each", usingClaim("one-each"), onNode(node))
		s.running("one-each")
		s.makeClaim("whole", claimSpec(request("gpu", facts.gpuClass)))
		s.makePod("whole", usingClaim("whole"), onNode(node))
		s.refused("whole")
		s.remove("one-each")
		s.running("whole")
	})
}
