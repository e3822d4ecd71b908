package explain

import (
	"context"
	"errors"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/dray-dev/dray/allocator/internal/inventory"
	"github.com/dray-dev/dray/allocator/internal/request"
	"github.com/dray-dev/dray/allocator/internal/search"
)

// Question is what an explanation is asked about.
type Question struct {
	Claims *request.Claims
	Target request.Target
	// Remnants are those of the target's snapshot.
	Remnants inventory.Remnants
	// Steps is the most that one search may take, at least one.
	Steps int64
	// Write writes a solution as results; what it cannot write does not fit.
	Write func(*request.Bound, *search.Solution) error
}

// totalSearches bounds the steps of all searches after the first one, in units
// of Question.Steps.
const totalSearches = 16

// Explain answers the question. The error is the context's cause.
func Explain(ctx context.Context, q Question) (*Explanation, error) {
	e, bindErr, err := begin(ctx, q)
	if err != nil {
		return nil, err
	}
	if bindErr != nil {
		e.bindError(bindErr)
	} else if err := e.search(); err != nil {
		return nil, err
	}
	e.nearestMiss()
	return e.out, nil
}

// begin follows the requests through the stages. bindErr is what kept the claims
// from becoming a problem; err is the context's cause.
func begin(ctx context.Context, q Question) (e *explainer, bindErr, err error) {
	e = &explainer{
		Question:    q,
		ctx:         ctx,
		examination: request.Examine(ctx, q.Claims, q.Target),
		withheld:    q.Target.Node.Withheld(q.Target.API, q.Remnants),
		out:         &Explanation{Node: q.Target.API.Name},
		firstClaim:  -1,
	}
	e.out.Pools = e.troubles()
	bound, bindErr := request.Bind(ctx, q.Claims, q.Target)
	if bindErr == nil {
		e.bound, e.problem = bound, &bound.Problem
	} else if ctx.Err() != nil {
		return nil, nil, context.Cause(ctx)
	}
	if err := e.follow(); err != nil {
		return nil, nil, err
	}
	return e, bindErr, nil
}

type explainer struct {
	Question
	ctx         context.Context
	examination *request.Examination
	withheld    []*inventory.Withheld
	// bound and problem are nil where a claim contains an error.
	bound   *request.Bound
	problem *search.Problem
	// requests of all claims, in order.
	requests []*followed
	// first is the alternative that Explanation.First is about, if it is about one,
	// and firstClaim the index of its claim, or -1.
	first      *alternative
	firstClaim int
	out        *Explanation
}

// search asks what Allocate would answer, and names the first cause.
func (e *explainer) search() error {
	p := *e.problem
	p.MaxSteps = e.Steps
	outcome := search.Run(e.ctx, &p)
	switch {
	case outcome.Solution != nil:
		if err := e.Write(e.bound, outcome.Solution); err != nil {
			e.fault(err)
			return nil
		}
		e.out.Fits = true
		return nil
	case outcome.Fault != nil:
		err := e.bound.FaultError(e.ctx, outcome.Fault)
		if e.ctx.Err() != nil {
			return context.Cause(e.ctx)
		}
		e.fault(err)
		e.nameSelector(e.alternativeAt(outcome.Fault), outcome.Fault.Position)
		return nil
	case outcome.Interrupted != nil && !errors.Is(outcome.Interrupted, search.ErrSteps):
		return outcome.Interrupted
	case outcome.Interrupted == nil && e.Target.Node.Invalid() != nil:
		e.out.Error = request.ErrInvalidPools.Error()
	}
	if e.alone() {
		return nil
	}
	return e.together()
}

// alone names the first request that cannot be met even by itself, if there is one.
func (e *explainer) alone() bool {
	for _, r := range e.requests {
		if a := r.furthest(); a != nil {
			e.setFirst(r, a, *a.binding)
			return true
		}
	}
	return false
}

// fault notes an error about one of the inputs.
func (e *explainer) fault(err error) {
	e.out.Error = err.Error()
	first := &Shortage{Binding: Binding{Cause: Faulted}}
	var input *request.InputError
	if errors.As(err, &input) {
		first.Claim, first.Request = input.Claim, input.Request
		if input.Class != "" && apierrors.IsNotFound(err) {
			first.Binding = Binding{Cause: NoClass, Class: input.Class}
		}
	}
	e.out.First = first
}

// bindError notes an error that kept the claims from becoming a problem. If it
// concerns the node only, it is about the first request for all devices, which
// cannot have those of a pool that is not in order.
func (e *explainer) bindError(err error) {
	e.fault(err)
	onNode := errors.Is(err, request.ErrFailedOnNode)
	for _, r := range e.requests {
		for _, a := range r.alternatives {
			switch {
			case onNode && a.compiled.All:
				e.setFirst(r, a, Binding{Cause: BadPool, Pool: &e.out.Pools[0]})
				return
			case !onNode && a.progress != nil && r.claim.Name() == e.out.First.Claim && a.compiled.FullName() == e.out.First.Request:
				faulty := a.progress.Faulty[request.OfClass].Clone()
				faulty.Or(a.progress.Faulty[request.Selected])
				if position, found := faulty.Next(0); found {
					e.nameSelector(a, position)
				}
				return
			}
		}
	}
}

func (e *explainer) alternativeAt(f *search.Fault) *alternative {
	for _, r := range e.requests {
		if r.claimNumber == f.Claim && r.number == f.Request {
			return r.alternatives[f.Alternative]
		}
	}
	return nil
}

// nameSelector adds the selector that fails on a device to the error, if it is
// one: the error says what went wrong, the expression shows where.
func (e *explainer) nameSelector(a *alternative, position int) {
	if !a.progress.Faulty[request.OfClass].Has(position) && !a.progress.Faulty[request.Selected].Has(position) {
		return
	}
	for i, s := range a.compiled.Selectors {
		if !a.progress.AfterSelector[i].Has(position) {
			e.out.First.Binding.Selector = &SelectorRef{OfClass: s.OfClass, Index: s.Index, Expression: s.Expression}
			return
		}
	}
}

func (e *explainer) setFirst(r *followed, a *alternative, binding Binding) {
	e.first, e.firstClaim = a, r.claimNumber
	name := r.compiled.API.Name
	if a != nil {
		name = a.compiled.FullName()
	}
	e.out.First = &Shortage{Claim: r.claim.Name(), Request: name, Binding: binding}
}

func (e *explainer) troubles() []PoolTrouble {
	var list []PoolTrouble
	for _, w := range e.withheld {
		list = append(list, troubleOf(w))
	}
	return list
}
