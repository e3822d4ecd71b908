package plugin

import (
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	fwk "k8s.io/kube-scheduler/framework"
)

// TestNoDeviceTwiceAndNoneLeaks runs random histories: pods go through the
// extension points in any interleaving that a scheduler could produce, calls fail
// or are lost, others deallocate, delete and recreate claims. After each step no
// device belongs to two claims, and what the manager says is taken is what claims
// have and what pods have reserved, so nothing leaks.
//
// DRAY_SCHEDULER_SEED and DRAY_SCHEDULER_HISTORIES repeat one.
func TestNoDeviceTwiceAndNoneLeaks(t *testing.T) {
	seed, histories := uint64(1), uint64(15)
	for name, value := range map[string]*uint64{"DRAY_SCHEDULER_SEED": &seed, "DRAY_SCHEDULER_HISTORIES": &histories} {
		if text := os.Getenv(name); text != "" {
			n, err := strconv.ParseUint(text, 10, 64)
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			*value = n
		}
	}
	var bound int
	for i := range histories {
		h := &history{rand: rand.New(rand.NewPCG(seed+i, 0)), stages: map[string]stage{}, chosen: map[string]string{}}
		ok := t.Run(fmt.Sprint(seed+i), func(t *testing.T) {
			h.world = newWorld(t, parseObjects(t, historyObjects), "", stableFeatures())
			for range 60 {
				h.step()
				h.check()
				if t.Failed() {
					t.Fatalf("seed %d: after\n%s", seed+i, strings.Join(h.log, "\n"))
				}
			}
		})
		if !ok {
			t.Fatalf("DRAY_SCHEDULER_SEED=%d DRAY_SCHEDULER_HISTORIES=1 repeats it", seed+i)
		}
		bound += h.bound
	}
	if bound < int(histories) {
		t.Errorf("only %d pods were bound in %d histories: they test nothing", bound, histories)
	}
}

const historyObjects = `node a
node b extended=example.com/gpu:1
class gpu resource=example.com/gpu
slice a devices=gpu-0,gpu-1,gpu-2
slice b devices=gpu-0,gpu-1
claim one gpu
claim two gpu*2
claim three gpu
claim shared gpu
claim taken gpu on=a:gpu-2
pod p claims=one
pod q claims=two,shared
pod r claims=shared
pod s claims=three,taken
pod t extended=example.com/gpu:2
pod u claims=one extended=example.com/gpu:1
`

// stage is how far a pod is in its cycle.
type stage int

const (
	waiting  stage = iota // no cycle
	reserved              // Reserve succeeded; PreBind or Unreserve is next
	placed                // bound; goes away some time
)

type history struct {
	*world
	rand   *rand.Rand
	stages map[string]stage
	chosen map[string]string // node of pods that are reserved or placed
	log    []string
	bound  int
}

func (h *history) say(format string, args ...any) {
	h.log = append(h.log, fmt.Sprintf(format, args...))
}

func (h *history) step() {
	// The informer is behind for some steps, and then is told all at once.
	switch {
	case !h.api.holds() && h.rand.IntN(4) == 0:
		h.api.hold()
		h.say("the informer falls behind")
	case h.api.holds() && h.rand.IntN(4) == 0:
		h.api.release()
		h.say("the informer catches up")
	}
	if h.rand.IntN(3) == 0 {
		h.disturb()
	}
	names := []string{"p", "q", "r", "s", "t", "u"}
	name := names[h.rand.IntN(len(names))]
	pod := h.pod(name)
	switch h.stages[name] {
	case waiting:
		h.cycleUntilReserved(name)
	case reserved:
		cycle, node := h.cycle(name), h.chosen[name]
		if h.rand.IntN(4) > 0 {
			if state, err := readState(cycle); err == nil && state.special >= 0 && h.api.holds() {
				h.api.release() // it waits until the claim that it makes is seen
				h.say("the informer catches up")
			}
			status := h.plugin.PreBind(h.ctx, cycle, pod, node)
			h.say("prebind %s on %s: %s", name, node, tellStatus(status))
			if status.IsSuccess() {
				h.stages[name] = placed
				h.bound++
				return
			}
		}
		h.giveUp(name)
	case placed:
		// Binding failed after all, or the pod ends.
		h.giveUp(name)
	}
}

func (h *history) giveUp(name string) {
	h.plugin.Unreserve(h.ctx, h.cycle(name), h.pod(name), h.chosen[name])
	h.say("unreserve %s", name)
	h.stages[name] = waiting
}

func (h *history) cycleUntilReserved(name string) {
	pod := h.pod(name)
	if h.plugin.PreEnqueue(h.ctx, pod) != nil {
		return
	}
	said := h.preFilter(name)
	h.say("prefilter %s: %s", name, said)
	if said != "ok" {
		return
	}
	var fits []string
	for _, info := range h.nodes {
		status := h.plugin.Filter(h.ctx, h.cycle(name), pod, info)
		h.say("filter %s on %s: %s", name, info.Node().Name, tellStatus(status))
		if status.IsSuccess() {
			fits = append(fits, info.Node().Name)
		}
	}
	if len(fits) == 0 {
		_, status := h.plugin.PostFilter(h.ctx, h.cycle(name), pod, nil)
		h.say("postfilter %s: %s", name, tellStatus(status))
		return
	}
	node := fits[h.rand.IntN(len(fits))]
	status := h.plugin.Reserve(h.ctx, h.cycle(name), pod, node)
	h.say("reserve %s on %s: %s", name, node, tellStatus(status))
	h.chosen[name] = node
	if status.Code() != fwk.Success {
		h.giveUp(name)
		return
	}
	h.stages[name] = reserved
}

