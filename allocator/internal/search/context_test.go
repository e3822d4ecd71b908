package search

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
)

var errCause = errors.New("the pod is gone")

// hopeless has no solution and 2^n steps: a request for one device more than
// there are tries every combination.
func hopeless(n int) *Problem {
	var devices []string
	for i := range n {
		devices = append(devices, fmt.Sprintf("d%d", i))
	}
	names := strings.Join(devices, ",")
	return parse(fmt.Sprintf("pool devices=(%s)\nclaim\nrequest count=%d from=(%s)", names, n+1, names)).problem()
}

func TestADoneContextInterruptsBeforeTheFirstStep(t *testing.T) {
	ctx, cancel := context.WithCancelCause(context.Background())
	cancel(errCause)
	outcome := Faithful(ctx, hopeless(4))
	if outcome.Interrupted != errCause || outcome.Steps != 0 || outcome.Solution != nil || outcome.Fault != nil {
		t.Errorf("outcome is %+v, want it interrupted by %q after 0 steps", outcome, errCause)
	}
}

// endingContext ends when it has been asked for its error often enough.
type endingContext struct {
	context.Context
	cancel context.CancelCauseFunc
	looks  int
}

func (c *endingContext) Err() error {
	if c.looks--; c.looks < 0 {
		c.cancel(errCause)
	}
	return c.Context.Err()
}

func TestTheContextIsLookedAtAtFixedIntervals(t *testing.T) {
	const n = 9
	for looks := range 4 {
		parent, cancel := context.WithCancelCause(context.Background())
		ctx := &endingContext{Context: parent, cancel: cancel, looks: looks}
		p := hopeless(n)
		w := walk{ctx: ctx, state: newState(p)}
		if v := w.step(place{}); v != stopped || w.interrupted != errCause {
			t.Fatalf("verdict %d, interrupted by %v; want the search stopped by %q", v, w.interrupted, errCause)
		}
		if want := int64(looks * contextInterval); w.steps != want {
			t.Errorf("the context ended at look %d, the search after %d steps, want %d", looks+1, w.steps, want)
		}
		if part := difference(w.state, newState(p)); part != "" {
			t.Errorf("an interrupted search leaves %s changed", part)
		}
	}
}

// Steps of a search that prunes are few and dear.
func TestTheContextIsLookedAtOnEachStepThatPrunes(t *testing.T) {
	p := parse("pool devices=(a,b,c)\nclaim\nrequest count=3 from=(a,b,c)").problem()
	for looks := range 4 {
		parent, cancel := context.WithCancelCause(context.Background())
		ctx := &endingContext{Context: parent, cancel: cancel, looks: looks}
		s := newState(p)
		m := &memory{}
		m.begin(s)
		w := walk{ctx: ctx, state: s, memory: m}
		if v := w.step(place{}); v != stopped || w.steps != int64(looks) {
			t.Errorf("the context ended at look %d, the search with verdict %d after %d steps", looks+1, v, w.steps)
		}
	}
}

// A context that is done and a solution in reach: the context is not asked again
// within the interval, and the answer that was found is given.
func TestAShortSearchEndsBeforeTheContextIsLookedAtAgain(t *testing.T) {
	parent, cancel := context.WithCancelCause(context.Background())
	ctx := &endingContext{Context: parent, cancel: cancel, looks: 1}
	outcome := Faithful(ctx, parse("pool devices=(a)\nclaim\nrequest count=1 from=(a)").problem())
	if outcome.Solution == nil || outcome.Interrupted != nil {
		t.Errorf("outcome is %+v, want a solution", outcome)
	}
}
