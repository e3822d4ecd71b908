package suite

import (
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/dray-dev/dray/hwsim/fault"
	"github.com/dray-dev/dray/hwsim/state"
)

func TestAGPUThatBreaksIsSeenInThePod(t *testing.T) {
	h := needHands(t)
	promise(t, "the status of a pod says that its device is healthy, and unhealthy when the GPU breaks, which is tainted then", func(s *scene) {
		s.makeClaim("gpu", claimSpec(request("gpu", facts.gpuClass)))
		node, devices := s.gpuNode()
		s.makePod("train", usingClaim("gpu"), onNode(node))
		s.running("train")
		s.eventually("the device is to be healthy", func() error { return s.health("train", corev1.ResourceHealthStatusHealthy) })
		name, uuid := s.results("gpu")[0].Device, ""
		for i := range devices {
			if is := attribute(&devices[i], "uuid"); devices[i].Name == name && is != nil {
				uuid = *is
			}
		}
		folder, err := h.hardware(node)
		s.must(err)
		s.must(folder.Update(func(tx *state.Tx) error {
			return tx.Inject(fault.Fault{XID: &fault.XID{GPU: uuid, Code: 79}})
		}))
		s.eventually("the device is to be unhealthy", func() error { return s.health("train", corev1.ResourceHealthStatusUnhealthy) })
		s.eventually("the device is to be tainted", func() error {
			for _, device := range s.nodes()[node] {
				if device.Name == name && len(device.Taints) > 0 {
					return nil
				}
			}
			return fmt.Errorf("%s has no taint", name)
		})
		s.remove("train")
		s.must(folder.Update((*state.Tx).Reboot))
		s.eventually("the boot is to heal it", func() error {
			for _, device := range s.nodes()[node] {
				if device.Name == name && len(device.Taints) == 0 {
					return nil
				}
			}
			return fmt.Errorf("%s is not there, or has a taint", name)
		})
	})
}

// health returns nil when all devices of a pod's container are as they should be.
func (s *scene) health(name string, want corev1.ResourceHealthStatus) error {
	object := s.pod(name)
	count := 0
	for _, container := range object.Status.ContainerStatuses {
		for _, status := range container.AllocatedResourcesStatus {
			for _, resource := range status.Resources {
				if resource.Health != want {
					return fmt.Errorf("%s is %s", resource.ResourceID, resource.Health)
				}
				count++
			}
		}
	}
	if count == 0 {
		return fmt.Errorf("the pod says nothing of its devices")
	}
	return nil
}
