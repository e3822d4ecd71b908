package allocator

import (
	"context"
	"sync"
	"sync/atomic"

	"github.com/dray-dev/dray/allocator/internal/search"
)

// classes lets one search answer for all nodes that pose the same problem. In a
// cluster of equal machines most do, and a pod that does not fit, or fits only
// after a long search, would otherwise pay for it on each of them.
//
// Nodes are compared by the whole problem (search.Scratch.Key), never by a
// hash alone. Errors and searches that the context ended are not shared.
// Comparing costs about as much as a short search, so it begins when some search
// was long.
type classes struct {
	// threshold is the number of steps that make a search long.
	threshold int64
	active    atomic.Bool

	mu      sync.Mutex
	answers map[string]*classAnswer
}

// classAnswer is the answer for one class. Its lock is held while a node of the
// class is searched, so that others of the class wait for the answer instead of
// searching for the same.
type classAnswer struct {
	// lock has room for the one who searches: unlike a mutex it can be waited for
	// under a context.
	lock     chan struct{}
	known    bool
	solution *search.Solution
}

// defaultSharedSteps is the default of WithSharedSearches.
const defaultSharedSteps = 48

// The bounds of what one allocator remembers, which lives for one pod: answers,
// and bytes of a key. Problems with longer keys are not shared.
const (
	maxClasses  = 1024
	maxClassKey = 1 << 14
)

// run says, too, whether the outcome is that of another node, which was searched
// before.
func (c *classes) run(ctx context.Context, p *search.Problem, scratch *search.Scratch) (outcome search.Outcome, reused bool) {
	if !c.active.Load() && c.threshold > 0 {
		outcome := scratch.Run(ctx, p)
		if outcome.Steps >= c.threshold && outcome.Fault == nil {
			c.active.Store(true)
			c.keep(p, outcome, scratch)
		}
		return outcome, false
	}
	key, ok := scratch.Key(p)
	if !ok || len(key) > maxClassKey {
		return scratch.Run(ctx, p), false
	}
	answer := c.answer(key)
	select {
	case answer.lock <- struct{}{}:
		defer func() { <-answer.lock }()
	case <-ctx.Done():
		return search.Outcome{Interrupted: context.Cause(ctx)}, false
	}
	if answer.known && ctx.Err() == nil {
		return search.Outcome{Solution: answer.solution}, true
	}
	outcome = scratch.Run(ctx, p)
	answer.set(outcome)
	return outcome, false
}

// keep notes an answer that was found before nodes were compared.
func (c *classes) keep(p *search.Problem, outcome search.Outcome, scratch *search.Scratch) {
	if key, ok := scratch.Key(p); ok && len(key) <= maxClassKey {
		answer := c.answer(key)
		answer.lock <- struct{}{}
		answer.set(outcome)
		<-answer.lock
	}
}

func (c *classes) answer(key []byte) *classAnswer {
	c.mu.Lock()
	defer c.mu.Unlock()
	answer, found := c.answers[string(key)]
	if !found {
		if c.answers == nil || len(c.answers) >= maxClasses {
			c.answers = make(map[string]*classAnswer)
		}
		answer = &classAnswer{lock: make(chan struct{}, 1)}
		c.answers[string(key)] = answer
	}
	return answer
}

func (a *classAnswer) set(outcome search.Outcome) {
	if outcome.Interrupted == nil && outcome.Fault == nil {
		a.known, a.solution = true, outcome.Solution.Clone()
	}
}
