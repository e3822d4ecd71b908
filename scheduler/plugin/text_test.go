package plugin

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"
	corev1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework"
)

// TestCyclesAnswerAsWritten runs the cases in testdata: a cluster as text, then
// the extension points in the order in which a scheduler calls them, with what
// each of them answers. commands says what there is.
func TestCyclesAnswerAsWritten(t *testing.T) {
	datadriven.Walk(t, "testdata", func(t *testing.T, path string) {
		var w *world
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			if d.Cmd == "world" {
				w = newWorldFromText(t, d)
				return ""
			}
			command, ok := commands[d.Cmd]
			if !ok {
				d.Fatalf(t, "no such command")
			}
			if w == nil {
				d.Fatalf(t, "begin with a world")
			}
			w.t = t
			return command(w, d)
		})
	})
}

func newWorldFromText(t *testing.T, d *datadriven.TestData) *world {
	args, off := "", ""
	d.MaybeScanArgs(t, "args", &args)
	d.MaybeScanArgs(t, "off", &off)
	features := stableFeatures()
	switch off {
	case "":
	case "prioritizedList":
		features.EnableDRAPrioritizedList = false
	case "bindingConditions":
		features.EnableDRADeviceBindingConditions = false
	case "consumableCapacity":
		features.EnableDRAConsumableCapacity = false
	default:
		d.Fatalf(t, "no such feature: %s", off)
	}
	if args != "" {
		args = "{" + args + "}"
	}
	features.EnableDRAOptionalNodeOperations = d.HasArg("optionalNodeOperations")
	return newWorld(t, parseObjects(t, d.Input), args, features)
}

