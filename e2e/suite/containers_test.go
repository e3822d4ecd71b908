package suite

import (
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
)

func TestAContainerGetsTheDevicesOfItsRequestsAlone(t *testing.T) {
	promise(t, "of a claim with two requests, containers that name one each get one device each", func(s *scene) {
		s.makeClaim("pair", claimSpec(request("left", facts.gpuClass), request("right", facts.gpuClass)))
		s.makePod("pair", func(object *corev1.Pod) {
			name := "pair"
			object.Spec.ResourceClaims = []corev1.PodResourceClaim{{Name: "pair", ResourceClaimName: &name}}
			main := object.Spec.Containers[0]
			object.Spec.Containers = nil
			for _, side := range []string{"left", "right", "none"} {
				c := *main.DeepCopy()
				c.Name = side
				if side != "none" {
					c.Resources.Claims = []corev1.ResourceClaim{{Name: "pair", Request: side}}
				}
				object.Spec.Containers = append(object.Spec.Containers, c)
			}
		})
		object := s.running("pair")
		left, right, none := gpuNodes(s.given(object, "left")), gpuNodes(s.given(object, "right")), s.given(object, "none")
		if len(left) != 1 || len(right) != 1 || slices.Equal(left, right) {
			s.Errorf("they got %v and %v", left, right)
		}
		if hardware := s.given(object, "left").Hardware; len(hardware) != 1 {
			s.Errorf("the left one has %+v", hardware)
		}
		if len(none.CDI) != 0 || len(none.Devices) != 0 {
			s.Errorf("the container without a claim got %+v", none)
		}
	})
}

func TestAContainerGetsDeviceNodesVariablesAndFiles(t *testing.T) {
	promise(t, "a container with a GPU gets its device node, the ones that all GPUs need, and no other GPU's", func(s *scene) {
		s.makeClaim("gpu", claimSpec(request("gpu", facts.gpuClass)))
		s.makePod("train", usingClaim("gpu"))
		given := s.given(s.running("train"), "main")
		if len(given.CDI) == 0 || len(gpuNodes(given)) != 1 || !slices.Contains(given.Devices, "/dev/nvidiactl") {
			s.Errorf("it got %+v", given)
		}
		// The NVIDIA runtime must not add devices of its own to those of the claim.
		if given.Env["NVIDIA_VISIBLE_DEVICES"] != "void" {
			s.Errorf("its variables are %v", given.Env)
		}
	})
}

func TestTheLogOfAHollowContainerSaysWhatItGot(t *testing.T) {
	if cluster.hands != nil && !cluster.hands.hollow() {
		t.Skip("the log is that of a process here: see TestAProcessSeesItsDevices")
	}
	promise(t, "kubectl logs of a container that has no process prints its devices, and which hardware they are", func(s *scene) {
		s.makeClaim("gpu", claimSpec(request("gpu", facts.gpuClass)))
		s.makePod("train", usingClaim("gpu"))
		object := s.running("train")
		given := s.given(object, "main")
		log, err := cluster.client.CoreV1().Pods(s.namespace).GetLogs("train", &corev1.PodLogOptions{Container: "main"}).DoRaw(s.ctx)
		s.must(err)
		if string(log) != given.Log() {
			s.Errorf("it prints\n%s", log)
		}
		if len(given.Hardware) != 1 || given.Hardware[0].Name != s.results("gpu")[0].Device {
			s.Errorf("the hardware is %+v", given.Hardware)
		}
	})
}
