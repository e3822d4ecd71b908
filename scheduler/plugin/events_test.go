package plugin

import (
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/component-base/metrics/testutil"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"
)

const eventObjects = `node a
class gpu
claim train gpu
claim other gpu on=a:gpu-0
pod p claims=train
pod q claims=train,missing
pod r claims=other
`

func TestClaimEventsBringBackThePodsThatTheyMayHelp(t *testing.T) {
	w := newWorld(t, parseObjects(t, eventObjects), "", stableFeatures())
	claims := map[string]*resourceapi.ResourceClaim{}
	for _, claim := range w.listClaims() {
		claims[claim.Name] = &claim
	}
	train, other := claims["train"], claims["other"]
	labelled := train.DeepCopy()
	labelled.Labels = map[string]string{"a": "b"}
	reserved := train.DeepCopy()
	reserved.Status.Allocation = other.Status.Allocation
	freed := other.DeepCopy()
	freed.Status.Allocation = nil
	replaced := other.DeepCopy()
	replaced.UID = "another"
	redone := train.DeepCopy()
	redone.UID = "another"
	isPod := true
	left := train.DeepCopy()
	left.Name = "p-extended-resources-1"
	left.Annotations = map[string]string{resourceapi.ExtendedResourceClaimAnnotation: "true"}
	left.OwnerReferences = []metav1.OwnerReference{{Kind: "Pod", Name: "p", UID: w.pod("p").UID, Controller: &isPod}}
	gone := cache.DeletedFinalStateUnknown{Key: "default/other"}

	for name, test := range map[string]struct {
		pod           string
		before, after any
		all           bool
		pods          []string // of podsOfClaim, without all
		want          fwk.QueueingHint
	}{
		"created":                          {"p", nil, train, false, []string{"p", "q"}, fwk.Queue},
		"created, and another is missing":  {"q", nil, train, false, []string{"p", "q"}, fwk.QueueSkip},
		"created for somebody else":        {"r", nil, train, false, []string{"p", "q"}, fwk.QueueSkip},
		"labelled":                         {"p", train, labelled, false, []string{"p", "q"}, fwk.QueueSkip},
		"allocated":                        {"p", train, reserved, false, []string{"p", "q"}, fwk.Queue},
		"deallocated":                      {"p", other, freed, true, nil, fwk.Queue},
		"deleted and created in one event": {"p", other, replaced, true, nil, fwk.Queue},
		"deleted while allocated":          {"p", other, nil, true, nil, fwk.Queue},
		"deleted":                          {"p", train, nil, false, []string{"p", "q"}, fwk.QueueSkip},
		"pending, and deleted and created in one event": {"p", redone, train, false, []string{"p", "q"}, fwk.Queue},
		"left from an earlier attempt, and deleted":     {"p", left, nil, false, []string{"p"}, fwk.Queue},
		"left of another pod, and deleted":              {"r", left, nil, false, []string{"p"}, fwk.QueueSkip},
		"deleted, and nobody knows what of":             {"p", gone, nil, true, nil, fwk.Queue},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := w.plugin.afterClaimChange(klog.Logger{}, w.pod(test.pod), test.before, test.after)
			if err != nil || got != test.want {
				t.Errorf("hint is %v, %v, want %v", got, err, test.want)
			}
			narrowed, err := w.plugin.podsOfClaim(klog.Logger{}, test.before, test.after)
			var pods []string
			for _, pod := range narrowed.Pods {
				pods = append(pods, pod.Name)
			}
			slices.Sort(pods)
			if err != nil || narrowed.AllPods != test.all || !slices.Equal(pods, test.pods) {
				t.Errorf("narrowed to %v, all %v, %v, want %v, %v", pods, narrowed.AllPods, err, test.pods, test.all)
			}
		})
	}
}

func TestPodEventsBringBackPodsWithAllTheirClaims(t *testing.T) {
	w := newWorld(t, parseObjects(t, eventObjects), "", stableFeatures())
	for pod, want := range map[string]fwk.QueueingHint{"p": fwk.Queue, "q": fwk.QueueSkip} {
		if got, err := w.plugin.afterPodChange(klog.Logger{}, nil, nil, w.pod(pod)); err != nil || got != want {
			t.Errorf("pod %s: %v, %v, want %v", pod, got, err, want)
		}
	}
	if _, err := w.plugin.afterPodChange(klog.Logger{}, nil, nil, "no pod"); err == nil {
		t.Error("an event of something else is no error")
	}
}