// commands are what a case can do in a world.
var commands = map[string]func(w *world, d *datadriven.TestData) string{
	// The extension points. Filter asks all nodes, or the one given.
	"preenqueue": func(w *world, d *datadriven.TestData) string {
		return tellStatus(w.plugin.PreEnqueue(w.ctx, w.pod(arg(w, d, "pod")))) + "\n"
	},
	"prefilter": func(w *world, d *datadriven.TestData) string {
		return w.preFilter(arg(w, d, "pod")) + "\n"
	},
	"filter": func(w *world, d *datadriven.TestData) string {
		ctx := w.ctx
		if d.HasArg("stopped") {
			stopped, stop := context.WithCancelCause(ctx)
			stop(errors.New("enough nodes"))
			ctx = stopped
		}
		pod := arg(w, d, "pod")
		var out strings.Builder
		for _, info := range w.nodes {
			status := w.plugin.Filter(ctx, w.cycle(pod), w.pod(pod), info)
			fmt.Fprintf(&out, "%s: %s\n", info.Node().Name, tellStatus(status))
		}
		return out.String()
	},
	"postfilter": func(w *world, d *datadriven.TestData) string {
		pod := arg(w, d, "pod")
		_, status := w.plugin.PostFilter(w.ctx, w.cycle(pod), w.pod(pod), nil)
		return tellStatus(status) + "\n"
	},
	"score": func(w *world, d *datadriven.TestData) string {
		pod := arg(w, d, "pod")
		var scores fwk.NodeScoreList
		var out strings.Builder
		for _, info := range w.nodes {
			score, status := w.plugin.Score(w.ctx, w.cycle(pod), w.pod(pod), info)
			if !status.IsSuccess() {
				return tellStatus(status) + "\n"
			}
			scores = append(scores, fwk.NodeScore{Name: info.Node().Name, Score: score})
		}
		raw := append(fwk.NodeScoreList(nil), scores...)
		w.plugin.NormalizeScore(w.ctx, w.cycle(pod), w.pod(pod), scores)
		for i := range scores {
			fmt.Fprintf(&out, "%s: %d, normalized %d\n", scores[i].Name, raw[i].Score, scores[i].Score)
		}
		return out.String()
	},
	"reserve": func(w *world, d *datadriven.TestData) string {
		pod := arg(w, d, "pod")
		return tellStatus(w.plugin.Reserve(w.ctx, w.cycle(pod), w.pod(pod), arg(w, d, "node"))) + "\n"
	},
	"unreserve": func(w *world, d *datadriven.TestData) string {
		pod := arg(w, d, "pod")
		w.plugin.Unreserve(w.ctx, w.cycle(pod), w.pod(pod), arg(w, d, "node"))
		return ""
	},
	"preflight": func(w *world, d *datadriven.TestData) string {
		pod := arg(w, d, "pod")
		result, status := w.plugin.PreBindPreFlight(w.ctx, w.cycle(pod), w.pod(pod), "")
		return fmt.Sprintf("%s, parallel %v\n", tellStatus(status), result.AllowParallel)
	},
	"prebind": func(w *world, d *datadriven.TestData) string {
		pod := arg(w, d, "pod")
		w.cycle(pod).SetPodGroupSchedulingCycle(nil)
		return tellStatus(w.plugin.PreBind(w.ctx, w.cycle(pod), w.pod(pod), arg(w, d, "node"))) + "\n"
	},
	// begingroup starts the cycle of a pod group: pods of groups that are filtered
	// from here on are in it.
	"begingroup": func(w *world, _ *datadriven.TestData) string {
		w.group = framework.NewCycleState()
		return ""
	},
	"podgrouppostfilter": func(w *world, d *datadriven.TestData) string {
		group, err := w.plugin.handle.SnapshotSharedLister().PodGroups().Get(testNamespace, arg(w, d, "group"))
		w.check(err)
		info := &framework.PodGroupInfo{Name: group.Name, Namespace: group.Namespace, PodGroup: group}
		for _, name := range strings.Split(arg(w, d, "pods"), "+") {
			info.UnscheduledPods = append(info.UnscheduledPods, w.pod(name))
		}
		_, status := w.plugin.PodGroupPostFilter(w.ctx, w.group, info, nil)
		return tellStatus(status) + "\n"
	},
	// schedule is a whole cycle, on the first node that will do.
	"schedule": func(w *world, d *datadriven.TestData) string { return w.schedule(arg(w, d, "pod")) },
	// fail makes the next calls of a kind fail.
	"fail": func(w *world, d *datadriven.TestData) string {
		f := &fault{times: 1, kind: arg(w, d, "kind"), verb: arg(w, d, "verb"), resource: arg(w, d, "resource")}
		d.MaybeScanArgs(w.t.(*testing.T), "times", &f.times)
		w.api.fail(f)
		return ""
	},
	// bound is a binding that is carried out.
	"bound": func(w *world, d *datadriven.TestData) string {
		pod, err := w.api.CoreV1().Pods(testNamespace).Get(w.ctx, arg(w, d, "pod"), metav1.GetOptions{})
		w.check(err)
		pod.Spec.NodeName = arg(w, d, "node")
		_, err = w.api.CoreV1().Pods(testNamespace).Update(w.ctx, pod, metav1.UpdateOptions{})
		w.check(err)
		return ""
	},
	// What others do to claims.
	"condition": func(w *world, d *datadriven.TestData) string {
		w.changeClaim(arg(w, d, "claim"), func(claim *resourceapi.ResourceClaim) {
			device := claim.Status.Allocation.Devices.Results[0]
			claim.Status.Devices = append(claim.Status.Devices, resourceapi.AllocatedDeviceStatus{
				Driver: device.Driver, Pool: device.Pool, Device: device.Device,
				Conditions: []metav1.Condition{{Type: arg(w, d, "type"), Status: metav1.ConditionTrue, Reason: "Test"}},
			})
		})
		return ""
	},
	"deallocate": func(w *world, d *datadriven.TestData) string {
		w.changeClaim(arg(w, d, "claim"), func(claim *resourceapi.ResourceClaim) {
			claim.Status = resourceapi.ResourceClaimStatus{}
		})
		return ""
	},
	"label": func(w *world, d *datadriven.TestData) string { // a change that nobody cares about
		w.changeClaim(arg(w, d, "claim"), func(claim *resourceapi.ResourceClaim) { claim.Labels = map[string]string{"a": "b"} })
		return ""
	},
	"delete": func(w *world, d *datadriven.TestData) string {
		w.check(w.api.ResourceV1().ResourceClaims(testNamespace).Delete(w.ctx, arg(w, d, "claim"), metav1.DeleteOptions{}))
		w.settle()
		return ""
	},
	"create": func(w *world, d *datadriven.TestData) string {
		for _, claim := range parseObjects(w.t, d.Input).claims {
			if d.HasArg("anew") {
				claim.UID += "-2"
			}
			_, err := w.api.ResourceV1().ResourceClaims(testNamespace).Create(w.ctx, claim, metav1.CreateOptions{})
			w.check(err)
		}
		w.settle()
		return ""
	},
	"advance": func(w *world, d *datadriven.TestData) string {
		duration, err := time.ParseDuration(arg(w, d, "by"))
		w.check(err)
		w.clock.SetTime(w.clock.Now().Add(duration))
		return ""
	},
	// What there is to see.
	"claims": func(w *world, _ *datadriven.TestData) string { return w.tellClaims() },
	"calls": func(w *world, _ *datadriven.TestData) string {
		calls := w.api.takeCalls()
		if len(calls) == 0 {
			return "none\n"
		}
		return strings.Join(calls, "\n") + "\n"
	},
	"podstatus": func(w *world, d *datadriven.TestData) string { return w.tellPodStatus(arg(w, d, "pod")) },
}