// disturb does what others do, and makes calls fail.
func (h *history) disturb() {
	claims := h.listClaims()
	switch h.rand.IntN(4) {
	case 0:
		f := &fault{times: 1 + h.rand.IntN(2)}
		f.kind = []string{"conflict", "error", "lost"}[h.rand.IntN(3)]
		f.verb = []string{"update", "update", "create", "patch", "get", "delete"}[h.rand.IntN(6)]
		f.resource = []string{"resourceclaims", "resourceclaims/status", "pods/status"}[h.rand.IntN(3)]
		h.api.fail(f)
		h.say("fail %s %s %d times: %s", f.verb, f.resource, f.times, f.kind)
	case 1:
		if len(claims) > 0 {
			claim := claims[h.rand.IntN(len(claims))].DeepCopy()
			claim.Labels = map[string]string{"n": strconv.Itoa(len(h.log))}
			_, err := h.api.ResourceV1().ResourceClaims(testNamespace).Update(h.ctx, claim, metav1.UpdateOptions{})
			h.say("label %s: %v", claim.Name, err)
		}
	case 2:
		// The claim controller deallocates claims that nobody uses.
		for i := range claims {
			claim := &claims[i]
			if claim.Status.Allocation != nil && len(claim.Status.ReservedFor) == 0 && h.rand.IntN(2) == 0 {
				claim.Status.Allocation = nil
				_, err := h.api.ResourceV1().ResourceClaims(testNamespace).UpdateStatus(h.ctx, claim, metav1.UpdateOptions{})
				h.say("deallocate %s: %v", claim.Name, err)
			}
		}
	case 3:
		for i := range claims {
			claim := &claims[i]
			if claim.Name == "three" && len(claim.Status.ReservedFor) == 0 {
				if err := h.api.ResourceV1().ResourceClaims(testNamespace).Delete(h.ctx, claim.Name, metav1.DeleteOptions{}); err != nil {
					h.say("delete %s: %v", claim.Name, err)
					continue
				}
				again := parseObjects(h.t, "claim three gpu").claims[0]
				again.UID = claim.UID + "-again"
				_, err := h.api.ResourceV1().ResourceClaims(testNamespace).Create(h.ctx, again, metav1.CreateOptions{})
				h.say("recreate %s: %v", claim.Name, err)
			}
		}
	}
}

func (h *history) must(err error) {
	h.t.Helper()
	if err != nil {
		h.t.Fatalf("%v: after\n%s", err, strings.Join(h.log, "\n"))
	}
}

// check compares devices of claims in the API, devices in flight, and the
// manager's answer: once before the informers have caught up, when the manager may
// think that devices are taken that no longer are, but never the other way round.
func (h *history) check() {
	h.t.Helper()
	h.compare(false)
	if !h.api.holds() {
		h.settle()
		h.compare(true)
	}
}

func (h *history) compare(settled bool) {
	h.t.Helper()
	owner := map[string]string{}
	own := func(device, by string) {
		if other := owner[device]; other != "" && other != by {
			h.t.Errorf("device %s belongs to %s and %s", device, other, by)
		}
		owner[device] = by
	}
	for _, claim := range h.listClaims() {
		if claim.Status.Allocation == nil {
			continue
		}
		for _, result := range claim.Status.Allocation.Devices.Results {
			own(result.Pool+"/"+result.Device, string(claim.UID))
		}
	}
	for name, s := range h.stages {
		if s != reserved {
			continue
		}
		state, err := readState(h.cycle(name))
		h.must(err)
		for i := range state.claims {
			c := &state.claims[i]
			if c.inFlight == nil {
				continue
			}
			pending := h.manager.ResourceClaims().GetPendingAllocation(c.flight)
			if pending == nil {
				continue // allocated by another pod before this one reserved it
			}
			for _, result := range pending.Devices.Results {
				own(result.Pool+"/"+result.Device, string(c.flight))
			}
		}
	}
	taken, err := h.plugin.cluster.taken(h.ctx)
	h.must(err)
	got := sets.New[string]()
	for device := range taken.allocated().AllocatedDevices {
		got.Insert(device.Pool.String() + "/" + device.Device.String())
	}
	want := sets.KeySet(owner)
	if leaked := got.Difference(want); settled && len(leaked) > 0 {
		h.t.Errorf("devices %v are taken and belong to nobody", sets.List(leaked))
	}
	if lost := want.Difference(got); len(lost) > 0 {
		h.t.Errorf("devices %v belong to claims and look free", sets.List(lost))
	}
}
