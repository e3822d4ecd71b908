package watch

import (
	"context"
	"slices"

	resourceapi "k8s.io/api/resource/v1"

	"github.com/dray-dev/dray/kubeletplugin/hardware"
)

// Evicting returns a Watcher that finds what w finds, and has the pods that run on broken
// devices evicted: taints of unhealthy devices that keep claims away are NoExecute instead
// of NoSchedule. What only says something stays as it is, and so does what nobody knows
// for sure: a library that does not answer is no reason to end what runs. Pods that
// tolerate the taint stay, too.
func Evicting(w Watcher) Watcher { return evicting{w} }

type evicting struct{ Watcher }

func (e evicting) Look(ctx context.Context, node *hardware.Node) (*hardware.Node, []Problem) {
	node, problems := e.Watcher.Look(ctx, node)
	problems = slices.Clone(problems)
	for i := range problems {
		if problems[i].Unhealthy && problems[i].Taint.Effect == resourceapi.DeviceTaintEffectNoSchedule {
			problems[i].Taint.Effect = resourceapi.DeviceTaintEffectNoExecute
		}
	}
	return node, problems
}