func arg(w *world, d *datadriven.TestData, key string) string {
	w.t.Helper()
	for _, a := range d.CmdArgs {
		if a.Key == key && len(a.Vals) > 0 {
			return strings.Join(a.Vals, ",")
		}
	}
	w.t.Fatalf("%s: %s needs %s=", d.Pos, d.Cmd, key)
	return ""
}

func (w *world) preFilter(pod string) string {
	if !w.api.holds() {
		w.settle()
	}
	result, status := w.plugin.PreFilter(w.ctx, w.begin(pod), w.pod(pod), w.nodes)
	if result != nil {
		return fmt.Sprintf("narrows to %v: %s", result.NodeNames, tellStatus(status))
	}
	return tellStatus(status)
}

// schedule runs a whole cycle of the pod and says what happened.
func (w *world) schedule(name string) string {
	w.t.Helper()
	pod := w.pod(name)
	if status := w.plugin.PreEnqueue(w.ctx, pod); !status.IsSuccess() {
		return "preenqueue: " + tellStatus(status) + "\n"
	}
	if said := w.preFilter(name); said != "ok" {
		return "prefilter: " + said + "\n"
	}
	cycle := w.cycle(name)
	var out strings.Builder
	for _, info := range w.nodes {
		node := info.Node().Name
		status := w.plugin.Filter(w.ctx, cycle, pod, info)
		if !status.IsSuccess() {
			fmt.Fprintf(&out, "filter %s: %s\n", node, tellStatus(status))
			continue
		}
		return out.String() + w.bind(name, pod, node)
	}
	_, status := w.plugin.PostFilter(w.ctx, cycle, pod, nil)
	fmt.Fprintf(&out, "postfilter: %s\n", tellStatus(status))
	return out.String()
}

func (w *world) bind(name string, pod *corev1.Pod, node string) string {
	cycle := w.cycle(name)
	step, status := "reserve", w.plugin.Reserve(w.ctx, cycle, pod, node)
	if status.IsSuccess() {
		step, status = "prebind", w.plugin.PreBind(w.ctx, cycle, pod, node)
	}
	if !status.IsSuccess() {
		w.plugin.Unreserve(w.ctx, cycle, pod, node)
		return fmt.Sprintf("%s on %s: %s\n", step, node, tellStatus(status))
	}
	return fmt.Sprintf("bound to %s\n", node)
}

func (w *world) changeClaim(name string, change func(claim *resourceapi.ResourceClaim)) {
	w.t.Helper()
	client := w.api.ResourceV1().ResourceClaims(testNamespace)
	claim, err := client.Get(w.ctx, name, metav1.GetOptions{})
	w.check(err)
	change(claim)
	_, err = client.UpdateStatus(w.ctx, claim, metav1.UpdateOptions{})
	w.check(err)
	w.settle()
}

func (w *world) tellPodStatus(name string) string {
	w.t.Helper()
	pod, err := w.api.CoreV1().Pods(testNamespace).Get(w.ctx, name, metav1.GetOptions{})
	w.check(err)
	status := pod.Status.ExtendedResourceClaimStatus
	if status == nil {
		return "no claim for extended resources\n"
	}
	var out strings.Builder
	fmt.Fprintf(&out, "claim %s\n", status.ResourceClaimName)
	for _, m := range status.RequestMappings {
		fmt.Fprintf(&out, "%s: %s from %s\n", m.ContainerName, m.ResourceName, m.RequestName)
	}
	return out.String()
}
