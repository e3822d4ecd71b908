package request

import (
	"context"

	"github.com/dray-dev/dray/allocator/internal/bitset"
	"github.com/dray-dev/dray/allocator/internal/search"
)

// Scratch is the memory of Compile and of Bind, for use by one after the other:
// each overwrites what it returned before. The zero value is ready.
type Scratch struct {
	claims Claims
	bound  Bound
	binder binder
	// compiled counts the calls of Compile.
	compiled int
	// words are handed out as sets; used of them are taken.
	words []uint64
	used  int
	// numberings are those of the constraints; numbered of them are taken.
	numberings []*numbering
	numbered   int
}

// Bind is the function of that name, in this memory.
func (s *Scratch) Bind(ctx context.Context, claims *Claims, target Target) (*Bound, error) {
	s.used, s.numbered = 0, 0
	s.bound.Claims, s.bound.Target = claims, target
	s.binder.Bound, s.binder.scratch, s.binder.ctx = &s.bound, s, ctx
	return s.binder.bind()
}

// generation is different for claims that Compile has made at different times in
// this memory, and 0 for claims that are not from here.
func (s *Scratch) generation(claims *Claims) int {
	if claims != &s.claims {
		return 0
	}
	return s.compiled
}

// set returns an empty set of so many words.
func (s *Scratch) set(words int) bitset.Set {
	if s.used+words > len(s.words) {
		// Sets that were handed out keep the old memory. The new one has room for
		// them, too, so that it is enough for the same question asked again.
		s.words = make([]uint64, max(2*len(s.words), s.used+words, 64))
	}
	set := s.words[s.used : s.used+words : s.used+words]
	s.used += words
	clear(set)
	return set
}

// newSet returns an empty set over the node's domain.
func (b *binder) newSet() bitset.Set { return b.scratch.set(b.Node.Words()) }

// resized returns a slice of n elements that keeps the memory that elements
// refer to.
func resized[T any](s []T, n int) []T {
	if cap(s) < n {
		return append(s[:cap(s)], make([]T, n-cap(s))...)
	}
	return s[:n]
}

// empty leaves nothing in an alternative but the memory of its lists. It goes by
// field, which is the fastest way while garbage is collected.
func empty(a *search.Alternative) {
	a.Count, a.All, a.Admin = 0, false, false
	a.Candidates, a.Faulty, a.Full, a.Demands = nil, nil, nil, nil
	a.Members, a.Tests = a.Members[:0], a.Tests[:0]
}
