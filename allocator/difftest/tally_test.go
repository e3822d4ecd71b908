package difftest

import (
	"fmt"
	"io"
	"maps"
	"math/bits"
	"slices"

	"github.com/dray-dev/dray/allocator/allocatortest"
)

// tally counts what a run has seen. Each worker has its own.
type tally struct {
	cases, scenarios int
	incubating       int // cases that the incubating allocator was asked about, too
	classes          map[allocatortest.Class]int
	features         map[allocatortest.Feature]uses
	pairs            map[[2]allocatortest.Feature]uses
	reasons          map[deviation]int
	moved            map[deviation]int
	byLength         [8]int // cases by the steps of upstream, in powers of four
	steps, mostSteps int64
	mostStepsSeed    uint64
}

// uses counts cases that used something, and those of them that fitted.
type uses struct{ cases, satisfied int }

func newTally() *tally {
	return &tally{
		classes:  make(map[allocatortest.Class]int),
		features: make(map[allocatortest.Feature]uses),
		pairs:    make(map[[2]allocatortest.Feature]uses),
		reasons:  make(map[deviation]int),
		moved:    make(map[deviation]int),
	}
}

func (u uses) plus(cases, satisfied int) uses { return uses{u.cases + cases, u.satisfied + satisfied} }

func (u uses) share() float64 {
	if u.cases == 0 {
		return 0
	}
	return 100 * float64(u.satisfied) / float64(u.cases)
}

func (t *tally) add(seed uint64, s *allocatortest.Scenario, verdicts []verdict) {
	t.scenarios++
	for _, v := range verdicts {
		t.cases++
		if v.incubating {
			t.incubating++
		}
		t.classes[v.upstream.Class]++
		satisfied := 0
		if v.upstream.Class == allocatortest.Fits {
			satisfied = 1
		}
		used := allocatortest.Uses(s, v.node).Each()
		for i, f := range used {
			t.features[f] = t.features[f].plus(1, satisfied)
			for _, g := range used[i+1:] {
				t.pairs[[2]allocatortest.Feature{f, g}] = t.pairs[[2]allocatortest.Feature{f, g}].plus(1, satisfied)
			}
		}
		for _, reason := range slices.Compact(slices.Sorted(slices.Values(v.reasons))) {
			t.reasons[reason]++
		}
		for _, reason := range slices.Compact(slices.Sorted(slices.Values(v.moved))) {
			t.moved[reason]++
		}
		t.byLength[min(len(t.byLength)-1, bits.Len64(uint64(v.steps))/2)]++
		t.steps += v.steps
		if v.steps > t.mostSteps {
			t.mostSteps, t.mostStepsSeed = v.steps, seed
		}
	}
}

func (t *tally) merge(o *tally) {
	t.cases += o.cases
	t.incubating += o.incubating
	t.scenarios += o.scenarios
	for k, n := range o.classes {
		t.classes[k] += n
	}
	for k, u := range o.features {
		t.features[k] = t.features[k].plus(u.cases, u.satisfied)
	}
	for k, u := range o.pairs {
		t.pairs[k] = t.pairs[k].plus(u.cases, u.satisfied)
	}
	for k, n := range o.reasons {
		t.reasons[k] += n
	}
	for k, n := range o.moved {
		t.moved[k] += n
	}
	for i, n := range o.byLength {
		t.byLength[i] += n
	}
	t.steps += o.steps
	if o.mostSteps > t.mostSteps {
		t.mostSteps, t.mostStepsSeed = o.mostSteps, o.mostStepsSeed
	}
}

// print writes the report. The last line of a run is not its business.
func (t *tally) print(w io.Writer) {
	fmt.Fprintf(w, "%d scenarios, %d cases, %d of them with the incubating allocator, %.1f steps a case, at most %d (seed %d)\n",
		t.scenarios, t.cases, t.incubating, float64(t.steps)/float64(max(1, t.cases)), t.mostSteps, t.mostStepsSeed)
	fmt.Fprintf(w, "cases by steps:")
	for i, n := range t.byLength {
		fmt.Fprintf(w, "  %d from %d", n, int64(1)<<(2*i)/2)
	}
	fmt.Fprintln(w)
	for class := range allocatortest.Panicked + 1 {
		fmt.Fprintf(w, "  %-15s %7d  %5.1f %%\n", class, t.classes[class], 100*float64(t.classes[class])/float64(max(1, t.cases)))
	}
	fmt.Fprintf(w, "\n%-28s %8s %12s\n", "feature", "cases", "satisfiable")
	for _, f := range allocatortest.AllFeatures() {
		fmt.Fprintf(w, "%-28s %8d %10.1f %%\n", f, t.features[f].cases, t.features[f].share())
	}
	fmt.Fprintf(w, "\nrarest pairs of features\n")
	for _, pair := range t.rarestPairs()[:20] {
		fmt.Fprintf(w, "  %-55s %6d %10.1f %%\n", pair[0].String()+" + "+pair[1].String(), t.pairs[pair].cases, t.pairs[pair].share())
	}
	fmt.Fprintf(w, "\nnot compared as they are            applied   changed the answer\n")
	for _, reason := range slices.Sorted(maps.Keys(t.reasons)) {
		fmt.Fprintf(w, "  %-52s %7d %9d\n", reason, t.reasons[reason], t.moved[reason])
	}
}

func (t *tally) rarestPairs() [][2]allocatortest.Feature {
	var pairs [][2]allocatortest.Feature
	all := allocatortest.AllFeatures()
	for i, f := range all {
		for _, g := range all[i+1:] {
			pairs = append(pairs, [2]allocatortest.Feature{f, g})
		}
	}
	slices.SortStableFunc(pairs, func(a, b [2]allocatortest.Feature) int { return t.pairs[a].cases - t.pairs[b].cases })
	return pairs
}
