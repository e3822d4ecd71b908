package plugin

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/dynamic-resource-allocation/structured/schedulerapi"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/feature"
)

// linkedOfKubernetes is what a program that uses the plugin links of
// k8s.io/kubernetes, each with its reason.
var linkedOfKubernetes = map[string]string{
	"pkg/features": "the names of feature gates, below plugins/feature",
	"pkg/scheduler/framework/plugins/feature":               "the gates as the scheduler hands them to plugins",
	"pkg/scheduler/framework/plugins/volumebinding/metrics": "below pkg/scheduler/metrics",
	"pkg/scheduler/metrics":                                 "the metrics of binding conditions, under the names that they have",
	"pkg/scheduler/util":                                    "what an extended resource is called, and the patch of a pod's status",
	"pkg/scheduler/util/assumecache":                        "the error of a claim that the informer has not seen",
	"pkg/apis/core":                                         "below pkg/scheduler/util",
	"pkg/apis/core/helper":                                  "below pkg/scheduler/util",
	"pkg/apis/core/v1/helper":                               "below pkg/scheduler/util",
}

func TestThePluginLinksLittleOfKubernetes(t *testing.T) {
	out, err := exec.Command("go", "list", "-deps", ".").Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	var got, want []string
	for line := range strings.Lines(string(out)) {
		if name, ok := strings.CutPrefix(strings.TrimSpace(line), "k8s.io/kubernetes/"); ok {
			got = append(got, name)
		}
	}
	for name := range linkedOfKubernetes {
		want = append(want, name)
	}
	slices.Sort(got)
	slices.Sort(want)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("packages of k8s.io/kubernetes that are linked (-list +linked):\n%s", diff)
	}
}

type (
	allocatedState = schedulerapi.AllocatedState
	shareID        = types.UID
)

// stuck is an allocator that never finds an end.
type stuck struct{}

func (stuck) Allocate(ctx context.Context, _ *corev1.Node, _ []*resourceapi.ResourceClaim) ([]resourceapi.AllocationResult, error) {
	<-ctx.Done()
	return nil, errors.Join(errors.New("gave up"), context.Cause(ctx))
}

func TestASearchThatTakesTooLongIsAnErrorOfTheNode(t *testing.T) {
	w := newWorld(t, parseObjects(t, "node a\nclass gpu\nclaim train gpu\npod p claims=train\n"), `{"filterTimeout":"1ms"}`, stableFeatures())
	if said := w.preFilter("p"); said != "ok" {
		t.Fatal(said)
	}
	state, err := readState(w.cycle("p"))
	w.check(err)
	state.allocator = stuck{}
	status := w.plugin.Filter(w.ctx, w.cycle("p"), w.pod("p"), w.node("a"))
	if got := tellStatus(status); got != "Error: node a: timed out trying to allocate devices" {
		t.Errorf("with a limit: %s", got)
	}
	w.plugin.features.EnableDRASchedulerFilterTimeout = false
	ctx, cancel := context.WithTimeoutCause(w.ctx, time.Millisecond, errors.New("the caller's own"))
	defer cancel()
	status = w.plugin.Filter(ctx, w.cycle("p"), w.pod("p"), w.node("a"))
	if got := tellStatus(status); got != "UnschedulableAndUnresolvable: asked by caller to stop allocating devices: the caller's own" {
		t.Errorf("without the feature: %s", got)
	}
}

func TestAllNodesThatFailAlikeAreToldTheSame(t *testing.T) {
	const nodes = 3 * explainedReasons
	var text strings.Builder
	text.WriteString("class gpu\nclaim train gpu*2\npod p claims=train\n")
	for i := range nodes {
		fmt.Fprintf(&text, "node n%d\n", i)
		if i%3 > 0 {
			fmt.Fprintf(&text, "slice n%d devices=gpu-0,gpu-1\nclaim used%d gpu on=n%d:gpu-%d\n", i, i, i, i%3-1)
		}
	}
	w := newWorld(t, parseObjects(t, text.String()), "", stableFeatures())
	if said := w.preFilter("p"); said != "ok" {
		t.Fatal(said)
	}
	said := map[string]int{}
	for _, node := range w.nodes {
		said[tellStatus(w.plugin.Filter(w.ctx, w.cycle("p"), w.pod("p"), node))]++
	}
	want := map[string]int{
		"UnschedulableAndUnresolvable: claim train, request r0: too few devices are published for the node": nodes / 3,
		"UnschedulableAndUnresolvable: claim train, request r0: matching devices are in use":                nodes * 2 / 3,
	}
	if diff := cmp.Diff(want, said); diff != "" {
		t.Error(diff)
	}
	state, err := readState(w.cycle("p"))
	w.check(err)
	if len(state.examples) != 2 {
		t.Errorf("explained %d nodes in full, want one for each reason", len(state.examples))
	}
}

func TestPodsWithClaimsAreNotBatchedAndOthersAre(t *testing.T) {
	p := &Plugin{enabled: true}
	with := parsePod(t, "p", readFields([]string{"claims=c"}))
	if _, status := p.SignPod(t.Context(), with); status.Code() != fwk.Unschedulable {
		t.Errorf("with a claim: %v", status)
	}
	if _, status := p.SignPod(t.Context(), &corev1.Pod{}); !status.IsSuccess() {
		t.Errorf("without claims: %v", status)
	}
}

