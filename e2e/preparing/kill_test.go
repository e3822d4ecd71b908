package preparing_test

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	"k8s.io/apimachinery/pkg/types"

	"github.com/dray-dev/dray/kubeletplugin/checkpoint"
	"github.com/dray-dev/dray/kubeletplugin/prepare"
)

// summary is what a node has of claims, in one line: partitions, MIG modes, states in
// the checkpoint, files for container runtimes.
func (n *node) summary() string {
	n.t.Helper()
	var text []string
	node := n.hardware()
	for p := range maps.Keys(partitions(node)) {
		text = append(text, fmt.Sprint(p))
	}
	for _, gpu := range node.GPUs {
		if gpu.MIG != nil && gpu.MIG.Enabled {
			text = append(text, fmt.Sprintf("gpu-%d is in MIG mode", gpu.Minor))
		}
	}
	for _, claim := range n.claims() {
		text = append(text, fmt.Sprintf("claim %s is %s", claim.UID, claim.State))
	}
	files, err := n.files().List()
	if err != nil {
		n.t.Fatal(err)
	}
	for _, file := range files {
		text = append(text, fmt.Sprintf("there is a file of %s", file))
	}
	slices.Sort(text)
	return fmt.Sprint(text)
}

// TestEveryStepOnSimulatedGPUs kills a prepare and an unprepare before each of their
// changes, on a machine with the whole behaviour of its GPUs.
func TestEveryStepOnSimulatedGPUs(t *testing.T) {
	n := newNode(t, "two-gpus")
	w := &wish{uid: "a", devices: []string{"gpu-0-mig-1g10gb-19-6", "gpu-0-mig-3g40gb-9-0", "gpu-1"}, exclusive: true}
	prepareIt := func(p *prepare.Preparer) error {
		_, err := p.Prepare(t.Context(), w.claim())
		return err
	}
	unprepareIt := func(p *prepare.Preparer) error { return p.Unprepare(t.Context(), types.UID("a")) }
	start := func(p *prepare.Preparer) error { return p.Start(t.Context()) }
	must := func(calls ...func(p *prepare.Preparer) error) {
		t.Helper()
		for _, call := range calls {
			if err := call(n.process()); err != nil {
				t.Fatal(err)
			}
		}
	}
	want := func(what, summary string) {
		t.Helper()
		if got := n.summary(); got != summary {
			t.Errorf("%s: %s, not %s", what, got, summary)
		}
	}
	before := n.summary()
	must(prepareIt)
	after := n.summary()
	must(unprepareIt)
	want("given back", before)

	steps := map[string]int{}
	for _, c := range []struct {
		name        string
		call, again func(p *prepare.Preparer) error
		done        string
	}{
		{"prepare", prepareIt, unprepareIt, after},
		{"unprepare", unprepareIt, prepareIt, before},
	} {
		if c.done == before {
			must(prepareIt)
		}
		for step := 0; ; step++ {
			survived, err := n.survives(step, c.call)
			if err != nil {
				t.Fatal(err)
			}
			if survived {
				steps[c.name] = step
				break
			}
			if step%2 == 1 { // the next process is started before it is asked, or is not
				must(start)
				if slices.ContainsFunc(n.claims(), func(c *checkpoint.Claim) bool { return c.State == checkpoint.Started }) {
					t.Errorf("%s, killed before step %d: a claim is still started", c.name, step)
				}
			}
			must(c.call)
			want(fmt.Sprintf("%s, killed before step %d, and repeated", c.name, step), c.done)
			must(c.again)
		}
		if c.done == after {
			must(unprepareIt)
		}
		want(c.name+", in the end", before)
	}
	for name, count := range steps {
		if count < 20 {
			t.Errorf("%s has %d steps: some are not announced", name, count)
		}
	}
}
