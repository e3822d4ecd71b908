package search

import (
	"context"

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
// looked at on the first step, too.
const contextInterval = 128

// Run walks the tree in the faithful order. It allocates no more than its
// state, and changes nothing of the problem.
func Run(ctx context.Context, p *Problem) Outcome {
	w := walk{ctx: ctx, state: newState(p)}
	v := w.step(place{})
	outcome := Outcome{Steps: w.steps}
	switch v {
	case found:
		outcome.Solution = &Solution{Picks: w.picks, Chosen: w.alternatives}
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
}

func (w *walk) step(at place) verdict {
	if w.steps%contextInterval == 0 && w.ctx.Err() != nil {
		w.interrupted = context.Cause(w.ctx)
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
		return none // All means at least one.
	}
	if at.device >= alternative.Count {
		w.alternatives[at.claim][at.request] = at.alternative
		return w.step(place{claim: at.claim, request: at.request + 1})
	}
	if alternative.Count-at.device > w.problem.MaxResults-len(w.picks[at.claim]) {
		return tooMany
	}
	if alternative.All {
		return w.takeMember(at, alternative)
	}
	return w.tryCandidates(at, alternative)
}

// tryAlternatives takes the first alternative that leads to a solution. The
// result is tooMany only if that stood in the way of every alternative.
func (w *walk) tryAlternatives(at place, request *Request) verdict {
	exhausted := tooMany
	for i := range request.Alternatives {
		at.alternative, at.chosen, at.from = i, true, 0
		switch v := w.step(at); v {
		case tooMany:
		case none:
			exhausted = none
		default:
			return v
		}
	}
	return exhausted
}

// takeMember takes the next device of a request for all. There is no other
// choice: if it cannot be had, the request fails.
func (w *walk) takeMember(at place, alternative *Alternative) verdict {
	position := alternative.Members[at.device]
	if w.busy(at.claim, alternative).Has(position) || !alternative.Candidates.Has(position) {
		return none
	}
	switch w.take(at, alternative, position) {
	case refused:
		return none
	case faulted:
		return stopped
	}
	if v := w.step(place{claim: at.claim, request: at.request, alternative: at.alternative, chosen: at.chosen, device: at.device + 1}); v != none {
		if v != found {
			w.giveBack()
		}
		return v
	}
	w.giveBack()
	return none
}

// tryCandidates tries the devices for one slot of a request.
func (w *walk) tryCandidates(at place, alternative *Alternative) verdict {
	busy := w.busy(at.claim, alternative)
	for from := at.from; ; {
		position, ok := nextCandidate(alternative, busy, from)
		if !ok {
			return none
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
		if v := w.step(next); v != none {
			if v != found {
				w.giveBack()
			}
			return v
		}
		w.giveBack()
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
