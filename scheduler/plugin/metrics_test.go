package plugin

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/component-base/metrics"
	"k8s.io/component-base/metrics/testutil"
)

const metricsDoc = "../../docs/metrics.md"

// tableRows are the rows of tables in a Markdown file whose first cell is in
// backquotes: the cells, trimmed, without the backquotes of the first.
func tableRows(t *testing.T, file string) [][]string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var rows [][]string
	for line := range strings.Lines(string(text)) {
		if !strings.HasPrefix(line, "| `") {
			continue
		}
		cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), "|")
		for i := range cells {
			cells[i] = strings.TrimSpace(cells[i])
		}
		cells[0] = strings.Trim(cells[0], "`")
		rows = append(rows, cells)
	}
	return rows
}

// registered is a registry with the instruments, and the work of the engines.
func registered(t *testing.T, i *instruments, engines ...*engine) metrics.KubeRegistry {
	t.Helper()
	registry := metrics.NewKubeRegistry()
	if err := i.register(registry, func() []*engine { return engines }); err != nil {
		t.Fatal(err)
	}
	return registry
}

func TestMetricsAreThoseThatTheDocumentLists(t *testing.T) {
	families, err := registered(t, newInstruments()).Gather()
	if err != nil {
		t.Fatal(err)
	}
	var got, want []string
	for _, family := range families {
		var labels []string
		for _, label := range family.GetMetric()[0].GetLabel() {
			labels = append(labels, "`"+label.GetName()+"`")
		}
		got = append(got, fmt.Sprintf("%s %s %s", family.GetName(), strings.ToLower(family.GetType().String()), strings.Join(labels, ", ")))
		if !strings.HasPrefix(family.GetHelp(), "[ALPHA] ") {
			t.Errorf("%s: help is %q", family.GetName(), family.GetHelp())
		}
	}
	for _, row := range tableRows(t, metricsDoc) {
		if len(row) == 5 {
			want = append(want, fmt.Sprintf("%s %s %s", row[0], row[1], row[2]))
		}
	}
	slices.Sort(want)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-documented +registered:\n%s", diff)
	}
}

func TestLabelValuesAreThoseThatTheDocumentLists(t *testing.T) {
	text, err := os.ReadFile(metricsDoc)
	if err != nil {
		t.Fatal(err)
	}
	var documented []cause
	for _, row := range tableRows(t, metricsDoc) {
		if len(row) == 3 && row[0] != "cause" {
			documented = append(documented, cause(row[0]))
		}
	}
	want := slices.Sorted(slices.Values(documented))
	if diff := cmp.Diff(want, slices.Sorted(slices.Values(causes))); diff != "" {
		t.Errorf("causes, -documented +counted:\n%s", diff)
	}
	sentence := regexp.MustCompile("(?s)`extension_point` is one of ([^.]*)\\.").FindSubmatch(text)
	if sentence == nil {
		t.Fatal("the document does not list the extension points")
	}
	var listed []point
	for _, name := range regexp.MustCompile("`([A-Za-z]+)`").FindAllStringSubmatch(string(sentence[1]), -1) {
		listed = append(listed, point(name[1]))
	}
	if diff := cmp.Diff(listed, points); diff != "" {
		t.Errorf("extension points, -documented +timed:\n%s", diff)
	}
}

func TestRefusalsAreCountedByCauseAndCallsByExtensionPoint(t *testing.T) {
	w := newWorld(t, parseObjects(t, `node a
node b
class gpu
slice a devices=gpu-0
claim one gpu
claim two gpu
claim lost missing
pod p claims=one
pod q claims=two
pod r claims=lost
`), "", stableFeatures())
	registered(t, w.plugin.engine.metrics)
	for _, pod := range []string{"p", "q", "r"} {
		w.schedule(pod)
	}
	for why, want := range map[cause]float64{causeNoPools: 1, causeInUse: 1, causeNoClass: 1, causeTaint: 0} {
		if got, err := testutil.GetCounterMetricValue(w.plugin.engine.metrics.causes[why]); err != nil || got != want {
			t.Errorf("%s: %v, %v, want %v", why, got, err, want)
		}
	}
	// p on a; q on both, in a cycle that does not time nodes; r is refused before.
	for at, want := range map[point]uint64{pointPreFilter: 3, pointFilter: 1, pointReserve: 1, pointPreBind: 1, pointPostFilter: 1, pointUnreserve: 0} {
		got, err := testutil.GetHistogramMetricCount(w.plugin.engine.metrics.durations[at])
		if err != nil || got != want {
			t.Errorf("%s: %v calls, %v, want %v", at, got, err, want)
		}
	}
}

func TestTheWorkOfAllEnginesIsServed(t *testing.T) {
	w := newWorld(t, parseObjects(t, "node a\nclass gpu\nslice a devices=gpu-0\nclaim one gpu\npod p claims=one\n"), "", stableFeatures())
	if said := w.schedule("p"); said != "bound to a\n" {
		t.Fatal(said)
	}
	engine := w.plugin.engine
	families, err := registered(t, engine.metrics, engine, engine).Gather()
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]float64{}
	for _, family := range families {
		if m := family.GetMetric()[0]; m.GetCounter() != nil {
			got[family.GetName()] = m.GetCounter().GetValue()
		}
	}
	for _, m := range workMetrics {
		if m.gauge {
			continue
		}
		if want := 2 * float64(m.of(w.plugin.Work())); got["dray_scheduler_"+m.name] != want {
			t.Errorf("%s is %v, want %v", m.name, got["dray_scheduler_"+m.name], want)
		}
	}
	if w.plugin.Work().Searches == 0 {
		t.Error("nothing was searched, so nothing was tested")
	}
}
