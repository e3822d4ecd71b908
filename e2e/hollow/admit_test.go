package hollow

import (
	"context"
	"errors"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/client-go/tools/record"
	"k8s.io/kubernetes/pkg/kubelet/lifecycle"
	"k8s.io/utils/clock"
)

// fuller has no room when it is asked first, and room afterwards.
type fuller struct{ asked int }

func (f *fuller) Admit(context.Context, *lifecycle.PodAdmitAttributes) lifecycle.PodAdmitResult {
	f.asked++
	return lifecycle.PodAdmitResult{Admit: f.asked > 1, Reason: "OutOfpods", Message: "no room"}
}

// TestAPodThatWasRefusedStaysSo: its resources are never unprepared, so it must not get
// any, though the API server could not be told at once and there is room by now.
func TestAPodThatWasRefusedStaysSo(t *testing.T) {
	object := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "late", UID: "1"},
		Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "c"}}}}
	client := fake.NewClientset(object)
	away := errors.New("the API server is away")
	client.PrependReactor("patch", "pods", func(clienttesting.Action) (bool, runtime.Object, error) {
		err := away
		away = nil
		return err != nil, nil, err
	})
	events := record.NewFakeRecorder(10)
	n := &Node{options: Options{Name: "node", Client: client, Clock: clock.RealClock{}}, admitter: &fuller{}, recorder: events, pods: map[types.UID]*pod{}}
	n.remember(object)
	p, _, _ := n.get("1")
	if _, err := n.sync(t.Context(), p, object, false); err == nil {
		t.Error("that it cannot be written is no error")
	}
	if _, err := n.sync(t.Context(), p, object, false); err != nil {
		t.Fatal(err)
	}
	written, err := client.CoreV1().Pods("default").Get(t.Context(), "late", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if written.Status.Phase != corev1.PodFailed || written.Status.Reason != "OutOfpods" {
		t.Errorf("its status is %+v", written.Status)
	}
	if len(events.Events) != 1 {
		t.Errorf("there are %d events", len(events.Events))
	}
}
