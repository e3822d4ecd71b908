package search

import (
	"context"
	"errors"
	"testing"

	"github.com/dray-dev/dray/allocator/internal/bitset"
)

// manySteps is a problem with a solution after several steps.
func manySteps() *Problem {
	free := bitset.Full(3)
	request := Request{Alternatives: []Alternative{{Count: 1, Candidates: free, Faulty: bitset.New(3)}}}
	return &Problem{
		Width: bitset.WordBits, WordPool: []int{0}, Pools: make([]Pool, 1),
		InUse: bitset.New(3), Shared: bitset.New(3), MultiAllocatable: bitset.New(3),
		ShareOf: neverShared(bitset.WordBits), MaxResults: 32,
		Claims: []Claim{{Requests: []Request{request, request, request}}},
	}
}

func neverShared(width int) []int32 {
	list := make([]int32, width)
	for i := range list {
		list[i] = -1
	}
	return list
}

func TestMaxStepsEndsASearchThatWouldTakeMore(t *testing.T) {
	for name, run := range map[string]func(context.Context, *Problem) Outcome{"pruned": Run, "faithful": Faithful} {
		t.Run(name, func(t *testing.T) {
			needed := run(context.Background(), manySteps()).Steps
			if needed < 3 {
				t.Fatalf("the search took %d steps only", needed)
			}
			p := manySteps()
			p.MaxSteps = needed
			if outcome := run(context.Background(), p); outcome.Solution == nil || outcome.Steps != needed {
				t.Errorf("with exactly enough steps: %+v", outcome)
			}
			p.MaxSteps = needed - 1
			if outcome := run(context.Background(), p); !errors.Is(outcome.Interrupted, ErrSteps) || outcome.Solution != nil || outcome.Steps != p.MaxSteps {
				t.Errorf("with one step too few: %+v", outcome)
			}
		})
	}
}
