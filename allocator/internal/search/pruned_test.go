package search

import (
	"context"
	"reflect"
	"testing"
)

// usedMemory is that of all problems before.
var usedMemory Scratch

// checkPruned demands that the pruned order says what the faithful one says, in
// no more steps, and also if pruning begins at the root instead of at the first
// dead end.
func checkPruned(t *testing.T, w *world, p *Problem, faithful Outcome) {
	t.Helper()
	outcomes := map[string]Outcome{
		"pruned":                Run(context.Background(), p),
		"pruned in used memory": usedMemory.Run(context.Background(), p),
	}
	if prunable(p) {
		early := walk{ctx: context.Background(), state: newState(p), prunable: true}
		early.prune()
		outcomes["pruned from the root"] = early.run()
	}
	for name, outcome := range outcomes {
		steps := outcome.Steps
		outcome.Steps = faithful.Steps
		if got, want := w.describe(outcome), w.describe(faithful); got != want {
			t.Errorf("%s the search says\n%s, the faithful one says\n%s", name, got, want)
		}
		if steps > faithful.Steps {
			t.Errorf("%s the search takes %d steps, the faithful one %d", name, steps, faithful.Steps)
		}
		if !reflect.DeepEqual(p, w.problem()) {
			t.Errorf("%s the search changed the problem", name)
		}
	}
}
