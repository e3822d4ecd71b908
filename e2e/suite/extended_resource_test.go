package suite

import (
	"fmt"
	"testing"

	resourceapi "k8s.io/api/resource/v1"
)

// extended runs a pod that asks for an extended resource as one would of a device
// plugin, and checks what its container gets.
func (s *scene) extended(name string) {
	s.Helper()
	node, _ := s.gpuNode()
	s.makePod("train", asking(name, 2), onNode(node))
	object := s.running("train")
	status := object.Status.ExtendedResourceClaimStatus
	if status == nil {
		s.Fatal("the pod says nothing of a claim")
	}
	if got := s.results(status.ResourceClaimName); len(got) != 2 || got[0].Driver != facts.driver {
		s.Errorf("allocated is %+v", got)
	}
	if got := gpuNodes(s.given(object, "main")); len(got) != 2 {
		s.Errorf("the container got %v", got)
	}
	s.remove("train")
	s.eventually("the claim is to go", func() error {
		list, err := cluster.client.ResourceV1().ResourceClaims(s.namespace).List(s.ctx, everything)
		if err == nil && len(list.Items) > 0 {
			err = fmt.Errorf("%s is there", list.Items[0].Name)
		}
		return err
	})
}

func TestAnExtendedResourceOfAClassIsServedByDRA(t *testing.T) {
	promise(t, "a pod that asks for the extended resource of a class gets devices of the class", func(s *scene) {
		name := "e2e.dray.dev/" + s.namespace
		s.makeClass("extended", resourceapi.DeviceClassSpec{ExtendedResourceName: &name, Selectors: cel([]string{
			`device.driver == "` + facts.driver + `" && device.attributes["` + facts.driver + `"].type == "gpu"`})})
		s.extended(name)
	})
}

func TestEachClassIsAnExtendedResource(t *testing.T) {
	promise(t, "a class without an extended resource is one by its own name", func(s *scene) {
		s.extended(resourceapi.ResourceDeviceClassPrefix + facts.gpuClass)
	})
}

func TestAnExtendedResourceThatNodesHaveIsNotTakenFromDRA(t *testing.T) {
	promise(t, "a resource that a node has itself, as by a device plugin, makes no claim", func(s *scene) {
		if facts.pluginResource == "" {
			s.Skip("nodes have no such resource (-plugin-resource)")
		}
		node, _ := s.gpuNode()
		s.makePod("two", asking(facts.pluginResource, 2), onNode(node))
		if object := s.running("two"); object.Status.ExtendedResourceClaimStatus != nil {
			s.Errorf("it has %+v", object.Status.ExtendedResourceClaimStatus)
		}
		s.makePod("one", asking(facts.pluginResource, 1), onNode(node))
		s.must(contains(s.refused("one"), "Insufficient "+facts.pluginResource))
		s.remove("two")
		s.running("one")
	})
}
