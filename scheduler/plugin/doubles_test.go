package plugin

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	"k8s.io/component-base/metrics/testutil"
	"k8s.io/klog/v2"
	"k8s.io/utils/ptr"
)

// holding is a claim with devices of node a.
func holding(uid string, devices ...string) *resourceapi.ResourceClaim {
	claim := &resourceapi.ResourceClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "ns-" + uid, Name: uid, UID: types.UID(uid)}}
	claim.Status.Allocation = &resourceapi.AllocationResult{}
	for _, device := range devices {
		result := resourceapi.DeviceRequestAllocationResult{Driver: "d", Pool: "a", Device: strings.TrimLeft(device, "+%")}
		switch device[0] {
		case '+':
			result.AdminAccess = ptr.To(true)
		case '%':
			result.ShareID = ptr.To(types.UID("share-" + uid))
		}
		claim.Status.Allocation.Devices.Results = append(claim.Status.Allocation.Devices.Results, result)
	}
	return claim
}

func tellDoubles(found []double) string {
	var out []string
	for _, d := range found {
		out = append(out, fmt.Sprintf("%s: %s then %s", d.device.Device, d.earlier.UID, d.later.UID))
	}
	return strings.Join(out, "; ")
}

func TestADeviceThatTwoClaimsHaveIsFoundOnce(t *testing.T) {
	var d doubles
	one, two, three := holding("1", "x", "y"), holding("2", "x"), holding("3", "x")
	anew := holding("2b", "x")
	for i, step := range []struct {
		before, after *resourceapi.ResourceClaim
		want          string
	}{
		{nil, one, ""},
		{nil, holding("admin", "+x"), ""},
		{nil, holding("share", "%x"), ""},
		{nil, two, "x: 1 then 2"},
		{two, two.DeepCopy(), ""}, // an update, or a resync
		{nil, two, ""},            // a list after a watch that failed
		{nil, three, "x: 1 then 3; x: 2 then 3"},
		{two, anew, "x: 1 then 2b; x: 2b then 3"}, // deleted and created in one event
		{three, nil, ""},
		{anew, nil, ""},
		{one, holding("1", "y"), ""}, // gave x up
		{nil, three, ""},
		{holding("1", "y"), one, "x: 1 then 3"},
		{one, holding("1"), ""},
	} {
		if got := tellDoubles(d.change(step.before, step.after)); got != step.want {
			t.Errorf("step %d: %q, want %q", i, got, step.want)
		}
	}
}

func TestTheClaimThatWasAllocatedLaterIsTheLaterOne(t *testing.T) {
	var d doubles
	first, second := holding("z", "x"), holding("a", "x")
	first.Status.Allocation.AllocationTimestamp = &metav1.Time{Time: worldStart}
	second.Status.Allocation.AllocationTimestamp = &metav1.Time{Time: worldStart.Add(time.Second)}
	d.change(nil, second)
	if got := tellDoubles(d.change(nil, first)); got != "x: z then a" {
		t.Error(got)
	}
}

// TestDoublesAreThoseThatCountingFinds compares with a count over all claims.
func TestDoublesAreThoseThatCountingFinds(t *testing.T) {
	for seed := range uint64(200) {
		random := rand.New(rand.NewPCG(seed, 1))
		var d doubles
		claims := map[string]*resourceapi.ResourceClaim{}
		for range 40 {
			uid := fmt.Sprint(random.IntN(4))
			before := claims[uid]
			var after *resourceapi.ResourceClaim
			if random.IntN(4) > 0 {
				var devices []string
				for _, device := range []string{"x", "y", "%x", "+y"} {
					if random.IntN(3) == 0 {
						devices = append(devices, device)
					}
				}
				after = holding(uid, devices...)
			}
			if before == nil && after == nil {
				continue
			}
			want := 0
			if after != nil {
				for _, device := range ownDevices(after) {
					if before != nil && slices.Contains(ownDevices(before), device) {
						continue
					}
					for other, claim := range claims {
						if other != uid && slices.Contains(ownDevices(claim), device) {
							want++
						}
					}
				}
			}
			delete(claims, uid)
			if after != nil {
				claims[uid] = after
			}
			if got := len(d.change(before, after)); got != want {
				t.Fatalf("seed %d: found %d doubles, counted %d", seed, got, want)
			}
		}
	}
}

