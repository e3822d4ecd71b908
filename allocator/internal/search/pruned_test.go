package search

import (
	"context"
	"fmt"
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

// A hard search learns megabytes, and a workspace outlives it: searches that do
// not prune must not have to carry that along.
func TestALongSearchLeavesNothingLearntBehind(t *testing.T) {
	const n = 8 // A Latin square of even order that is cyclic has no transversal.
	var all, rows, columns, symbols []string
	for row := range n {
		for column := range n {
			name := fmt.Sprintf("d%d.%d", row, column)
			all = append(all, name)
			rows = append(rows, fmt.Sprintf("%s=%d", name, row))
			columns = append(columns, fmt.Sprintf("%s=%d", name, column))
			symbols = append(symbols, fmt.Sprintf("%s=%d", name, (row+column)%n))
		}
	}
	p := parse(fmt.Sprintf("pool devices=(%s)\nclaim\nrequest count=%d from=(%s)\ndistinct values=(%s)\ndistinct values=(%s)\ndistinct values=(%s)",
		join(all), n, join(all), join(rows), join(columns), join(symbols))).problem()
	var s Scratch
	if outcome := s.Run(context.Background(), p); outcome.Solution != nil || outcome.Steps < 1000 {
		t.Fatalf("outcome is %+v, want no solution after many steps", outcome)
	}
	m := &s.memory
	if m.nogoods.len() > 0 || cap(m.nogoods.bytes) > keptBytes || m.remembered.len() > 0 || len(m.packing.tables) > 0 {
		t.Errorf("%d nogoods in %d bytes, %d keys and %d tables are kept", m.nogoods.len(), cap(m.nogoods.bytes), m.remembered.len(), len(m.packing.tables))
	}
}
