package hollow_test

import (
	"fmt"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"

	"github.com/dray-dev/dray/e2e/hollow/shown"
)

func TestAPodGetsItsDevicesAndGivesThemBack(t *testing.T) {
	w := newWorld(t, "l40s")
	w.startNode()
	w.startDriver()
	w.makePod("a", nil)
	object := w.inPhase("a", corev1.PodRunning)
	given, ok, err := shown.Of(object.Annotations, "main")
	if err != nil || !ok || len(given.CDI) == 0 || !slices.Contains(given.Devices, "/dev/nvidiactl") {
		t.Errorf("the container got %+v, %t, %v", given, ok, err)
	}
	if files := w.cdiFiles(); len(files) == 0 {
		t.Error("there is no CDI file")
	}
	w.eventually("health", func() error {
		statuses := w.pod("a").Status.ContainerStatuses
		if len(statuses) != 1 || len(statuses[0].AllocatedResourcesStatus) != 1 || len(statuses[0].AllocatedResourcesStatus[0].Resources) != 1 {
			return fmt.Errorf("it is %+v", statuses)
		}
		if health := statuses[0].AllocatedResourcesStatus[0].Resources[0].Health; health != corev1.ResourceHealthStatusHealthy {
			return fmt.Errorf("it is %s", health)
		}
		return nil
	})
	w.remove("a", 30)
	if files := w.cdiFiles(); len(files) != 0 {
		t.Errorf("the pod is gone, and there are still %v", files)
	}
}

func TestANodeThatIsStartedAgainGoesOn(t *testing.T) {
	w := newWorld(t, "l40s")
	w.startNode()
	w.startDriver()
	w.makePod("stays", nil)
	w.makePod("ends", func(object *corev1.Pod) {
		object.Spec.RestartPolicy = corev1.RestartPolicyNever
		object.Spec.Containers[0].Command = []string{"sleep", "3"}
	})
	w.makePod("goes", nil)
	before := w.inPhase("stays", corev1.PodRunning)
	w.inPhase("goes", corev1.PodRunning)
	w.eventually("pod ends", func() error {
		if phase := w.pod("ends").Status.Phase; phase == corev1.PodPending {
			return fmt.Errorf("it is %s", phase)
		}
		return nil
	})
	w.stopNode()
	// While nobody looks, a pod is removed by force.
	w.remove("goes", 0)
	w.startNode()
	w.inPhase("ends", corev1.PodSucceeded)
	after := w.pod("stays")
	if after.Status.Phase != corev1.PodRunning || after.Status.ContainerStatuses[0].ContainerID != before.Status.ContainerStatuses[0].ContainerID ||
		!after.Status.ContainerStatuses[0].State.Running.StartedAt.Equal(&before.Status.ContainerStatuses[0].State.Running.StartedAt) ||
		after.Annotations[shown.ContainerAnnotation+"main"] != before.Annotations[shown.ContainerAnnotation+"main"] {
		t.Errorf("it was %+v, and is %+v", before.Status, after.Status)
	}
	w.remove("stays", 30)
}

func TestAPodWaitsForItsDriverAndSaysSo(t *testing.T) {
	w := newWorld(t, "l40s")
	w.startNode()
	kill := w.startDriver()
	w.makePod("before", nil)
	w.inPhase("before", corev1.PodRunning)
	kill()
	w.makePod("waits", nil)
	w.eventually("an event", func() error {
		list, err := w.client.CoreV1().Events("default").List(w.ctx, metav1.ListOptions{FieldSelector: fields.OneTermEqualSelector("involvedObject.name", w.name+"-waits").String()})
		w.must(err)
		for _, event := range list.Items {
			if event.Reason == "FailedPrepareDynamicResources" {
				return nil
			}
		}
		return fmt.Errorf("there are %d others", len(list.Items))
	})
	if waiting := w.pod("waits").Status; waiting.Phase != corev1.PodPending {
		t.Errorf("it is %s", waiting.Phase)
	}
	w.startDriver()
	w.inPhase("waits", corev1.PodRunning)
	w.remove("before", 30)
	w.remove("waits", 30)
}

func TestAPodThatDoesNotFitIsRejected(t *testing.T) {
	w := newWorld(t, "l40s")
	w.startNode()
	// Nobody but the node looks at a pod that has its node already.
	object := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: w.name + "-big"}, Spec: corev1.PodSpec{NodeName: w.name,
		Containers: []corev1.Container{{Name: "main", Image: "none", Resources: corev1.ResourceRequirements{
			Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("1000")}}}}}}
	_, err := w.client.CoreV1().Pods("default").Create(w.ctx, object, metav1.CreateOptions{})
	w.must(err)
	failed := w.inPhase("big", corev1.PodFailed)
	if failed.Status.Reason != "OutOfcpu" {
		t.Errorf("the reason is %q: %s", failed.Status.Reason, failed.Status.Message)
	}
	w.remove("big", 30)
}

func TestInitContainersComeFirstAndContainersEnd(t *testing.T) {
	w := newWorld(t, "l40s")
	w.startNode()
	w.startDriver()
	always := corev1.ContainerRestartPolicyAlways
	w.makePod("steps", func(object *corev1.Pod) {
		object.Spec.RestartPolicy = corev1.RestartPolicyNever
		object.Spec.InitContainers = []corev1.Container{
			{Name: "sidecar", Image: "none", RestartPolicy: &always},
			{Name: "first", Image: "none", Command: []string{"sleep", "1"}},
		}
		object.Spec.Containers[0].Command = []string{"sleep", "1"}
	})
	done := w.inPhase("steps", corev1.PodSucceeded)
	first, main := done.Status.InitContainerStatuses[1].State.Terminated, done.Status.ContainerStatuses[0].State.Terminated
	if first == nil || main == nil || main.StartedAt.Before(&first.FinishedAt) {
		t.Errorf("the containers were %+v, %+v", first, main)
	}
	if sidecar := done.Status.InitContainerStatuses[0].State.Terminated; sidecar == nil {
		t.Error("the sidecar runs on")
	}
	if files := w.cdiFiles(); len(files) != 0 {
		t.Errorf("the pod has ended, and there are still %v", files)
	}
}
