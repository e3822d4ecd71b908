package allocator

import (
	"hash/maphash"
	"slices"

	"github.com/dray-dev/dray/allocator/internal/search"
)

// sharedSolution is a solution that some answers of a question have. The question's
// mu protects what changes.
type sharedSolution struct {
	*search.Solution
	hash    uint64
	answers int
}

// share gives the answer, which is new, a solution that equal answers have too. The
// caller holds mu, as for release.
func (q *question) share(a *answer, solution *search.Solution) {
	q.weight++
	if solution == nil {
		return
	}
	hash := hashOf(solution)
	for _, known := range q.solutions[hash] {
		if known.Equal(solution) {
			known.answers++
			a.shared, a.solution = known, known.Solution
			return
		}
	}
	a.shared = &sharedSolution{Solution: solution.Clone(), hash: hash, answers: 1}
	a.solution = a.shared.Solution
	if q.solutions == nil {
		q.solutions = map[uint64][]*sharedSolution{}
	}
	q.solutions[hash] = append(q.solutions[hash], a.shared)
	q.weight += weightOf(solution)
}

// release takes an answer, which may be nil, out of the question.
func (q *question) release(a *answer) {
	if a == nil {
		return
	}
	q.weight--
	shared := a.shared
	if shared == nil {
		return
	}
	if shared.answers--; shared.answers > 0 {
		return
	}
	q.weight -= weightOf(shared.Solution)
	left := slices.DeleteFunc(q.solutions[shared.hash], func(other *sharedSolution) bool { return other == shared })
	if len(left) == 0 {
		delete(q.solutions, shared.hash)
		return
	}
	q.solutions[shared.hash] = left
}

var solutionSeed = maphash.MakeSeed()

// hashOf is equal for equal solutions.
func hashOf(s *search.Solution) uint64 {
	var h maphash.Hash
	h.SetSeed(solutionSeed)
	for i := range s.Picks {
		maphash.WriteComparable(&h, len(s.Picks[i]))
		for _, pick := range s.Picks[i] {
			maphash.WriteComparable(&h, pick)
		}
		for _, alternative := range s.Chosen[i] {
			maphash.WriteComparable(&h, alternative)
		}
	}
	return h.Sum64()
}

// weightOf is what a solution takes beside the answer, in units of weight.
func weightOf(s *search.Solution) int64 {
	const word, header, pick = 8, 3, 4 // of a slice and of a search.Pick, in words
	words := 0
	for i := range s.Picks {
		words += 2*header + len(s.Picks[i])*pick + len(s.Chosen[i])
	}
	return int64(words*word+weightUnit-1) / weightUnit
}
