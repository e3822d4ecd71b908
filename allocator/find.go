package allocator

import (
	"context"
	"errors"
	"sync"

	corev1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"

	"github.com/dray-dev/dray/allocator/internal/inventory"
	"github.com/dray-dev/dray/allocator/internal/request"
	"github.com/dray-dev/dray/allocator/internal/result"
	"github.com/dray-dev/dray/allocator/internal/search"
)

// Found is a way to allocate the claims on a node. It is safe for concurrent use.
type Found struct {
	at
	once    sync.Once
	results []resourceapi.AllocationResult
	err     error
}

// Results returns what Allocate would have, and the same each time. An error can only
// come of a device class that changed after Find; ctx is for that case, where the
// claims are searched for again.
func (f *Found) Results(ctx context.Context) ([]resourceapi.AllocationResult, error) {
	f.once.Do(func() {
		defer recoverTo(&f.err)
		if f.results == nil {
			f.results, f.err = f.write(ctx)
		}
	})
	return f.results, f.err
}

// Find is Allocate for a caller that asks about many nodes and needs the results of
// few: if the answer of an earlier pod holds, nothing is written until the results are
// asked for. It is nil if the claims do not fit.
func (a *Allocator) Find(ctx context.Context, node *corev1.Node, claims []*resourceapi.ResourceClaim) (found *Found, err error) {
	defer recoverTo(&err)
	w, err := a.look(ctx, node, claims)
	if err != nil {
		return nil, err
	}
	if answer := w.known(ctx); answer != nil {
		return w.answered(answer.solution)
	}
	results, err := w.search(ctx)
	if results == nil {
		return nil, err
	}
	return &Found{at: w, results: results}, nil
}

// Known says whether the claims fit if that takes no search, which is as cheap as a
// look into a table and allocates nothing; ok says whether it is. A caller that has
// to make a context for a search can do without one. Errors are those that Find
// returns for claims that do not fit.
func (a *Allocator) Known(ctx context.Context, node *corev1.Node, claims []*resourceapi.ResourceClaim) (known Known, ok bool, err error) {
	defer recoverTo(&err)
	w, err := a.look(ctx, node, claims)
	if err != nil {
		return Known{}, false, nil // for Find to say
	}
	answer := w.known(ctx)
	switch {
	case answer == nil:
		return Known{}, false, nil
	case answer.solution != nil:
		return Known{Fits: true}, true, nil
	}
	return Known{Why: w.knownVerdict(answer)}, true, w.doNotFit()
}

// Known is what an earlier pod found out about a node.
type Known struct {
	Fits bool
	// Why is what Allocator.Why says of claims that do not fit; nil if nobody has
	// asked.
	Why *Verdict
}

// at is the claims on a node, in an allocator's state of the cluster.
type at struct {
	allocator *Allocator
	node      *corev1.Node
	view      *inventory.Node
	claims    []*resourceapi.ResourceClaim
	// asking is nil if answers are not shared.
	asking *asking
	// solution is that of an earlier pod, if results were not written yet.
	solution *search.Solution
}

func (a *Allocator) look(_ context.Context, node *corev1.Node, claims []*resourceapi.ResourceClaim) (at, error) {
	if node == nil {
		return at{}, &InputError{Err: errors.New("allocate claims: node is nil")}
	}
	view, err := a.snapshot.Node(node, a.variant())
	if err != nil {
		return at{}, selectionError(err)
	}
	return at{allocator: a, node: node, view: view, claims: claims, asking: a.asks(claims)}, nil
}

// known returns the answer of an earlier pod, if there is one that holds.
func (w *at) known(ctx context.Context) *answer {
	if w.asking == nil || ctx.Err() != nil {
		return nil
	}
	answer := w.answer()
	if answer != nil {
		w.allocator.searched(nil, true)
	}
	return answer
}

// answer is known for a call that is not instead of a search.
func (w *at) answer() *answer {
	if w.asking == nil {
		return nil
	}
	return w.asking.known(w.node, w.view, w.allocator.usage.Held)
}

// answered is what Find returns for the answer of an earlier pod.
func (w at) answered(solution *search.Solution) (*Found, error) {
	if solution == nil {
		return nil, w.doNotFit()
	}
	w.solution = solution
	return &Found{at: w}, nil
}

// search finds the results without the answers of earlier pods.
func (w *at) search(ctx context.Context) ([]resourceapi.AllocationResult, error) {
	a := w.allocator
	memory := a.memory.Get().(*workspace)
	defer a.memory.Put(memory) // The solution is in it until it is written.
	compiled, err := memory.compile(a, w.claims)
	if err != nil {
		return nil, err
	}
	bound, err := memory.bind.Bind(ctx, compiled, a.target(w.node, w.view))
	if err != nil {
		return nil, contextError(ctx, err)
	}
	outcome, reused := a.classes.run(ctx, &bound.Problem, &memory.search)
	a.searched(&outcome, reused)
	var results []resourceapi.AllocationResult
	switch {
	case outcome.Interrupted != nil:
		return nil, gaveUp(outcome.Interrupted)
	case outcome.Fault != nil:
		return nil, contextError(ctx, bound.FaultError(ctx, outcome.Fault))
	case outcome.Solution != nil:
		if results, err = result.Write(bound, outcome.Solution, a.shareID); err != nil {
			return nil, err
		}
	}
	if w.asking != nil && w.asking.hasClasses(compiled) {
		a.inventory.answers.keep(w.asking.question, w.node, w.view, a.usage.Held, outcome.Solution)
	}
	if outcome.Solution == nil {
		return nil, w.doNotFit()
	}
	return results, nil
}

// doNotFit is the error, if any, that goes with claims that do not fit.
func (w *at) doNotFit() error {
	if w.view.Invalid() != nil {
		return request.ErrInvalidPools
	}
	return nil
}

// write writes the results of an earlier pod's answer for these claims.
func (w *at) write(ctx context.Context) ([]resourceapi.AllocationResult, error) {
	a := w.allocator
	memory := a.memory.Get().(*workspace)
	compiled, err := memory.compile(a, w.claims)
	if err == nil && w.asking.hasClasses(compiled) {
		defer a.memory.Put(memory)
		return result.Write(&request.Bound{Claims: compiled, Target: a.target(w.node, w.view)}, w.solution, a.shareID)
	}
	a.memory.Put(memory)
	results, err := w.search(ctx)
	if err == nil && results == nil {
		err = errors.New("allocate claims: a device class changed and they do not fit any more")
	}
	return results, err
}
