package contender

import (
	"context"

	resourceapi "k8s.io/api/resource/v1"

	"github.com/dray-dev/dray/allocator"
)

// Dray is ours.
func Dray() Contender { return dray{} }

type dray struct{}

func (dray) Name() string                     { return "dray" }
func (dray) Supports(allocator.Features) bool { return true }
func (dray) failedOnNode() error              { return allocator.ErrFailedOnNode }
func (dray) start() process                   { return drayProcess{allocator.NewInventory()} }

type drayProcess struct{ inventory *allocator.Inventory }

func (p drayProcess) newAllocator(ctx context.Context, s *state, slices []*resourceapi.ResourceSlice) (allocating, error) {
	a, err := p.inventory.NewAllocator(ctx, s.features, s.allocated, s.classes, slices, s.celCache)
	if err != nil {
		return nil, err
	}
	return wasteful(drayAllocator{a}, func() (allocating, error) {
		again, err := p.inventory.NewAllocator(ctx, s.features, s.allocated, s.classes, slices, s.celCache)
		return drayAllocator{again}, err
	}), nil
}

type drayAllocator struct{ *allocator.Allocator }

func (a drayAllocator) work() Work {
	stats := a.Stats()
	return Work{Steps: stats.Steps, Evaluations: stats.SelectorEvaluations}
}
