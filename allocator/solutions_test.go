package allocator

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/dray-dev/dray/allocator/internal/search"
)

// TestAQuestionKeepsASolutionForAsLongAsAnAnswerHasIt: what a question remembers is
// what its answers have, each solution once, however many there have been.
func TestAQuestionKeepsASolutionForAsLongAsAnAnswerHasIt(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 1))
	q := &question{nodes: map[string]*answer{}}
	for step := range 20_000 {
		name := fmt.Sprint("node-", random.IntN(200))
		var solution *search.Solution
		if random.IntN(10) > 0 { // more different ones than there are nodes
			solution = &search.Solution{Picks: [][]search.Pick{make([]search.Pick, 1+random.IntN(3)), nil}, Chosen: [][]int{{0}, {random.IntN(3)}}}
			for i := range solution.Picks[0] {
				solution.Picks[0][i].Position = random.IntN(9)
			}
		}
		a := &answer{}
		q.share(a, solution)
		q.release(q.nodes[name])
		q.nodes[name] = a
		if (a.solution == nil) != (solution == nil) || solution != nil && !a.solution.Equal(solution) {
			t.Fatalf("step %d: the answer has another solution", step)
		}
		if step%100 > 0 {
			continue
		}
		kept, weight := map[*search.Solution]bool{}, int64(len(q.nodes))
		for _, a := range q.nodes {
			if a.solution != nil && !kept[a.solution] {
				kept[a.solution] = true
				weight += weightOf(a.solution)
			}
		}
		different := map[string]bool{}
		for solution := range kept {
			different[fmt.Sprint(*solution)] = true
		}
		remembered := 0
		for _, list := range q.solutions {
			remembered += len(list)
		}
		if len(different) != len(kept) || remembered != len(kept) || weight != q.weight {
			t.Fatalf("step %d: %d solutions, %d of them different, %d remembered; weight %d, want %d", step, len(kept), len(different), remembered, q.weight, weight)
		}
	}
}
