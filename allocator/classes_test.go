package allocator

import (
	"context"
	"errors"
	"testing"

	"github.com/dray-dev/dray/allocator/internal/bitset"
	"github.com/dray-dev/dray/allocator/internal/search"
)

// oneOfOne asks for the only device there is.
func oneOfOne() *search.Problem {
	return &search.Problem{
		Width: bitset.WordBits, WordPool: []int{0}, Pools: make([]search.Pool, 1),
		InUse: bitset.New(1), Shared: bitset.New(1), MultiAllocatable: bitset.New(1),
		ShareOf: noShares(), MaxResults: 32,
		Claims: []search.Claim{{Requests: []search.Request{{Alternatives: []search.Alternative{
			{Count: 1, Candidates: bitset.Full(1), Faulty: bitset.New(1)},
		}}}}},
	}
}

func noShares() []int32 {
	shares := make([]int32, bitset.WordBits)
	for i := range shares {
		shares[i] = -1
	}
	return shares
}

// A caller that waits for the answer of its node's class goes when its own
// context ends, however long the other's search takes.
func TestWaitingForAClassEndsWithTheContext(t *testing.T) {
	gone := errors.New("the pod is gone")
	ctx, cancel := context.WithCancelCause(context.Background())
	cancel(gone)
	c := &classes{}
	p := oneOfOne()
	key, ok := new(search.Scratch).Key(p)
	if !ok {
		t.Fatal("the problem has no key")
	}
	busy := c.answer(key)
	busy.lock <- struct{}{}
	if o, _ := c.run(ctx, p, &search.Scratch{}); o.Interrupted != gone || o.Solution != nil {
		t.Errorf("while another searches the outcome is %+v, want it interrupted by %q", o, gone)
	}
	<-busy.lock
	if o, _ := c.run(context.Background(), p, &search.Scratch{}); o.Solution == nil {
		t.Fatalf("with time the outcome is %+v, want a solution", o)
	}
	if o, _ := c.run(ctx, p, &search.Scratch{}); o.Interrupted != gone {
		t.Errorf("once the answer is known the outcome is %+v, want it interrupted by %q", o, gone)
	}
	if o, _ := c.run(context.Background(), p, &search.Scratch{}); o.Solution == nil || o.Steps != 0 {
		t.Errorf("the second node's outcome is %+v, want the known solution without a step", o)
	}
}
