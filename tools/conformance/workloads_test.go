package main

import (
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const workloadEvents = `{"Action":"run","Test":"TestSchedulerPerf"}
{"Action":"pass","Test":"TestSchedulerPerf/stable/Claims/fast"}
{"Action":"output","Test":"TestSchedulerPerf/stable/Claims/long","Output":"scheduler_perf.go:944: disabled by label filter \"short\"\n"}
{"Action":"skip","Test":"TestSchedulerPerf/stable/Claims/long"}
{"Action":"pass","Test":"TestSchedulerPerf/stable/Claims"}
{"Action":"output","Test":"TestSchedulerPerf/stable/Slices/long","Output":"scheduler_perf.go:944: disabled by label filter \"short\"\n"}
{"Action":"skip","Test":"TestSchedulerPerf/stable/Slices/long"}
{"Action":"pass","Test":"TestSchedulerPerf/stable/Slices"}
{"Action":"output","Test":"TestSchedulerPerf/stable/Nodes","Output":"no nodes here\n"}
{"Action":"skip","Test":"TestSchedulerPerf/stable/Nodes"}
{"Action":"pass","Test":"TestSchedulerPerf/stable"}
{"Action":"pass","Test":"TestSchedulerPerf"}
`

func TestOnlyFilteredWorkloadsAreLeftOut(t *testing.T) {
	o, err := parseEvents(strings.NewReader(workloadEvents))
	if err != nil {
		t.Fatal(err)
	}
	o.dropFiltered()
	r := pluginReport{outcomes: o}
	want := []string{"TestSchedulerPerf/stable/Claims/fast", "TestSchedulerPerf/stable/Nodes"}
	if got := r.tests(); !slices.Equal(got, want) || !slices.Equal(r.misses(), want[1:]) {
		t.Errorf("tests %q, misses %q", got, r.misses())
	}
}

func TestWorkloadsOfSeveralPackagesKeepTheirNames(t *testing.T) {
	all := outcomes{verdicts: map[string]verdict{}, output: map[string]string{}}
	for _, name := range []string{"dra", "dra/scoring"} {
		o, err := parseEvents(strings.NewReader(`{"Action":"fail","Test":"T/x"}{"Action":"output","Test":"T/x","Output":"no"}{"Action":"output","Output":"end;"}`))
		if err != nil {
			t.Fatal(err)
		}
		all.add(name, o)
	}
	if got := slices.Sorted(maps.Keys(all.verdicts)); !slices.Equal(got, []string{"dra/T/x", "dra/scoring/T/x"}) {
		t.Errorf("verdicts of %q", got)
	}
	if all.output["dra/scoring/T/x"] != "no" || all.output[""] != "end;end;" {
		t.Errorf("output: %q", all.output)
	}
}

func TestEveryPackageWithWorkloadsIsFound(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"dra_test.go", "a/scoring/b_test.go", "a/config.yaml", "c/c.go", "a/scoring/a_test.go"} {
		if err := writeFile(filepath.Join(dir, filepath.FromSlash(workloadsDir), filepath.FromSlash(name)), nil); err != nil {
			t.Fatal(err)
		}
	}
	got, err := workloadPackages(dir)
	if want := []string{workloadsDir, workloadsDir + "/a/scoring"}; err != nil || !slices.Equal(got, want) {
		t.Errorf("got %q, %v", got, err)
	}
	if _, err := workloadPackages(t.TempDir()); err == nil {
		t.Error("a module without them: no error")
	}
}
