package allocator

import (
	"context"
	"errors"
	"runtime/debug"
	"sync"
	"sync/atomic"

	corev1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/dray-dev/dray/allocator/internal/explain"
	"github.com/dray-dev/dray/allocator/internal/inventory"
	"github.com/dray-dev/dray/allocator/internal/request"
	"github.com/dray-dev/dray/allocator/internal/selector"
)

// Allocator allocates claims in one state of the cluster. It is safe for
// concurrent use. It does not remember what it has allocated: each answer is
// for the state that it was made with. If that is a Held, an earlier allocator's
// answer about the same claims is used on nodes whose devices are as they were.
type Allocator struct {
	features  request.Features
	snapshot  *inventory.Snapshot
	usage     inventory.Usage
	lister    request.ClassLister
	evaluator selector.Evaluator
	shareID   func() types.UID
	memory    *sync.Pool
	// explanationSteps bounds a search of Explain.
	explanationSteps int64

	classes classes
	// verdicts are those of Why.
	verdicts explain.Verdicts
	asking   atomic.Pointer[asking]
	work     work
	// inventory is what made the allocator.
	inventory *Inventory
}

// Allocate finds devices on the node for all of the claims, which are not
// allocated yet. The package documentation says what its outcomes mean.
//
// Among all ways to satisfy the claims it takes upstream's: the first in the
// order of claims, requests, alternatives and devices, where devices come by
// driver and pool name (pools with binding conditions last), slice name, and
// position in the slice.
func (a *Allocator) Allocate(ctx context.Context, node *corev1.Node, claims []*resourceapi.ResourceClaim) (results []resourceapi.AllocationResult, err error) {
	defer recoverTo(&err)
	w, err := a.look(ctx, node, claims)
	if err != nil {
		return nil, err
	}
	if answer := w.known(ctx); answer != nil {
		if answer.solution == nil {
			return nil, w.doNotFit()
		}
		w.solution = answer.solution
		return w.write(ctx)
	}
	return w.search(ctx)
}

// variant is what the features make of the slices.
func (a *Allocator) variant() inventory.Variant {
	return inventory.Variant{
		Partitionable:       a.features.PartitionableDevices,
		CompatibilityGroups: a.features.CompatibilityGroups,
	}
}

// target is a node in the allocator's state of the cluster.
func (a *Allocator) target(node *corev1.Node, view *inventory.Node) request.Target {
	return request.Target{API: node, Node: view, Usage: &a.usage, Evaluator: &a.evaluator}
}

// contextError marks an error that is the context's own.
func contextError(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); cause != nil && errors.Is(err, cause) {
		return gaveUp(cause)
	}
	return err
}

func selectionError(err error) error {
	var selection *inventory.SelectionError
	if errors.As(err, &selection) {
		return &InputError{Device: selection.Device, Slice: selection.Slice, Err: err}
	}
	return err
}

// recoverTo turns a panic into an *InternalError: a defect in allocating for
// one pod must not end the scheduler.
func recoverTo(err *error) {
	if cause := recover(); cause != nil {
		*err = &InternalError{Cause: cause, Stack: debug.Stack()}
	}
}
