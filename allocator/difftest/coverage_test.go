package difftest

import (
	"fmt"
	"math"

	"github.com/dray-dev/dray/allocator/allocatortest"
)

// demands is what a run has to cover, as shares of all cases in percent. The
// figures are about half of what the generator reaches; satisfiable shares
// are of the cases that use a feature.
var demands = struct {
	ordinary, early                   float64 // cases that use a feature
	pair, pairWithEarly, pairOfEarly  float64 // cases that use two
	satisfiable, unsatisfiable        float64
	earlySatisfiable                  float64
	neverSatisfiable, hardToSatisfy   allocatortest.FeatureSet
	satisfiablePair, smallestForShare int // of an ordinary pair; cases below which shares say nothing
}{
	ordinary: 3, early: 1,
	pair: 0.08, pairWithEarly: 0.02, pairOfEarly: 0.008,
	satisfiable: 10, unsatisfiable: 20,
	earlySatisfiable: 4,
	neverSatisfiable: allocatortest.SetOf(allocatortest.UnknownClass, allocatortest.UnknownType, allocatortest.BadNodeSelector, allocatortest.CompileError),
	satisfiablePair:  1,
	smallestForShare: 500,
}

// coveredFrom is the number of cases from which on every pair has to be seen.
const coveredFrom = 10000

// starved says which features and pairs were not covered enough. A short run
// may fall short by chance: three standard deviations are allowed for.
func (t *tally) starved() []string {
	var lacks []string
	enough := func(seen int, percent float64) bool {
		expected := float64(t.cases) * percent / 100
		return float64(seen) >= expected-3*math.Sqrt(expected)
	}
	for _, f := range allocatortest.AllFeatures() {
		seen, least, satisfiable := t.features[f], demands.ordinary, demands.satisfiable
		if early(f) {
			least, satisfiable = demands.early, demands.earlySatisfiable
		}
		if !enough(seen.cases, least) {
			lacks = append(lacks, fmt.Sprintf("starved: %s is used by %d of %d cases, want %.1f %%", f, seen.cases, t.cases, least))
		}
		if seen.cases < demands.smallestForShare {
			continue
		}
		if seen.share() < satisfiable && !demands.neverSatisfiable.Has(f) {
			lacks = append(lacks, fmt.Sprintf("starved: %.1f %% of the cases with %s are satisfiable, want %.0f %%", seen.share(), f, satisfiable))
		}
		if 100-seen.share() < demands.unsatisfiable {
			lacks = append(lacks, fmt.Sprintf("starved: %.1f %% of the cases with %s are not satisfiable, want %.0f %%", 100-seen.share(), f, demands.unsatisfiable))
		}
	}
	for _, pair := range t.rarestPairs() {
		least := demands.pair
		switch {
		case early(pair[0]) && early(pair[1]):
			least = demands.pairOfEarly
		case early(pair[0]) || early(pair[1]):
			least = demands.pairWithEarly
		}
		if seen := t.pairs[pair]; seen.cases == 0 && t.cases >= coveredFrom {
			lacks = append(lacks, fmt.Sprintf("starved: no case has %s with %s", pair[0], pair[1]))
		} else if !enough(seen.cases, least) {
			lacks = append(lacks, fmt.Sprintf("starved: %s with %s is used by %d of %d cases, want %.2f %%", pair[0], pair[1], seen.cases, t.cases, least))
		} else if least == demands.pair && seen.cases >= demands.smallestForShare && seen.satisfied < demands.satisfiablePair {
			lacks = append(lacks, fmt.Sprintf("starved: no case with %s and %s is satisfiable", pair[0], pair[1]))
		}
	}
	return lacks
}

// early is true for features after which little else is looked at.
func early(f allocatortest.Feature) bool {
	return f.EndsEarly() || f == allocatortest.ResultLimit || f == allocatortest.IncompletePool || f == allocatortest.InvalidPool
}
