package contender_test

import (
	"testing"

	"github.com/dray-dev/dray/allocator/allocatortest"
	"github.com/dray-dev/dray/bench/contender"
	"github.com/dray-dev/dray/bench/family"
)

// eachTestCase runs a test for every test size of every family.
func eachTestCase(t *testing.T, test func(t *testing.T, c *family.Case)) {
	for _, f := range family.All() {
		for _, size := range append(f.Test[:len(f.Test):len(f.Test)], f.Gate) {
			t.Run(f.Name+"/"+size.String(), func(t *testing.T) { test(t, f.Case(size)) })
		}
	}
}

func TestAllImplementationsGiveTheSameAnswer(t *testing.T) {
	eachTestCase(t, func(t *testing.T, c *family.Case) {
		reference := contender.Start(contender.Experimental(), c)
		ours := contender.Start(contender.Dray(), c)
		var incubating *contender.Session
		if contender.Incubating().Supports(c.Scenario.Features) {
			incubating = contender.Start(contender.Incubating(), c)
		}
		for round := range 3 {
			want := reference.Answer(t.Context())
			if difference := allocatortest.Diff(want, ours.Answer(t.Context())); difference != "" {
				t.Fatalf("call %d: %s", round, difference)
			}
			if got, most := ours.Work().Steps, reference.Work().Steps; got > most {
				t.Errorf("call %d took %d steps, upstream's %d", round, got, most)
			}
			if incubating == nil {
				continue
			}
			if difference := allocatortest.Diff(want, incubating.Answer(t.Context())); difference != "" {
				t.Errorf("call %d: incubating differs from experimental: %s", round, difference)
			}
		}
	})
}

func TestFormulasCountUpstreamsSteps(t *testing.T) {
	for _, with := range []contender.Contender{contender.Incubating(), contender.Experimental()} {
		t.Run(with.Name(), func(t *testing.T) {
			eachTestCase(t, func(t *testing.T, c *family.Case) {
				if c.Steps < 0 || !with.Supports(c.Scenario.Features) {
					t.Skip("no formula, or no such feature")
				}
				session := contender.Start(with, c)
				for range 3 {
					if _, err := session.Do(t.Context()); err != nil {
						t.Fatal(err)
					}
					if got := session.Work().Steps; got != c.Steps {
						t.Errorf("took %d steps, want %d by the formula", got, c.Steps)
					}
				}
			})
		})
	}
}

// The classes of answers are written down here, so that a family that has
// become another one is noticed although all implementations still agree.
var fits = map[string]bool{
	"F9": true, "F16": true, "F16g": true,
	"P2": true, "P4": true, "P5": true, "P6": true, "P7": true, "P8": true, "P9": true,
	"warm": true, "again": true, "pod": true, "change": true,
}

func TestFamiliesAreWhatTheyAreFor(t *testing.T) {
	eachTestCase(t, func(t *testing.T, c *family.Case) {
		want := allocatortest.DoesNotFit
		switch {
		case fits[c.Family.Name]:
			want = allocatortest.Fits
		case c.FailsOnlyHere:
			want = allocatortest.FailedOnNode
		case c.Family.Name == "F10":
			t.Skip("a random instance may fit")
		}
		if got := contender.Start(contender.Dray(), c).Answer(t.Context()); got.Class != want {
			t.Errorf("got %s, want %s", got, want)
		}
	})
}
