package suite

import (
	"slices"
	"testing"

	resourceapi "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
)

func TestADriverThatIsKilledGoesOn(t *testing.T) {
	h := needHands(t)
	promise(t, "a pod waits while the driver is dead and runs when it is back; what was prepared before is taken back", func(s *scene) {
		node, devices := s.gpuNode()
		s.makeTemplate("gpu", claimSpec(request("gpu", facts.gpuClass)))
		s.makePod("before", usingTemplate("gpu"), onNode(node))
		before := s.running("before")
		s.must(h.killDriver())
		s.makePod("during", usingTemplate("gpu"), onNode(node))
		s.eventually("the pod is to say what it waits for", func() error {
			return contains(s.lastEvents("during"), "FailedPrepareDynamicResources")
		})
		s.must(h.startDriver(s.ctx))
		s.running("during")
		if now := s.pod("before"); now.UID != before.UID || now.Status.Phase != "Running" {
			s.Errorf("the pod that ran is %s", now.Status.Phase)
		}
		s.remove("before")
		s.remove("during")
		// The devices are those that there were.
		if now := s.nodes()[node]; len(now) != len(devices) || !slices.Equal(names(now), names(devices)) {
			s.Errorf("there were %v, and there are %v", names(devices), names(now))
		}
	})
}

func TestADriverIsUpdatedWithoutAGap(t *testing.T) {
	h := needHands(t)
	promise(t, "while the driver is replaced its slices stay, pods start, and claims of the old one are taken back by the new", func(s *scene) {
		node, _ := s.gpuNode()
		own := metav1.ListOptions{FieldSelector: fields.OneTermEqualSelector(resourceapi.ResourceSliceSelectorDriver, facts.driver).String()}
		before, err := cluster.client.ResourceV1().ResourceSlices().List(s.ctx, own)
		s.must(err)
		s.makeTemplate("gpu", claimSpec(request("gpu", facts.gpuClass)))
		s.makePod("before", usingTemplate("gpu"), onNode(node))
		s.running("before")
		s.must(h.updateDriver(s.ctx))
		s.makePod("after", usingTemplate("gpu"), onNode(node))
		s.running("after")
		s.remove("before")
		after, err := cluster.client.ResourceV1().ResourceSlices().List(s.ctx, own)
		s.must(err)
		uids := map[string]bool{}
		for i := range after.Items {
			uids[string(after.Items[i].UID)] = true
		}
		for i := range before.Items {
			if !uids[string(before.Items[i].UID)] {
				s.Errorf("slice %s has been deleted", before.Items[i].Name)
			}
		}
	})
}
