package search

import (
	"context"
	"errors"

	"github.com/dray-dev/dray/allocator/internal/bitset"
)

// place is a node of the search tree: the next thing to decide.
type place struct {
	claim, request, alternative int
	// device is the number of devices taken for the request so far.
	device int
	// chosen: the alternative is decided, go for its devices.
	chosen bool
	// from is the first position that may still be taken for the request.
	from int
}

// verdict is what a subtree came to.
type verdict uint8

const (
	// none: the subtree holds no solution.
	none verdict = iota
	// found: the state is a solution.
	found
	// tooMany: a claim would need more devices than its result can hold. Trying
	// other devices cannot help, another alternative can: so this passes over
	// all devices of earlier requests up to the next choice of alternative, and
	// no further than the claim.
	tooMany
	// stopped: a fault or the context ended the search.
	stopped
)

// contextInterval is the number of steps between looks at the context. It is
// looked at on the first step, too, and on every one of a search that prunes: such
// a step can take a millisecond.
const contextInterval = 128

// ErrSteps is the outcome of a search that Problem.MaxSteps ended.
var ErrSteps = errors.New("the search took more steps than it was allowed")

// Faithful walks the tree in the faithful order, node by node. It is the oracle
// for Run, and what Run does where a fault is in reach.
func Faithful(ctx context.Context, p *Problem) Outcome { return new(Scratch).Faithful(ctx, p) }

func (w *walk) run() Outcome {
	v := w.step(place{})
	outcome := Outcome{Steps: w.steps}
	switch v {
	case found:
		w.solution = Solution{Picks: w.picks, Chosen: w.alternatives}
		outcome.Solution = &w.solution
	case stopped:
		outcome.Fault, outcome.Interrupted = w.fault, w.interrupted
	}
	return outcome
}

type walk struct {
	*state
	ctx         context.Context
	steps       int64
	fault       *Fault
	interrupted error

	// prunable: the walk may begin to prune. It does while memory is set; spare,
	// if not nil, is what it then is.
	prunable      bool
	memory, spare *memory
	// blame are the components that made the node fail that was left last.
	blame blame
}

func (w *walk) step(at place) verdict {
	if (w.steps%contextInterval == 0 || w.memory != nil) && w.ctx.Err() != nil {
		w.interrupted = context.Cause(w.ctx)
		return stopped
	}
	if w.steps == w.problem.MaxSteps && w.steps > 0 {
		w.interrupted = ErrSteps
		return stopped
	}
	w.steps++

	if at.claim == len(w.problem.Claims) {
		return found
	}
	requests := w.problem.Claims[at.claim].Requests
	if at.request == len(requests) {
		v := w.step(place{claim: at.claim + 1})
		if v == tooMany {
			if w.prune() {
				return w.fail(^blame(0))
			}
			return none
		}
		return v
	}
	request := &requests[at.request]
	if request.Prioritized && !at.chosen {
		return w.tryAlternatives(at, request)
	}

	alternative := &request.Alternatives[at.alternative]
	if alternative.All && len(alternative.Members) == 0 {
		return w.failHere(at) // All means at least one.
	}
	if at.device >= alternative.Count {
		w.alternatives[at.claim][at.request] = at.alternative
		return w.step(place{claim: at.claim, request: at.request + 1})
	}
	if w.memory != nil && w.memory.overflows(at, alternative, at.device) {
		return w.failHere(at)
	}
	if alternative.Count-at.device > w.problem.MaxResults-len(w.picks[at.claim]) {
		return tooMany
	}
	if alternative.All {
		return w.takeMember(at, alternative)
	}
	return w.tryCandidates(at, alternative)
}

// failHere ends a node for a reason that lies in its own request.
func (w *walk) failHere(at place) verdict {
	if w.prune() {
		return w.fail(w.memory.mine(at))
	}
	return none
}

// tryAlternatives takes the first alternative that leads to a solution. The
// result is tooMany only if that stood in the way of every alternative.
func (w *walk) tryAlternatives(at place, request *Request) verdict {
	exhausted := tooMany
	b := blame(0)
	for i := range request.Alternatives {
		at.alternative, at.chosen, at.from = i, true, 0
		if w.memory != nil && w.memory.overflows(at, &request.Alternatives[i], 0) {
			exhausted = none
			continue
		}
		switch v := w.step(at); v {
		case tooMany:
		case none:
			exhausted = none
			if w.memory != nil && w.blame&w.memory.mine(at) == 0 {
				return none
			}
			b |= w.blame
		default:
			return v
		}
	}
	if w.memory != nil && exhausted == none {
		return w.fail(b | w.memory.mine(at))
	}
	return exhausted
}

// takeMember takes the next device of a request for all. There is no other
// choice: if it cannot be had, the request fails.
func (w *walk) takeMember(at place, alternative *Alternative) verdict {
	if w.memory != nil {
		if _, ok := w.memory.look(at); !ok {
			return w.fail(w.memory.outlook.blame)
		}
	}
	position := alternative.Members[at.device]
	if w.busy(at.claim, alternative).Has(position) || !alternative.Candidates.Has(position) {
		return w.failHere(at)
	}
	switch w.take(at, alternative, position) {
	case refused:
		return w.failHere(at)
	case faulted:
		return stopped
	}
	next := at
	next.device, next.from = at.device+1, 0
	v := w.step(next)
	if v != found {
		w.giveBack()
	}
	return v
}

// tryCandidates tries the devices for one slot of a request.
func (w *walk) tryCandidates(at place, alternative *Alternative) verdict {
	if w.memory != nil {
		return w.tryLikely(at, alternative)
	}
	busy := w.busy(at.claim, alternative)
	for from := at.from; ; {
		position, ok := nextCandidate(alternative, busy, from)
		if !ok {
			return w.failHere(at)
		}
		from = position + 1
		if alternative.Faulty.Has(position) {
			w.fault = &Fault{Kind: FaultCandidate, Claim: at.claim, Request: at.request, Alternative: at.alternative, Position: position}
			return stopped
		}
		switch w.take(at, alternative, position) {
		case refused:
			continue
		case faulted:
			return stopped
		}
		next := at
		next.device, next.from = at.device+1, position+1
		v := w.step(next)
		if v == found {
			return found
		}
		w.giveBack()
		if v != none {
			return v
		}
		if w.prune() {
			// The rest of this node, pruned. Its blame is that of the part that
			// was tried, too.
			return w.tryRest(at, alternative, from)
		}
	}
}

// nextCandidate returns the first position from on that has to be looked at.
func nextCandidate(alternative *Alternative, busy bitset.Set, from int) (int, bool) {
	good, goodOK := alternative.Candidates.NextAndNot(busy, from)
	bad, badOK := alternative.Faulty.NextAndNot(busy, from)
	if badOK && (!goodOK || bad < good) {
		return bad, true
	}
	return good, goodOK
}