// TestADoubleIsNotAskedAboutForEver: where the API server refuses to say what a claim
// has, it will refuse again; where it cannot say, it is asked again.
func TestADoubleIsNotAskedAboutForEver(t *testing.T) {
	w := newWorld(t, parseObjects(t, "node a\nclass gpu\nclaim one gpu on=a:gpu-0\nclaim two gpu on=a:gpu-0\n"), "", stableFeatures())
	claims := w.listClaims()
	pairs := []double{{device: ownDevices(&claims[0])[0], earlier: &claims[0], later: &claims[1]}}
	ctx, cancel := context.WithTimeout(w.ctx, 10*time.Second)
	defer cancel()
	for kind, told := range map[string]int{"forbidden": 0, "error": 1, "unauthorized": 1} {
		recorder := recorded{sent: make(chan string, 9)}
		watch := &doublesWatch{client: w.api, recorder: recorder, counted: func() {}}
		w.api.fail(&fault{verb: "get", resource: "resourceclaims", times: 1, kind: kind})
		watch.report(ctx, pairs)
		if ctx.Err() != nil || len(recorder.sent) != told {
			t.Errorf("%s: told %d times, want %d; %v", kind, len(recorder.sent), told, ctx.Err())
		}
	}
}

// recorded are events that were sent.
type recorded struct {
	events.EventRecorderLogger
	sent chan string
}

func (r recorded) WithLogger(klog.Logger) events.EventRecorderLogger { return r }

func (r recorded) Eventf(regarding, _ runtime.Object, kind, reason, _, note string, args ...any) {
	claim := regarding.(*resourceapi.ResourceClaim)
	r.sent <- fmt.Sprintf("%s/%s %s %s: %s", claim.Namespace, claim.Name, kind, reason, fmt.Sprintf(note, args...))
}

func TestTheOwnerOfTheLaterClaimIsTold(t *testing.T) {
	w := newWorld(t, parseObjects(t, "node a\nclass gpu\nclaim one gpu on=a:gpu-0\nclaim two gpu on=a:gpu-0\nclaim gone gpu\n"), "", stableFeatures())
	registered(t, w.plugin.engine.metrics)
	recorder := recorded{sent: make(chan string, 9)}
	watch := &doublesWatch{client: w.api, recorder: recorder, counted: w.plugin.engine.metrics.doubles.Inc}
	ctx, cancel := context.WithTimeout(w.ctx, 10*time.Second)
	defer cancel()
	w.check(watch.watch(ctx, w.factory.Resource().V1().ResourceClaims().Informer()))
	select {
	case got := <-recorder.sent:
		want := "default/two " + corev1.EventTypeWarning + " DeviceAllocatedTwice: device gpu.example/a/gpu-0 is allocated to this claim and to another one, which had it before"
		if !strings.HasPrefix(got, want) || strings.Contains(got, "one:") {
			t.Errorf("got %q, want %q", got, want)
		}
	case <-ctx.Done():
		t.Fatal("no event")
	}
	// What only seems so is not told: the API says that the claim has no device.
	claims := w.listClaims()
	stale := claims[0].DeepCopy()
	stale.Status.Allocation = allocationOn("a", "gpu-0")
	watch.report(ctx, []double{{device: ownDevices(stale)[0], earlier: stale, later: &claims[1]}})
	if len(recorder.sent) > 0 {
		t.Errorf("told %q", <-recorder.sent)
	}
	if got, err := testutil.GetCounterMetricValue(w.plugin.engine.metrics.doubles); err != nil || got != 1 {
		t.Errorf("counted %v, %v", got, err)
	}
}
