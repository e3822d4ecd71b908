package scheduling

import (
	"bytes"
	"context"
	"io"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"
	frameworkruntime "k8s.io/kubernetes/pkg/scheduler/framework/runtime"

	"github.com/dray-dev/dray/scheduler/plugin"
)

func quick(match string) Options {
	return Options{
		Contenders: Contenders(), Rounds: 2, Sample: time.Microsecond, Limit: time.Minute,
		Match: regexp.MustCompile(match), Quick: true, Progress: io.Discard,
	}
}

func measured(t *testing.T, options Options) (string, error) {
	t.Helper()
	var out bytes.Buffer
	err := Run(klog.NewContext(t.Context(), klog.Logger{}), &out, options)
	return out.String(), err
}

// On a disagreement Run ends with an error, so this compares the two plugins on
// every case.
func TestBothPluginsAgreeOnEveryCase(t *testing.T) {
	options := quick("")
	out, err := measured(t, options)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range options.Cases() {
		for _, contender := range []string{Dray, InTree} {
			line := "Benchmark" + c.line(contender) + "-"
			if got := strings.Count(out, line); got != options.Rounds {
				t.Errorf("%d lines begin with %s, want %d", got, line, options.Rounds)
			}
		}
	}
	if t.Failed() {
		t.Log(out)
	}
}

// refusing is our plugin, but it refuses one node.
type refusing struct {
	*plugin.Plugin
	node string
}

func (p refusing) Filter(ctx context.Context, cycle fwk.CycleState, pod *corev1.Pod, info fwk.NodeInfo) *fwk.Status {
	if info.Node().Name == p.node {
		return fwk.NewStatus(fwk.Unschedulable, "no")
	}
	return p.Plugin.Filter(ctx, cycle, pod, info)
}

func TestAnotherAnswerEndsTheRun(t *testing.T) {
	wrong := Contender{Name: "wrong", plugin: plugin.Name, factory: func() frameworkruntime.PluginFactory {
		return func(ctx context.Context, args runtime.Object, handle fwk.Handle) (fwk.Plugin, error) {
			made, err := (&plugin.Factory{}).New(ctx, args, handle)
			if err != nil {
				return nil, err
			}
			return refusing{made.(*plugin.Plugin), "node-00001"}, nil
		}
	}}
	for _, c := range []string{"plugin/nodes=12/use=half", "pods/nodes=12/use=half"} {
		options := quick("^" + c + "$")
		options.Contenders = append(options.Contenders, wrong)
		if out, err := measured(t, options); err == nil || !strings.Contains(err.Error(), "dray and wrong answer differently") {
			t.Errorf("%s: the error is %v, want one about different answers; measured\n%s", c, err, out)
		}
	}
}

// slow is our plugin, but from some node on it takes until the end of time.
type slow struct{ *plugin.Plugin }

func (p slow) Filter(ctx context.Context, cycle fwk.CycleState, pod *corev1.Pod, info fwk.NodeInfo) *fwk.Status {
	if info.Node().Name >= "node-00006" {
		<-ctx.Done()
	}
	return p.Plugin.Filter(ctx, cycle, pod, info)
}

// stuck is our plugin, but it has no answer where several nodes are asked at once.
// patience is how many questions have to be ended before it answers.
type stuck struct {
	*plugin.Plugin
	patience *atomic.Int64
}

func (p stuck) Filter(ctx context.Context, cycle fwk.CycleState, pod *corev1.Pod, info fwk.NodeInfo) *fwk.Status {
	if p.patience.Add(-1) >= 0 {
		<-ctx.Done()
	}
	return p.Plugin.Filter(ctx, cycle, pod, info)
}

// Where none of the nodes that are asked at once has an answer within the limit, one
// is asked alone; where that has none either, the result says so and the run goes on.
func TestWhatHasNoAnswerIsAskedAboutOneNodeAndNotCompared(t *testing.T) {
	for _, test := range []struct {
		patience int64 // 12 nodes, then one
		line     string
	}{
		{12, `impl=stuck-\d+ 1 1 limit-sec$`},
		{13, `impl=stuck-\d+ 1 1 limit-sec 1 uncompared$`},
	} {
		options := quick("^plugin/nodes=12/use=empty$")
		options.Limit = time.Second
		options.Contenders = append(options.Contenders, Contender{Name: "stuck", plugin: plugin.Name, factory: func() frameworkruntime.PluginFactory {
			return func(ctx context.Context, args runtime.Object, handle fwk.Handle) (fwk.Plugin, error) {
				made, err := (&plugin.Factory{}).New(ctx, args, handle)
				if err != nil {
					return nil, err
				}
				left := &atomic.Int64{}
				left.Store(test.patience)
				return stuck{made.(*plugin.Plugin), left}, nil
			}
		}})
		out, err := measured(t, options)
		if err != nil {
			t.Fatal(err)
		}
		if !regexp.MustCompile("(?m)" + test.line).MatchString(out) {
			t.Errorf("after %d questions without an answer no line is like %s\n%s", test.patience, test.line, out)
		}
	}
}

func TestWhatDoesNotEndIsGivenUp(t *testing.T) {
	options := quick("^plugin/nodes=12/use=empty$")
	options.Limit = 2 * time.Second
	options.Contenders = append(options.Contenders, Contender{Name: "slow", plugin: plugin.Name, factory: func() frameworkruntime.PluginFactory {
		return func(ctx context.Context, args runtime.Object, handle fwk.Handle) (fwk.Plugin, error) {
			made, err := (&plugin.Factory{}).New(ctx, args, handle)
			if err != nil {
				return nil, err
			}
			return slow{made.(*plugin.Plugin)}, nil
		}
	}})
	out, err := measured(t, options)
	if err != nil {
		t.Fatal(err)
	}
	if !regexp.MustCompile(`(?m)^BenchmarkPlugin/family=plugin/nodes=12/use=empty/impl=slow-\d+ 1 2 limit-sec$`).MatchString(out) {
		t.Errorf("no line says that slow was given up\n%s", out)
	}
	if strings.Count(out, "impl=slow") != 1 || strings.Count(out, "impl=dray") != options.Rounds {
		t.Errorf("want one line of slow and %d of dray\n%s", options.Rounds, out)
	}
}
