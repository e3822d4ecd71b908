package report_test

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/dray-dev/dray/bench/report"
)

// scheduled is a run in which one target is met, one missed and one not measured.
func scheduled(t *testing.T) *report.Results {
	t.Helper()
	var b strings.Builder
	b.WriteString("Unit limit-sec assume=exact\nrounds: 6\nlimit: 10s\n\n")
	for i := range 6 {
		noise := float64(i)
		for name, ns := range map[string]float64{"plugin/nodes=500/use=empty/impl=dray": 400e3, "plugin/nodes=500/use=empty/impl=in-tree": 40e6,
			"state/devices=100000/claims=12500/impl=dray": 2e6, "state/devices=100000/claims=12500/impl=in-tree": 16e6} {
			fmt.Fprintf(&b, "BenchmarkPlugin/family=%s-2 10 %g ns/op 1000 prefilter-ns/op 7 allocs/op\n", name, ns+noise)
		}
		fmt.Fprintf(&b, "BenchmarkPods/family=pods/nodes=500/use=full/impl=dray-2 50 %g ns/op 2000 pods/s 12 searches/op\n", 500e3+noise)
		fmt.Fprintf(&b, "BenchmarkPods/family=pods/nodes=500/use=full/impl=in-tree-2 50 %g ns/op 100 pods/s\n", 10e6+noise)
		fmt.Fprintf(&b, "BenchmarkPlugin/family=unsat/nodes=500/requests=8/impl=dray-2 50 %g ns/op\n", 1e6+noise)
		fmt.Fprintf(&b, "BenchmarkPlugin/family=unsat/nodes=500/requests=9/impl=dray-2 50 %g ns/op\n", 1e6+noise)
	}
	b.WriteString("BenchmarkPlugin/family=unsat/nodes=500/requests=8/impl=in-tree-2 1 10 limit-sec\n")
	b.WriteString("BenchmarkPlugin/family=unsat/nodes=500/requests=9/impl=in-tree-2 1 10 limit-sec 1 uncompared\n")
	results, err := report.Read(strings.NewReader(b.String()), "test")
	if err != nil {
		t.Fatal(err)
	}
	return results
}

func TestSchedulerTargetsAreJudged(t *testing.T) {
	text := scheduled(t).SchedulerMarkdown()
	for _, want := range []string{
		"| state of the cluster, 100,000 devices | ≤ 1 ms | state/devices=100000/claims=12500 | 2.000ms ± 0% | missed |",
		"| plugin time a pod, 500 nodes | ≤ 1 ms | plugin/nodes=500/use=empty | 400.0µs ± 0% | met |",
		"| 5,000 nodes × 8 GPUs, MIG | ≥ 10× faster | - | - | not measured |",
		"| unsat/nodes=500/requests=8 | 1.000m ± 0% | - | > 10 s | - | > 10.0k× |",
		"| unsat/nodes=500/requests=9 | 1.000m ± 0% | - | > 10 s, no answer | - | > 10.0k× |",
		"| pods/nodes=500/use=full | 2000 ± 0% | 100 ± 0% | 20.0× [20.0, 20.0] |",
		"| pods/nodes=500/use=full | 12 | - | - | - | - | - |",
	} {
		if !strings.Contains(text, want+"\n") {
			t.Errorf("the document has no line %q\n%s", want, text)
		}
	}
}

func TestTheSchedulerTableFitsATerminal(t *testing.T) {
	var out strings.Builder
	if err := scheduled(t).SchedulerTable(&out); err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(out.String()) {
		if n := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); n > report.Width {
			t.Errorf("%d characters are more than %d: %s", n, report.Width, line)
		}
	}
}

func TestThroughputTargetsAreJudged(t *testing.T) {
	var b strings.Builder
	b.WriteString("Unit limit-sec assume=exact\nrounds: 6\nlimit: 10m\n\n")
	for i := range 6 {
		noise := float64(i)
		for name, ns := range map[string]float64{"burst/nodes=500/impl=dray": 10e6, "burst/nodes=500/impl=in-tree": 30e6,
			"match/nodes=500/impl=dray": 10e6, "match/nodes=500/impl=in-tree": 12e6} {
			fmt.Fprintf(&b, "BenchmarkThroughput/family=%s-2 1 %g ns/op %g pods/s\n", name, ns+noise, 1e9/ns)
		}
	}
	results, err := report.Read(strings.NewReader(b.String()), "test")
	if err != nil {
		t.Fatal(err)
	}
	text := results.ThroughputMarkdown()
	for _, want := range []string{
		"| burst, 500 nodes | ≥ 2× faster | burst/nodes=500 | 3.00× [3.00, 3.00] | met |",
		"| five devices on one PCIe root, 500 nodes | ≥ 1.7× faster | match/nodes=500 | 1.20× [1.20, 1.20] | missed |",
		"| a pod for each that is placed, 500 nodes | ≥ 1× as fast | - | - | not measured |",
		"| burst/nodes=500 | 100 ± 0% | 33.33 ± 0% | 3.00× [3.00, 3.00] |",
	} {
		if !strings.Contains(text, want+"\n") {
			t.Errorf("the document has no line %q\n%s", want, text)
		}
	}
}
