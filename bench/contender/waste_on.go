//go:build draygate_waste

package contender

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
)

// wasteful returns an allocator that answers each question twice, the first
// time with an allocator of its own, which knows no answer yet.
func wasteful(a allocating, another func() (allocating, error)) allocating {
	return &wasting{allocating: a, another: another}
}

type wasting struct {
	allocating
	another func() (allocating, error)
	wasted  Work
}

func (w *wasting) Allocate(ctx context.Context, node *corev1.Node, claims []*resourceapi.ResourceClaim) ([]resourceapi.AllocationResult, error) {
	spare, err := w.another()
	if err != nil {
		return nil, err
	}
	if _, err := spare.Allocate(ctx, node, claims); err != nil {
		return nil, err
	}
	w.wasted.Steps += spare.work().Steps
	w.wasted.Evaluations += spare.work().Evaluations
	return w.allocating.Allocate(ctx, node, claims)
}

func (w *wasting) work() Work {
	own := w.allocating.work()
	return Work{Steps: own.Steps + w.wasted.Steps, Evaluations: own.Evaluations + w.wasted.Evaluations}
}