func TestAPodThatIsResizedIsLeftAlone(t *testing.T) {
	p := &Plugin{enabled: true, features: feature.Features{EnableInPlacePodVerticalScalingSchedulerPreemption: true}}
	pod := parsePod(t, "p", readFields([]string{"claims=c"}))
	pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodResizePending, Status: corev1.ConditionTrue, Reason: corev1.PodReasonDeferred}}
	if _, status := p.PreFilter(t.Context(), nil, pod, nil); !status.IsSkip() {
		t.Errorf("PreFilter: %v", status)
	}
	if status := p.Filter(t.Context(), nil, pod, nil); !status.IsSuccess() {
		t.Errorf("Filter: %v", status)
	}
	if _, status := p.PostFilter(t.Context(), nil, pod, nil); status.Code() != fwk.Unschedulable || status.Message() != "" {
		t.Errorf("PostFilter: %v", status)
	}
}

func TestProfilesOfOneManagerShareAnEngine(t *testing.T) {
	var f Factory
	engineOf := func(w *world) *engine {
		made, err := f.engine(w.plugin.handle, stableFeatures())
		w.check(err)
		return made
	}
	one, two := newWorld(t, objects{}, "", stableFeatures()), newWorld(t, objects{}, "", stableFeatures())
	first := engineOf(one)
	if first.ledger == nil {
		t.Error("the scheduler's own manager has no ledger")
	}
	if again := engineOf(one); again != first {
		t.Error("the same manager has two engines")
	}
	if engineOf(two) == first {
		t.Error("two managers share an engine")
	}
	if canHaveLedger(impatientManager{}) {
		t.Error("a manager that is not the scheduler's has a ledger")
	}
}

func TestExtensionPointsDoNothingWhereTheFeatureIsOff(t *testing.T) {
	p := &Plugin{}
	ctx, pod := t.Context(), &corev1.Pod{}
	cycle := framework.NewCycleState()
	if events, err := p.EventsToRegister(ctx); events != nil || err != nil {
		t.Errorf("EventsToRegister: %v, %v", events, err)
	}
	if status := p.PreEnqueue(ctx, pod); !status.IsSuccess() {
		t.Errorf("PreEnqueue: %v", status)
	}
	if _, status := p.PreFilter(ctx, cycle, pod, nil); !status.IsSkip() {
		t.Errorf("PreFilter: %v", status)
	}
	if status := p.Reserve(ctx, cycle, pod, "a"); !status.IsSuccess() {
		t.Errorf("Reserve: %v", status)
	}
	if status := p.PreBind(ctx, cycle, pod, "a"); !status.IsSuccess() {
		t.Errorf("PreBind: %v", status)
	}
	p.Unreserve(ctx, cycle, pod, "a")
}

// impatient is a manager of claims that refuses to answer a number of times.
type impatient struct {
	fwk.ResourceClaimTracker
	refusals, asked int
}

func (i *impatient) GatherAllocatedState() (*allocatedState, error) {
	i.asked++
	if i.asked <= i.refusals {
		return nil, errors.New("conflicting concurrent modification")
	}
	return &allocatedState{}, nil
}

type impatientManager struct {
	fwk.SharedDRAManager
	claims *impatient
}

func (m impatientManager) ResourceClaims() fwk.ResourceClaimTracker { return m.claims }

func TestTheStateIsAskedForAgainWhileClaimsChange(t *testing.T) {
	claims := &impatient{refusals: 3}
	state := &managerState{manager: impatientManager{claims: claims}, shares: true}
	if _, err := state.inUse(t.Context()); err != nil || claims.asked != 4 {
		t.Errorf("asked %d times: %v", claims.asked, err)
	}
	claims = &impatient{refusals: gatherAttempts * 2}
	state.manager = impatientManager{claims: claims}
	if _, err := state.inUse(t.Context()); err == nil || !strings.Contains(err.Error(), "conflicting") || claims.asked != gatherAttempts {
		t.Errorf("asked %d times: %v", claims.asked, err)
	}
}

func TestDevicesAreToldApartByTheirShares(t *testing.T) {
	claim := parseClaim(t, "c", readFields([]string{"gpu", "on=a:gpu-0"}))
	device := &claim.Status.Allocation.Devices.Results[0]
	device.BindingConditions = []string{"Ready"}
	one, two := "one", "two"
	ready := []metav1.Condition{{Type: "Ready", Status: metav1.ConditionTrue}}
	claim.Status.Devices = []resourceapi.AllocatedDeviceStatus{
		{Driver: device.Driver, Pool: device.Pool, Device: device.Device, ShareID: &one, Conditions: ready},
	}
	if ok, err := readyForBinding(claim); ok || err != nil {
		t.Errorf("the condition of a share counts for the device: %v, %v", ok, err)
	}
	device.ShareID = (*shareID)(&two)
	if ok, _ := readyForBinding(claim); ok {
		t.Error("the condition of one share counts for another")
	}
	device.ShareID = (*shareID)(&one)
	if ok, _ := readyForBinding(claim); !ok {
		t.Error("the condition of the share does not count")
	}
}
