package request

import (
	"context"
	"fmt"

	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/dray-dev/dray/allocator/internal/inventory"
	"github.com/dray-dev/dray/allocator/internal/search"
)

// consumptionMap is how the API writes consumed capacity.
type consumptionMap = map[resourceapi.QualifiedName]resource.Quantity

func capacityErrorf(name resourceapi.QualifiedName, err error) error {
	return fmt.Errorf("capacity %q: %w", name, err)
}

// FaultError says in words what ended a search. It is an *InputError, or the
// context's cause if that ends the second look that is needed for the text.
func (b *Bound) FaultError(ctx context.Context, fault *search.Fault) error {
	claim := b.Claims.Claims[fault.Claim]
	a := &claim.Requests[fault.Request].Alternatives[fault.Alternative]
	number, device := b.Node.Locate(fault.Position)
	pool := b.Node.Pools[number]
	id := pool.DeviceID(device).String()
	switch fault.Kind {
	case search.FaultCandidate:
		return b.candidateError(ctx, claim, a, number, device)
	case search.FaultAllConstraint:
		return &InputError{Claim: claim.Name(), Request: a.FullName(), Device: id, Err: fmt.Errorf(
			"claim %s, request %s: cannot add device %s because a claim constraint would not be satisfied", claim.Name(), a.Name, id)}
	}
	attribute := claim.Constraints[fault.Constraint].Attribute
	reason, compile := b.Evaluator.DerivedReason(ctx, a.derived[attribute], pool, device)
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if compile {
		return &InputError{Claim: claim.Name(), Request: a.FullName(), Err: fmt.Errorf("compile derived attribute %s failed: %w", attribute, reason)}
	}
	return &InputError{Claim: claim.Name(), Request: a.FullName(), Device: id,
		Err: fmt.Errorf("evaluate derived attribute %s on device %s failed: %w", attribute, id, reason)}
}

// candidateError says why a device of a Faulty set cannot be tried: it asks the
// selectors, then the device's node selector, then the capacity, and reports
// the first that fails.
func (b *Bound) candidateError(ctx context.Context, claim *Claim, a *Alternative, number, device int) error {
	pool := b.Node.Pools[number]
	id := pool.DeviceID(device).String()
	for _, s := range a.Selectors {
		verdict, err := b.Evaluator.Verdict(ctx, &pool.Selectors, s.Expression, pool)
		if err != nil {
			return err
		}
		if !verdict.Fault.Has(device) {
			continue
		}
		reason, compile := b.Evaluator.Reason(ctx, s.Expression, pool, device)
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		return selectorFault(claim, a, s, id, reason, compile)
	}
	if err := b.Node.Reach[number].Errors[device]; err != nil {
		return &InputError{Claim: claim.Name(), Request: a.FullName(), Device: id, Err: err}
	}
	err := b.capacityError(pool, device, a)
	name := id
	if a.All {
		name = pool.At(device).Name
	}
	return &InputError{Claim: claim.Name(), Request: a.FullName(), Device: id,
		Err: fmt.Errorf("claim %s, request %s: checking capacity for device %s: %w", claim.Name(), a.Name, name, err)}
}

func selectorFault(claim *Claim, a *Alternative, s Selector, device string, reason error, compile bool) error {
	e := &InputError{Claim: claim.Name(), Request: a.FullName(), Device: device}
	owner := "claim " + claim.Name()
	if s.OfClass {
		e.Class = a.Class.Name
		owner = "class " + a.Class.Name
	}
	if compile {
		e.Device = ""
		e.Err = fmt.Errorf("%s: selector #%d: CEL compile error: %w", owner, s.Index, reason)
	} else {
		e.Err = fmt.Errorf("%s: selector #%d on device %s: CEL runtime error: %w", owner, s.Index, device, reason)
	}
	return e
}

// capacityError makes the error again that reckon found.
func (b *Bound) capacityError(pool *inventory.Pool, device int, a *Alternative) error {
	taken, _, err := consume(pool.At(device), a.Capacity, b.Claims.Features.FractionalCapacityRange)
	if err != nil {
		return err
	}
	_, _, _, err = b.exact(pool, device, taken)
	return err
}
