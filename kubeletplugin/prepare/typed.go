package prepare

import (
	"context"
	"encoding/json"
	"fmt"
)

// KindOf is a Kind whose plan is a P and whose outcome is an O. Both are kept as
// JSON by this release and read by the next one and the one before, so fields are
// only added.
type KindOf[P, O any] interface {
	Name() string
	Match(device string) bool
	Find(ctx context.Context, device string) (lock string, err error)
	Lock(plan *P) string
	Holds(request *Request) ([]string, error)
	Plan(request *Request, others []P) (*P, error)
	// Apply returns an outcome, also beside an error.
	Apply(ctx context.Context, plan *P) (*O, error)
	Verify(ctx context.Context, plan *P, outcome *O) error
	// Undo gets no outcome if nobody knows how far Apply came.
	Undo(ctx context.Context, plan *P, outcome *O, rebooted bool, others []P) error
	Content(ctx context.Context, plan *P, outcome *O) (*Content, error)
}

// Typed makes a Kind of one with types.
func Typed[P, O any](kind KindOf[P, O]) Kind { return &typed[P, O]{kind} }

type typed[P, O any] struct{ kind KindOf[P, O] }

func (t *typed[P, O]) Name() string                             { return t.kind.Name() }
func (t *typed[P, O]) Match(device string) bool                 { return t.kind.Match(device) }
func (t *typed[P, O]) Holds(request *Request) ([]string, error) { return t.kind.Holds(request) }

func (t *typed[P, O]) Find(ctx context.Context, device string) (string, error) {
	return t.kind.Find(ctx, device)
}

func (t *typed[P, O]) Lock(plan json.RawMessage) (string, error) {
	p, _, err := t.decode(plan, nil)
	if err != nil {
		return "", err
	}
	return t.kind.Lock(p), nil
}

func (t *typed[P, O]) Plan(request *Request, others []json.RawMessage) (json.RawMessage, error) {
	plans, err := t.plans(others)
	if err != nil {
		return nil, err
	}
	plan, err := t.kind.Plan(request, plans)
	if err != nil {
		return nil, err
	}
	return json.Marshal(plan)
}

func (t *typed[P, O]) Apply(ctx context.Context, plan json.RawMessage) (json.RawMessage, error) {
	p, _, err := t.decode(plan, nil)
	if err != nil {
		return nil, err
	}
	outcome, applyErr := t.kind.Apply(ctx, p)
	data, err := json.Marshal(outcome)
	if applyErr != nil {
		err = applyErr
	}
	return data, err
}

func (t *typed[P, O]) Verify(ctx context.Context, plan, outcome json.RawMessage) error {
	p, o, err := t.decode(plan, outcome)
	if err != nil {
		return err
	}
	return t.kind.Verify(ctx, p, o)
}

func (t *typed[P, O]) Undo(ctx context.Context, plan, outcome json.RawMessage, undo *Undoing) error {
	p, o, err := t.decode(plan, outcome)
	if err != nil {
		return err
	}
	others, err := t.plans(undo.Others)
	if err != nil {
		return err
	}
	return t.kind.Undo(ctx, p, o, undo.Rebooted, others)
}

func (t *typed[P, O]) Content(ctx context.Context, plan, outcome json.RawMessage) (*Content, error) {
	p, o, err := t.decode(plan, outcome)
	if err != nil {
		return nil, err
	}
	return t.kind.Content(ctx, p, o)
}

func (t *typed[P, O]) plans(list []json.RawMessage) ([]P, error) {
	plans := make([]P, len(list))
	for i, data := range list {
		p, _, err := t.decode(data, nil)
		if err != nil {
			return nil, err
		}
		plans[i] = *p
	}
	return plans, nil
}

// decode returns no outcome for none.
func (t *typed[P, O]) decode(plan, outcome json.RawMessage) (*P, *O, error) {
	p, o := new(P), (*O)(nil)
	if err := json.Unmarshal(plan, p); err != nil {
		return nil, nil, fmt.Errorf("plan of kind %s: %w", t.Name(), err)
	}
	if len(outcome) > 0 {
		if err := json.Unmarshal(outcome, &o); err != nil {
			return nil, nil, fmt.Errorf("outcome of kind %s: %w", t.Name(), err)
		}
	}
	return p, o, nil
}
