package suite

import (
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
)

func TestMorePodsThanDevicesAllRun(t *testing.T) {
	promise(t, "pods that want a GPU each, many more than there are, run one after the other, and no device is in two claims", func(s *scene) {
		pods := facts.pods
		s.makeTemplate("gpu", claimSpec(request("gpu", facts.gpuClass)))
		for i := range pods {
			s.makePod(fmt.Sprintf("job-%d", i), usingTemplate("gpu"), sleeping("1"))
		}
		s.within(4*patience, "they are to end", func() error {
			list, err := cluster.client.CoreV1().Pods(s.namespace).List(s.ctx, everything)
			if err != nil {
				return err
			}
			done := 0
			for i := range list.Items {
				switch list.Items[i].Status.Phase {
				case corev1.PodSucceeded:
					done++
				case corev1.PodFailed:
					s.Fatalf("pod %s has failed: %s", list.Items[i].Name, list.Items[i].Status.Message)
				}
			}
			s.noDeviceTwice()
			if done < pods {
				return fmt.Errorf("%d of %d have", done, pods)
			}
			return nil
		})
	})
}

// noDeviceTwice looks at all claims of the cluster at one moment.
func (s *scene) noDeviceTwice() {
	s.Helper()
	list, err := cluster.client.ResourceV1().ResourceClaims("").List(s.ctx, everything)
	s.must(err)
	has := map[string]string{}
	for i := range list.Items {
		claim := &list.Items[i]
		if claim.Status.Allocation == nil {
			continue
		}
		for _, result := range claim.Status.Allocation.Devices.Results {
			if result.AdminAccess != nil && *result.AdminAccess || result.ShareID != nil {
				continue
			}
			device := result.Driver + "/" + result.Pool + "/" + result.Device
			if other := has[device]; other != "" {
				s.Fatalf("device %s is in claims %s and %s", device, other, claim.Name)
			}
			has[device] = claim.Name
		}
	}
}
