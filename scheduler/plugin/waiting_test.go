package plugin

import (
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"
	"k8s.io/component-base/metrics/testutil"
)

// TestAPodThatWaitsForAClaimIsCountedOnce: however often the scheduler asks about it.
// It is counted again if it begins to wait anew, or if it is another pod of the name.
func TestAPodThatWaitsForAClaimIsCountedOnce(t *testing.T) {
	w := newWorld(t, parseObjects(t, "node a\nclass gpu\nclaim here gpu\npod early claims=late\npod other claims=late\npod ready claims=here\n"), "", stableFeatures())
	registered(t, w.plugin.engine.metrics)
	counted := func(want float64) {
		t.Helper()
		if got, err := testutil.GetCounterMetricValue(w.plugin.engine.metrics.causes[causeClaimMissing]); err != nil || got != want {
			t.Errorf("counted %v, %v, want %v", got, err, want)
		}
	}
	early := w.pod("early")
	first := w.plugin.PreEnqueue(w.ctx, early)
	for range 3 {
		if again := w.plugin.PreEnqueue(w.ctx, early); again.Code() != first.Code() || again.Message() != first.Message() || again.Message() == "" {
			t.Errorf("the pod is told %q, and before %q", tellStatus(again), tellStatus(first))
		}
	}
	counted(1)
	w.plugin.PreEnqueue(w.ctx, w.pod("other"))
	w.plugin.PreEnqueue(w.ctx, w.pod("ready"))
	counted(2)
	anew := early.DeepCopy()
	anew.UID = "another"
	w.plugin.PreEnqueue(w.ctx, anew)
	counted(3)
	found := anew.DeepCopy()
	found.Spec.ResourceClaims = nil
	if status := w.plugin.PreEnqueue(w.ctx, found); !status.IsSuccess() {
		t.Error(tellStatus(status))
	}
	w.plugin.PreEnqueue(w.ctx, anew)
	counted(4)
}

// Pods that are deleted while they wait are not remembered for ever.
func TestPodsThatAreGoneDoNotWait(t *testing.T) {
	var w waitingPods
	known := cache.NewStore(cache.MetaNamespaceKeyFunc)
	for i := range 20 * fewWaiting {
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: fmt.Sprint("pod-", i), UID: types.UID(fmt.Sprint(i))}}
		if i%40 == 0 { // these stay
			if err := known.Add(pod); err != nil {
				t.Fatal(err)
			}
		}
		if !w.begin(pod, known) {
			t.Fatalf("%s did wait before", pod.Name)
		}
	}
	if got := len(w.pods); got > 2*fewWaiting || got < 20*fewWaiting/40 {
		t.Errorf("%d pods are remembered, of which %d wait", got, 20*fewWaiting/40)
	}
}
