package suite

import (
	"slices"
	"strings"
	"testing"
)

func TestASelectorChoosesByAttributes(t *testing.T) {
	promise(t, "a CEL expression that is true of one device gets that device", func(s *scene) {
		node, devices := s.gpuNode()
		gpus := ofType(devices, "gpu")
		wanted := gpus[len(gpus)-1]
		uuid := attribute(&wanted, "uuid")
		if uuid == nil {
			s.Skip("devices have no uuid")
		}
		s.makeClaim("this", claimSpec(request("gpu", facts.gpuClass, `device.attributes["`+facts.driver+`"].uuid == "`+*uuid+`"`)))
		s.makePod("train", usingClaim("this"))
		s.running("train")
		if got := s.devices("this"); !slices.Equal(got, []string{node + "/" + wanted.Name}) {
			s.Errorf("it got %v and not %s of %s", got, wanted.Name, node)
		}
	})
}

func TestASelectorThatIsWrongIsNamed(t *testing.T) {
	promise(t, "an expression that reads an attribute that devices do not have is not taken for one that is false", func(s *scene) {
		s.makeClaim("wrong", claimSpec(request("gpu", facts.gpuClass, `device.attributes["`+facts.driver+`"].noSuchAttribute == "x"`)))
		s.makePod("train", usingClaim("wrong"))
		s.eventually("the error is to be told", func() error {
			return contains(s.lastEvents("train"), "noSuchAttribute")
		})
		if s.pod("train").Spec.NodeName != "" || !strings.Contains(s.lastEvents("train"), "wrong") {
			s.Errorf("it says %s", s.lastEvents("train"))
		}
	})
}
