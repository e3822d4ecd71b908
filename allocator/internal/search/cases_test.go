package search

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
)

// TestCases runs the text cases of testdata, which are also the best place to
// learn what the search does: each says what it shows. The language is that of
// world. `go test -rewrite` writes the outcomes anew; read the diff as you would
// read code, and commit it only if you can say why it is right.
//
// Every case also goes through the checks that hold for all problems.
func TestCases(t *testing.T) {
	datadriven.Walk(t, "testdata", func(t *testing.T, path string) {
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			if d.Cmd != "search" {
				d.Fatalf(t, "unknown command %s", d.Cmd)
			}
			w := parse(d.Input)
			outcome := checkedRun(t, w)
			if outcome.Fault == nil && !w.refunds() {
				compareWithTwin(t, w, outcome)
			}
			return w.describe(outcome)
		})
	})
}

// refunds says whether some device draws less than nothing. Then a combination
// can be right as a whole and yet not be reached one device after the other.
func (w *world) refunds() bool {
	return slices.ContainsFunc(w.devices, func(d *deviceSpec) bool {
		return slices.ContainsFunc(d.draws, func(draw drawSpec) bool {
			return slices.ContainsFunc(draw.takes, func(a amount) bool { return a.value < 0 })
		})
	})
}

// checkedRun runs a problem and checks what holds for all: the problem is as it
// was, the walk's state is as it was once everything is given back, and the
// answer is the same the second time.
func checkedRun(t *testing.T, w *world) Outcome {
	t.Helper()
	p := w.problem()
	outcome := Faithful(context.Background(), p)
	if !reflect.DeepEqual(p, w.problem()) {
		t.Errorf("the search changed the problem")
	}
	if again := Faithful(context.Background(), p); !reflect.DeepEqual(again, outcome) {
		t.Errorf("the second search says\n%s, the first said\n%s", w.describe(again), w.describe(outcome))
	}
	checkLaw(t, p)
	checkPruned(t, w, p, outcome)
	return outcome
}

// describe writes an outcome as the cases have it.
func (w *world) describe(o Outcome) string {
	var text strings.Builder
	switch {
	case o.Interrupted != nil:
		fmt.Fprintf(&text, "interrupted: %v\n", o.Interrupted)
	case o.Fault != nil:
		kind := map[FaultKind]string{FaultCandidate: "candidate", FaultAttribute: "attribute", FaultAllConstraint: "all under a constraint"}[o.Fault.Kind]
		fmt.Fprintf(&text, "fault: %s: device %s, claim %d, request %d, alternative %d", kind, w.nameAt(o.Fault.Position), o.Fault.Claim, o.Fault.Request, o.Fault.Alternative)
		if o.Fault.Kind != FaultCandidate {
			fmt.Fprintf(&text, ", constraint %d", o.Fault.Constraint)
		}
		text.WriteString("\n")
	case o.Solution != nil:
		w.describeSolution(&text, o.Solution)
	default:
		text.WriteString("does not fit\n")
	}
	fmt.Fprintf(&text, "steps: %d\n", o.Steps)
	return text.String()
}

func (w *world) describeSolution(text *strings.Builder, s *Solution) {
	if len(w.claims) == 0 {
		text.WriteString("nothing to allocate\n")
	}
	for i, claim := range w.claims {
		fmt.Fprintf(text, "claim %d\n", i)
		for j, request := range claim.requests {
			fmt.Fprintf(text, "  request %d", j)
			if request.prioritized {
				fmt.Fprintf(text, ", alternative %d", s.Chosen[i][j])
			}
			var devices []string
			for _, pick := range s.Picks[i] {
				if pick.Request != j {
					continue
				}
				device := w.nameAt(pick.Position)
				if pick.Share {
					device += " (share)"
				}
				if pick.Alternative != s.Chosen[i][j] {
					device += " (of another alternative)"
				}
				devices = append(devices, device)
			}
			if len(devices) == 0 {
				devices = []string{"nothing"}
			}
			fmt.Fprintf(text, ": %s\n", strings.Join(devices, ", "))
		}
		if !slices.IsSortedFunc(s.Picks[i], func(a, b Pick) int { return a.Request - b.Request }) {
			text.WriteString("  picks are not in the order of requests\n")
		}
	}
}
