package search

import (
	"context"

	"github.com/dray-dev/dray/allocator/internal/bitset"
)

// Scratch is the memory of a search, for use by one search after the other. The
// solution of an Outcome is in it: it holds until the next search. The zero
// value is ready.
type Scratch struct {
	state  state
	memory memory

	key      []byte
	relevant bitset.Set
}

// Faithful is the function of that name, in this memory.
func (s *Scratch) Faithful(ctx context.Context, p *Problem) Outcome {
	s.state.begin(p)
	w := walk{ctx: ctx, state: &s.state}
	return w.run()
}

// Run is the function of that name, in this memory.
func (s *Scratch) Run(ctx context.Context, p *Problem) Outcome {
	if !prunable(p) {
		outcome := s.Faithful(ctx, p)
		outcome.Unpruned = true
		return outcome
	}
	if ctx.Err() == nil && short(p) {
		return Outcome{Steps: 1}
	}
	s.state.begin(p)
	w := walk{ctx: ctx, state: &s.state, prunable: true, spare: &s.memory}
	defer s.memory.end()
	return w.run()
}

func newState(p *Problem) *state {
	s := &state{}
	s.begin(p)
	return s
}

// begin makes the state that of a problem of which nothing is taken, whatever
// it was before.
func (s *state) begin(p *Problem) {
	s.problem = p
	s.inUse = append(s.inUse[:0], p.InUse...)
	s.holders = cleared(s.holders, p.Width)
	s.shared = cleared(s.shared, len(p.Shares))
	s.pools = resized(s.pools, len(p.Pools))
	for i := range s.pools {
		s.pools[i].opened, s.pools[i].overdrawn = false, 0
	}
	s.shareVersions = resized(s.shareVersions, len(p.Shares))
	s.shares = resized(s.shares, len(p.Shares))
	for i := range p.Shares {
		s.shares[i] = s.shares[i].Become(p.Shares[i])
	}
	s.held = resized(s.held, len(p.Claims))
	s.constraints = resized(s.constraints, len(p.Claims))
	s.picks = resized(s.picks, len(p.Claims))
	s.alternatives = resized(s.alternatives, len(p.Claims))
	for i := range p.Claims {
		s.held[i] = bitset.Set(cleared(s.held[i], len(p.InUse)))
		s.constraints[i] = resized(s.constraints[i], len(p.Claims[i].Constraints))
		for j := range s.constraints[i] {
			s.constraints[i][j].begin()
		}
		s.picks[i] = s.picks[i][:0]
		s.alternatives[i] = cleared(s.alternatives[i], len(p.Claims[i].Requests))
	}
	s.undo, s.groupUndo = s.undo[:0], s.groupUndo[:0]
}

// begin empties a constraint's state.
func (s *constraintState) begin() {
	s.devices, s.used, s.common, s.union = 0, s.used[:0], s.common[:0], s.union[:0]
}

// resized returns a slice of n elements that keeps the memory that elements
// refer to.
func resized[S ~[]T, T any](s S, n int) S {
	if cap(s) < n {
		return append(s[:cap(s)], make(S, n-cap(s))...)
	}
	return s[:n]
}

// cleared returns a slice of n zeros.
func cleared[S ~[]T, T any](s S, n int) S {
	s = resized(s, n)
	clear(s)
	return s
}
