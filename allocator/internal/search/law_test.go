package search

import (
	"context"
	"reflect"
	"slices"
	"testing"

	"github.com/dray-dev/dray/allocator/internal/index"
)

// checkLaw walks a problem to its end and demands that the state is then as it
// was in the beginning: at once where no solution was found, after giving back
// every pick where one was. This is the law of take and giveBack.
func checkLaw(t *testing.T, p *Problem) {
	t.Helper()
	w := walk{ctx: context.Background(), state: newState(p)}
	if w.step(place{}) == found {
		for range len(w.undo) {
			w.giveBack()
		}
	}
	if part := difference(w.state, newState(p)); part != "" {
		t.Errorf("the walk is over, and %s is not as it was", part)
	}
}

// difference names a part of two states that differs, among all that decide what
// can be taken. A pool that was opened has to be as opening it made it. Which
// alternatives were tried last does not matter: the next try overwrites it.
func difference(a, b *state) string {
	for i := range a.pools {
		if problem := a.problem.Pools[i]; a.pools[i].opened {
			b.open(problem.First)
		}
		x, y := &a.pools[i], &b.pools[i]
		switch {
		case !equalAmounts(x.left, y.left):
			return "left of pools"
		case x.overdrawn != y.overdrawn:
			return "overdrawn of pools"
		case !reflect.DeepEqual(x.groups, y.groups):
			return "groups of pools"
		}
	}
	for i := range a.shares {
		if !equalAmounts(a.shares[i], b.shares[i]) {
			return "shares"
		}
	}
	for i := range a.constraints {
		for _, c := range a.constraints[i] {
			if c.devices != 0 || len(c.used) != 0 || len(c.common) != 0 || !c.union.Empty() {
				return "constraints"
			}
		}
	}
	for i := range a.picks {
		if len(a.picks[i]) != 0 {
			return "picks"
		}
	}
	switch {
	case !a.inUse.Equal(b.inUse):
		return "inUse"
	case !reflect.DeepEqual(a.held, b.held):
		return "held"
	case !slices.Equal(a.holders, b.holders):
		return "holders"
	case !slices.Equal(a.shared, b.shared):
		return "shared"
	case len(a.undo) != 0 || len(a.groupUndo) != 0:
		return "undo"
	}
	return ""
}

func equalAmounts(a, b index.Amounts) bool {
	return a.Len() == b.Len() && (a.Wide == nil) == (b.Wide == nil) && a.Covers(b) && b.Covers(a)
}

// A check that cannot fail proves nothing.
func TestDifferenceSeesEachPart(t *testing.T) {
	p := parse(`
		pool devices=(a,b)
		set name=card left=(memory=4)
		draws device=a set=card amounts=(memory=2) groups=(x)
		shareable device=b left=(memory=4)
		enforce-groups
		claim
		request count=1 from=(a)
		request count=1 from=(b)
		takes devices=(b) amounts=(memory=1)
		match values=(a=1,b=1)
		distinct values=(a=1,b=2)
		match-sets values=(a=1,b=1)
		distinct-sets values=(a=1,b=2)
	`).problem()
	first := p.Claims[0].Constraints
	for _, c := range []struct {
		part  string
		spoil func(*state)
	}{
		{"inUse", func(s *state) { s.inUse.Add(1) }},
		{"held", func(s *state) { s.held[0].Add(1) }},
		{"holders", func(s *state) { s.holders[1]++ }},
		{"left of pools", func(s *state) { s.open(0); s.pools[0].left.Narrow[0]-- }},
		{"overdrawn of pools", func(s *state) { s.open(0); s.pools[0].overdrawn++ }},
		{"groups of pools", func(s *state) { s.open(0); s.pools[0].groups[0] = s.pools[0].groups[0].With(nil) }},
		{"shares", func(s *state) { s.shares[0].Narrow[0]-- }},
		{"shared", func(s *state) { s.shared[0]++ }},
		{"constraints", func(s *state) { s.constraints[0][0].devices++ }},
		{"constraints", func(s *state) { s.constraints[0][1].used = []int32{FirstValue} }},
		{"constraints", func(s *state) { s.constraints[0][2].common = first[2].Sets[:1] }},
		{"constraints", func(s *state) { s.constraints[0][3].union = first[3].Sets[0].Clone() }},
		{"picks", func(s *state) { s.picks[0] = []Pick{{}} }},
		{"undo", func(s *state) { s.undo = []taken{{}} }},
		{"undo", func(s *state) { s.groupUndo = []groupUndo{{}} }},
		{"", func(s *state) { s.open(0); s.alternatives[0][0] = 1 }},
	} {
		s := newState(p)
		c.spoil(s)
		if got := difference(s, newState(p)); got != c.part {
			t.Errorf("the difference is %q, want %q", got, c.part)
		}
	}
}
