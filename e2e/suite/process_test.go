package suite

import (
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/dray-dev/dray/kubeletplugin/cdi"
)

func TestAProcessSeesItsDevices(t *testing.T) {
	needProcesses(t)
	promise(t, "a process can open its devices and read what they are, and its log says so", func(s *scene) {
		s.makeClaim("gpu", claimSpec(request("gpu", facts.gpuClass)))
		s.makePod("train", usingClaim("gpu"), func(object *corev1.Pod) {
			object.Spec.Containers[0].Command = []string{"sh", "-c", `
				for d in /dev/nvidia[0-9]* /dev/nvidiactl; do : <"$d" && echo "opened $d"; done
				echo "visible $NVIDIA_VISIBLE_DEVICES"
				cat ` + cdi.SimulatedPath + `/*.json
				exec sleep infinity`}
		})
		object := s.running("train")
		device := s.results("gpu")[0].Device
		nodes := gpuNodes(s.given(object, "main"))
		if len(nodes) != 1 {
			s.Fatalf("its GPUs are %v", nodes)
		}
		s.eventually("the log is to say it", func() error {
			log, err := cluster.client.CoreV1().Pods(s.namespace).GetLogs("train", &corev1.PodLogOptions{Container: "main"}).DoRaw(s.ctx)
			if err != nil {
				return err
			}
			for _, words := range []string{"opened " + nodes[0] + "\n", "opened /dev/nvidiactl\n", "visible void\n", `"name":"` + device + `"`} {
				// A JSON document may have spaces.
				if err := contains(strings.ReplaceAll(string(log), `": "`, `":"`), words); err != nil {
					return err
				}
			}
			return nil
		})
	})
}

func TestAPartitionIsTheContainersAlone(t *testing.T) {
	needProcesses(t)
	promise(t, "containers of two partitions of a GPU get the GPU's device node, and the capability nodes of their own partition alone", func(s *scene) {
		node, devices := s.migNode()
		_, selector := s.smallest(devices)
		s.makeTemplate("partition", claimSpec(request("partition", facts.migClass, selector)))
		caps := map[string]string{}
		for _, name := range []string{"one", "two"} {
			s.makePod(name, usingTemplate("partition"), onNode(node))
			given := s.given(s.running(name), "main")
			own := 0
			for _, path := range given.Devices {
				if !strings.HasPrefix(path, "/dev/nvidia-caps/") {
					continue
				}
				own++
				if other := caps[path]; other != "" {
					s.Errorf("%s is in %s and in %s", path, other, name)
				}
				caps[path] = name
			}
			if own != 2 || len(gpuNodes(given)) != 1 {
				s.Errorf("%s has %v, and should have a GPU and two capabilities", name, given.Devices)
			}
		}
	})
}

func TestAContainerRuntimeThatIsKilledIsNotMissed(t *testing.T) {
	h := needProcesses(t)
	promise(t, "containers run on with their devices while the container runtime is killed, and new ones get theirs after it", func(s *scene) {
		node, _ := s.gpuNode()
		s.makeTemplate("gpu", claimSpec(request("gpu", facts.gpuClass)))
		s.makePod("before", usingTemplate("gpu"), onNode(node))
		before := s.running("before")
		had := fmt.Sprint(s.given(before, "main").Devices)
		s.must(h.restartRuntime(s.ctx, node))
		s.makePod("after", usingTemplate("gpu"), onNode(node))
		after := s.running("after")
		now := s.pod("before")
		if now.UID != before.UID || now.Status.ContainerStatuses[0].ContainerID != before.Status.ContainerStatuses[0].ContainerID ||
			now.Status.ContainerStatuses[0].RestartCount != 0 {
			s.Errorf("it is %+v", now.Status)
		}
		if has := fmt.Sprint(s.given(now, "main").Devices); has != had {
			s.Errorf("it had %s, and has %s", had, has)
		}
		if len(gpuNodes(s.given(after, "main"))) != 1 {
			s.Errorf("the next one has %v", s.given(after, "main").Devices)
		}
		s.remove("before")
	})
}
