package runner

import (
	"bytes"
	"context"
	"io"
	"regexp"
	"strings"
	"testing"
	"time"

	resourceapi "k8s.io/api/resource/v1"

	"github.com/dray-dev/dray/bench/contender"
	"github.com/dray-dev/dray/bench/family"
)

func quick(match string) Options {
	return Options{
		Contenders: contender.All(), Rounds: 2, Sample: time.Microsecond, Limit: time.Minute,
		Match: regexp.MustCompile(match), Quick: true, Progress: io.Discard,
	}
}

func lines(t *testing.T, options Options) []string {
	t.Helper()
	var out bytes.Buffer
	if err := Run(t.Context(), &out, options); err != nil {
		t.Fatal(err)
	}
	var results []string
	for line := range strings.Lines(out.String()) {
		if strings.HasPrefix(line, "Benchmark") {
			results = append(results, strings.TrimSuffix(line, "\n"))
		}
	}
	return results
}

func TestImplementationsTakeTurns(t *testing.T) {
	var order []string
	for _, line := range lines(t, quick(`^F3/n=8/c=3$`)) {
		want := regexp.MustCompile(`^BenchmarkAllocate/family=F3/n=8/c=3/impl=(\w+)-\d+ \d+ [\d.e+]+ ns/op [\d.e+]+ B/op \d+ allocs/op (\d+) steps/op (\d+) cel-evals/op$`)
		m := want.FindStringSubmatch(line)
		if m == nil {
			t.Fatalf("line %q does not look like %s", line, want)
		}
		if m[1] != "dray" && (m[2] != "149" || m[3] != "8") {
			t.Errorf("upstream takes 149 steps and evaluates on 8 devices, but the line is %q", line)
		}
		order = append(order, m[1])
	}
	if got, want := strings.Join(order, " "), "dray incubating experimental dray incubating experimental"; got != want {
		t.Errorf("samples are of %s, want %s", got, want)
	}
}

func TestAnImplementationWithoutTheFeatureIsLeftOut(t *testing.T) {
	for _, line := range lines(t, quick(`^F13/`)) {
		if strings.Contains(line, "impl=incubating") {
			t.Errorf("the incubating allocator knows no lists, but there is %q", line)
		}
	}
}

// endless is a case that no search that only backtracks gets through.
func endless() *family.Case {
	f := family.Named("F1")
	return f.Case(f.Bench[len(f.Bench)-1])
}

func TestWhatDoesNotFinishSaysSo(t *testing.T) {
	var out bytes.Buffer
	options := quick("")
	options.Limit = 10 * time.Millisecond
	options.Contenders = []contender.Contender{contender.Experimental()}
	records, err := newRecorder(&out, options)
	if err != nil {
		t.Fatal(err)
	}
	if err := measure(t.Context(), endless(), options, records); err != nil {
		t.Fatal(err)
	}
	if want := regexp.MustCompile(`(?m)^BenchmarkAllocate/family=F1/m=\d+/impl=experimental-\d+ 1 0.01 limit-sec$`); len(want.FindAll(out.Bytes(), -1)) != 1 {
		t.Errorf("want one line like %s, got\n%s", want, out.String())
	}
}

func TestARunEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	options := quick("")
	options.Contenders = []contender.Contender{contender.Experimental()}
	records, err := newRecorder(io.Discard, options)
	if err != nil {
		t.Fatal(err)
	}
	if err := measure(ctx, endless(), options, records); err == nil {
		t.Error("measuring ended without an error")
	}
}

// smaller claims to be the experimental allocator and is asked about one
// request less.
type smaller struct{ contender.Contender }

func (smaller) Name() string { return "smaller" }

func TestImplementationsThatDisagreeEndTheRun(t *testing.T) {
	c := family.Named("P2").Case(family.Named("P2").Gate)
	other := *c
	other.Scenario = c.Scenario.Clone()
	other.Scenario.Claims = []*resourceapi.ResourceClaim{c.Scenario.Claims[0].DeepCopy()}
	other.Scenario.Claims[0].Spec.Devices.Requests[0].Exactly.Count = 2
	options := quick("")
	first, err := prepare(t.Context(), contender.Dray(), c, options)
	if err != nil {
		t.Fatal(err)
	}
	second, err := prepare(t.Context(), smaller{contender.Experimental()}, &other, options)
	if err != nil {
		t.Fatal(err)
	}
	if err := agree(first, second); err == nil || !strings.Contains(err.Error(), "dray and smaller answer differently") {
		t.Errorf("got error %v", err)
	}
	if err := agree(first, first); err != nil {
		t.Error(err)
	}
}

func TestNothingToMeasureIsAnError(t *testing.T) {
	if err := Run(t.Context(), io.Discard, quick(`^nothing$`)); err == nil {
		t.Error("a run of no case ended without an error")
	}
}

func TestAnInventoryIsWeighed(t *testing.T) {
	got := lines(t, quick(`^inventory/`))
	want := regexp.MustCompile(`^BenchmarkInventory/family=inventory/nodes=100/n=8/impl=dray-\d+ 1 [1-9][\d.]* B/device [1-9][\d.]* slice-B/device$`)
	if len(got) != 1 || !want.MatchString(got[0]) {
		t.Errorf("got %q, want a line like %s", got, want)
	}
}
