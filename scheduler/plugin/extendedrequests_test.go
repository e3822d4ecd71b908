package plugin

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
)

// containers reads "name=resource:count,resource:count; …"; a name with + is a
// sidecar's.
func containers(t *testing.T, text string) []corev1.Container {
	t.Helper()
	var out []corev1.Container
	if text == "" {
		return nil
	}
	for item := range strings.SplitSeq(text, "; ") {
		name, list, _ := strings.Cut(item, "=")
		c := corev1.Container{Name: strings.TrimSuffix(name, "+")}
		if strings.HasSuffix(name, "+") {
			always := corev1.ContainerRestartPolicyAlways
			c.RestartPolicy = &always
		}
		if list != "" {
			c.Resources.Requests = resources(t, strings.Split(list, ","))
		}
		out = append(out, c)
	}
	return out
}

func TestContainersShareDevicesThatTheyDoNotNeedAtOnce(t *testing.T) {
	for name, test := range map[string]struct {
		inits, mains string
		want         []string // requests, then uses
	}{
		"one container": {"", "main=gpu:2",
			[]string{"container-0-request-0: 2 of class", "main: container-0-request-0"}},
		"two containers have their own": {"", "a=gpu:1; b=gpu:2",
			[]string{"container-0-request-0: 1 of class", "container-1-request-0: 2 of class", "a: container-0-request-0", "b: container-1-request-0"}},
		"a container without": {"", "a=cpu:1; b=gpu:1",
			[]string{"container-1-request-0: 1 of class", "b: container-1-request-0"}},
		"the place of a resource is by name": {"", "a=cpu:1,gpu:1,memory:1",
			[]string{"container-0-request-1: 1 of class", "a: container-0-request-1"}},
		"an init container borrows all": {"init=gpu:1", "main=gpu:2",
			[]string{"container-1-request-0: 2 of class", "main: container-1-request-0", "init: container-1-request-0"}},
		"an init container borrows as much as it needs": {"init=gpu:1", "a=gpu:1; b=gpu:1",
			[]string{"container-1-request-0: 1 of class", "container-2-request-0: 1 of class",
				"a: container-1-request-0", "b: container-2-request-0", "init: container-1-request-0"}},
		"init containers share what is missing": {"x=gpu:3; y=gpu:5; z=gpu:5", "main=gpu:1",
			[]string{"container-1-request-0: 4 of class", "container-3-request-0: 1 of class", "main: container-3-request-0",
				"x: container-3-request-0", "x: container-1-request-0",
				"y: container-3-request-0", "y: container-1-request-0",
				"z: container-3-request-0", "z: container-1-request-0"}},
		"an init container does not borrow from a sidecar before it": {"side+=gpu:2; init=gpu:1", "main=gpu:1",
			[]string{"container-0-request-0: 2 of class", "container-2-request-0: 1 of class",
				"side: container-0-request-0", "main: container-2-request-0", "init: container-2-request-0"}},
		"an init container borrows from a sidecar after it": {"init=gpu:1; side+=gpu:2", "main=cpu:1",
			[]string{"container-1-request-0: 2 of class", "side: container-1-request-0", "init: container-1-request-0"}},
		"only init containers": {"a=gpu:1; b=gpu:2", "main=cpu:1",
			[]string{"container-1-request-0: 2 of class", "a: container-1-request-0", "b: container-1-request-0"}},
		"nothing": {"", "main=cpu:1", nil},
	} {
		t.Run(name, func(t *testing.T) {
			pod := &corev1.Pod{}
			pod.Spec.InitContainers = containers(t, test.inits)
			pod.Spec.Containers = containers(t, test.mains)
			requests, mappings := extendedRequests(pod, map[corev1.ResourceName]string{"gpu": "class"})
			var got []string
			for _, request := range requests {
				got = append(got, fmt.Sprintf("%s: %d of %s", request.Name, request.Exactly.Count, request.Exactly.DeviceClassName))
			}
			for _, m := range mappings {
				if m.ResourceName != "gpu" {
					t.Errorf("%s uses %s", m.ContainerName, m.ResourceName)
				}
				got = append(got, m.ContainerName+": "+m.RequestName)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestRequestsAreSortedByNameOverAllResources(t *testing.T) {
	pod := &corev1.Pod{}
	pod.Spec.Containers = containers(t, "a=gpu:1,nic:1; b=gpu:1")
	requests, _ := extendedRequests(pod, map[corev1.ResourceName]string{"nic": "n", "gpu": "g"})
	var got []string
	for _, request := range requests {
		got = append(got, request.Name+" "+request.Exactly.DeviceClassName)
	}
	want := []string{"container-0-request-0 g", "container-0-request-1 n", "container-1-request-0 g"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
