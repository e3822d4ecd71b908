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
// Nodes are compared by the whole problem (search.Problem.AppendKey), never by a
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
	mu       sync.Mutex
	known    bool
	solution *search.Solution
}

// defaultSharedSteps is the default of WithSharedSearches.
const defaultSharedSteps = 48

// maxClasses bounds the memory of one allocator, which lives for one pod.
const maxClasses = 4096

func (c *classes) run(ctx context.Context, p *search.Problem, scratch *search.Scratch) search.Outcome {
	if !c.active.Load() && c.threshold > 0 {
		outcome := scratch.Run(ctx, p)
		if outcome.Steps >= c.threshold && outcome.Fault == nil {
			c.active.Store(true)
			c.keep(p, outcome)
		}
		return outcome
	}
	key, ok := p.AppendKey(nil)
	if !ok {
		return scratch.Run(ctx, p)
	}
	answer := c.answer(string(key))
	answer.mu.Lock()
	defer answer.mu.Unlock()
	if answer.known {
		return search.Outcome{Solution: answer.solution}
	}
	outcome := scratch.Run(ctx, p)
	answer.set(outcome)
	return outcome
}

// keep notes an answer that was found before nodes were compared.
func (c *classes) keep(p *search.Problem, outcome search.Outcome) {
	if key, ok := p.AppendKey(nil); ok {
		answer := c.answer(string(key))
		answer.mu.Lock()
		defer answer.mu.Unlock()
		answer.set(outcome)
	}
}

func (c *classes) answer(key string) *classAnswer {
	c.mu.Lock()
	defer c.mu.Unlock()
	answer, found := c.answers[key]
	if !found {
		if c.answers == nil || len(c.answers) >= maxClasses {
			c.answers = make(map[string]*classAnswer)
		}
		answer = &classAnswer{}
		c.answers[key] = answer
	}
	return answer
}

func (a *classAnswer) set(outcome search.Outcome) {
	if outcome.Interrupted == nil && outcome.Fault == nil {
		a.known, a.solution = true, outcome.Solution.Clone()
	}
}