func TestPodsThatFailToBindBringBackThoseThatWaitForTheirDevices(t *testing.T) {
	w := newWorld(t, parseObjects(t, `node a
class gpu resource=example.com/gpu
claim train gpu
claim other gpu on=a:gpu-0
pod waits claims=train
pod failed claims=train
pod finished claims=other
pod lacks claims=missing
pod plain
pod x extended=example.com/gpu:1
pod done extended=example.com/gpu:1
`), "", stableFeatures())
	w.pod("done").Status.ExtendedResourceClaimStatus = &corev1.PodExtendedResourceClaimStatus{ResourceClaimName: "c"}
	for gone, want := range map[string]fwk.QueueingHint{
		"failed": fwk.Queue, "x": fwk.Queue,
		"finished": fwk.QueueSkip, "lacks": fwk.QueueSkip, "plain": fwk.QueueSkip, "done": fwk.QueueSkip,
	} {
		if got, err := w.plugin.afterPodGone(klog.Logger{}, w.pod("waits"), w.pod(gone), nil); err != nil || got != want {
			t.Errorf("pod %s: %v, %v, want %v", gone, got, err, want)
		}
	}
	if _, err := w.plugin.afterPodGone(klog.Logger{}, nil, "no pod", nil); err == nil {
		t.Error("an event of something else is no error")
	}
	registered, err := w.plugin.EventsToRegister(t.Context())
	w.check(err)
	if !slices.ContainsFunc(registered, func(e fwk.ClusterEventWithHint) bool {
		return e.Event == fwk.ClusterEvent{Resource: fwk.AssignedPod, ActionType: fwk.Delete}
	}) {
		t.Error("does not listen for pods that go")
	}
}

// A slice of a newer generation that is not complete hides a pool. When it goes,
// the pool is back, and no other event says so.
func TestASliceThatGoesCanBringAPoolBack(t *testing.T) {
	text := "node a\nclass gpu\nslice a devices=gpu-0\nclaim train gpu\npod p claims=train\n"
	begin := parseObjects(t, text)
	stray := begin.slices[0].DeepCopy()
	stray.Name = "stray"
	stray.Spec.Pool.Generation++
	stray.Spec.Pool.ResourceSliceCount = 2
	for _, with := range []bool{true, false} {
		begin := parseObjects(t, text)
		if with {
			begin.slices = append(begin.slices, stray)
		}
		w := newWorld(t, begin, "", stableFeatures())
		if said := w.preFilter("p"); said != "ok" {
			t.Fatal(said)
		}
		status := w.plugin.Filter(w.ctx, w.cycle("p"), w.pod("p"), w.node("a"))
		if status.IsSuccess() == with {
			t.Errorf("with the stray slice %v: %s", with, tellStatus(status))
		}
		registered, err := w.plugin.EventsToRegister(t.Context())
		w.check(err)
		if !slices.ContainsFunc(registered, func(e fwk.ClusterEventWithHint) bool {
			return e.Event.Resource == fwk.ResourceSlice && e.Event.ActionType&fwk.Delete != 0
		}) {
			t.Error("does not listen for slices that go")
		}
	}
}

func TestNodesThatBeginToDeclareAFeatureMatterWithOptionalNodeOperations(t *testing.T) {
	for _, on := range []bool{false, true} {
		features := stableFeatures()
		features.EnableDRAOptionalNodeOperations = on
		p := &Plugin{enabled: true, features: features}
		events, err := p.EventsToRegister(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		i := slices.IndexFunc(events, func(e fwk.ClusterEventWithHint) bool { return e.Event.Resource == fwk.Node })
		if got := events[i].Event.ActionType&fwk.UpdateNodeDeclaredFeature != 0; got != on {
			t.Errorf("with the feature %v: listens %v", on, got)
		}
	}
}

func TestAPodGroupThatArrivesBringsBackItsPods(t *testing.T) {
	w := newWorld(t, parseObjects(t, `node a
class gpu
slice a devices=gpu-0
claim train gpu
pod early claims=train group=g
pod other claims=train group=h
pod alone claims=train
`), "", stableFeatures())
	registered(t, w.plugin.engine.metrics)
	if said := w.schedule("early"); !strings.HasPrefix(said, "prefilter: UnschedulableAndUnresolvable: ") || !strings.Contains(said, "default/g") {
		t.Errorf("without its group: %s", said)
	}
	if got, err := testutil.GetCounterMetricValue(w.plugin.engine.metrics.causes[causeGroupMissing]); err != nil || got != 1 {
		t.Errorf("counted %v, %v", got, err)
	}
	events, err := w.plugin.EventsToRegister(t.Context())
	w.check(err)
	i := slices.IndexFunc(events, func(e fwk.ClusterEventWithHint) bool {
		return e.Event == fwk.ClusterEvent{Resource: fwk.PodGroup, ActionType: fwk.Add}
	})
	if i < 0 {
		t.Fatal("does not listen for pod groups")
	}
	for pod, want := range map[string]fwk.QueueingHint{"early": fwk.Queue, "other": fwk.QueueSkip, "alone": fwk.QueueSkip} {
		if got, err := events[i].QueueingHintFn(klog.Logger{}, w.pod(pod), nil, parseGroup("g", fields{})); err != nil || got != want {
			t.Errorf("pod %s: %v, %v, want %v", pod, got, err, want)
		}
	}
}
