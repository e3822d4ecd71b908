package watch_test

import (
	"context"
	"slices"
	"testing"

	resourceapi "k8s.io/api/resource/v1"

	"github.com/dray-dev/dray/kubeletplugin/hardware"
	"github.com/dray-dev/dray/kubeletplugin/watch"
)

// found is a Watcher that always finds the same.
type found []watch.Problem

func (found) Run(context.Context, func()) {}

func (found) Blind() error { return nil }

func (f found) Look(_ context.Context, node *hardware.Node) (*hardware.Node, []watch.Problem) {
	return node, f
}

func TestEvictingChangesTaintsThatKeepClaimsAwayAndNoOthers(t *testing.T) {
	before := found{}
	for _, effect := range []resourceapi.DeviceTaintEffect{
		resourceapi.DeviceTaintEffectNone, resourceapi.DeviceTaintEffectNoSchedule, resourceapi.DeviceTaintEffectNoExecute,
	} {
		before = append(before, watch.Problem{Device: "gpu-0", Taint: resourceapi.DeviceTaint{Key: "a", Value: "b", Effect: effect}, Unhealthy: true, Message: "m"})
	}
	before = append(before, watch.Problem{Device: "gpu-1", Unknown: true,
		Taint: resourceapi.DeviceTaint{Key: "a", Effect: resourceapi.DeviceTaintEffectNoSchedule}})
	node := &hardware.Node{}
	gotNode, after := watch.Evicting(before).Look(context.Background(), node)
	if gotNode != node {
		t.Error("the node is another one")
	}
	want := slices.Clone(before)
	want[1].Taint.Effect = resourceapi.DeviceTaintEffectNoExecute
	if !slices.Equal(after, want) {
		t.Errorf("problems are %+v, want %+v", after, want)
	}
	if before[1].Taint.Effect != resourceapi.DeviceTaintEffectNoSchedule {
		t.Error("the problems of the Watcher itself were changed")
	}
}
