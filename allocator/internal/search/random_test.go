package search

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// TestRandomProblemsAgreeWithTheTwin compares the search with the brute force on small
// problems without faults. A failure prints the problem as a text case: put it
// into testdata when it is understood.
func TestRandomProblemsAgreeWithTheTwin(t *testing.T) {
	const seed = 20261129
	cases := 6000
	if testing.Short() || raceDetector {
		cases = 1000
	}
	tally := newTally()
	for i := range cases {
		g := generator{Rand: rand.New(rand.NewPCG(seed, uint64(i)))}
		text := g.problem()
		w := parse(text)
		outcome := checkedRun(t, w)
		tried := 0
		if outcome.Fault == nil {
			tried = compareWithTwin(t, w, outcome)
		} else if outcome.Fault.Kind != FaultAllConstraint {
			t.Errorf("a problem without faults ends with\n%s", w.describe(outcome))
		}
		tally.add(text, outcome, tried)
		if t.Failed() {
			t.Fatalf("seed %d, case %d:\n%s", seed, i, text)
		}
	}
	tally.check(t, cases)
}

// Faults that the search does not come to make no difference; the search ends at
// the first that it does come to. Either way the laws hold.
func TestFaultsMatterWhenTheyAreReached(t *testing.T) {
	const seed = 20261130
	reached, passed := 0, 0
	for i := range 2000 {
		g := generator{Rand: rand.New(rand.NewPCG(seed, uint64(i))), faults: true}
		text := g.problem()
		w, clean := parse(text), parse(text)
		outcome := checkedRun(t, w)
		without := checkedRun(t, clean.withoutFaults())
		switch fault := outcome.Fault; {
		case fault == nil || fault.Kind == FaultAllConstraint:
			passed++
			if got, want := w.describe(outcome), clean.describe(without); got != want {
				t.Errorf("with faults that are not reached the search says\n%s, without them\n%s", got, want)
			}
		default:
			reached++
			if outcome.Steps > without.Steps {
				t.Errorf("%d steps to a fault, %d without faults", outcome.Steps, without.Steps)
			}
			if !w.isFault(fault) {
				t.Errorf("there is no such fault:\n%s", w.describe(outcome))
			}
		}
		if t.Failed() {
			t.Fatalf("seed %d, case %d:\n%s", seed, i, text)
		}
	}
	if reached < 400 || passed < 400 {
		t.Errorf("faults were reached in %d problems, and not in %d: too few to prove anything", reached, passed)
	}
}

// Problems that are too large for the brute force: the pruned order against the
// faithful one, as long as that comes to an end.
func TestLargerProblemsArePrunedRight(t *testing.T) {
	const seed, looks = 20261201, 200
	unfinished, long := 0, 0
	cases := 3000
	if raceDetector {
		cases = 500
	}
	for i := range cases {
		g := generator{Rand: rand.New(rand.NewPCG(seed, uint64(i))), more: 3}
		text := g.problem()
		w := parse(text)
		parent, cancel := context.WithCancelCause(context.Background())
		faithful := Faithful(&endingContext{Context: parent, cancel: cancel, looks: looks}, w.problem())
		cancel(nil)
		if faithful.Interrupted != nil {
			unfinished++
			continue
		}
		if faithful.Steps > 100 {
			long++
		}
		if checkPruned(t, w, w.problem(), faithful); t.Failed() {
			t.Fatalf("seed %d, case %d:\n%s", seed, i, text)
		}
	}
	t.Logf("%d problems take more than 100 steps in the faithful order, %d more than %d", long, unfinished, looks*contextInterval)
	if long < cases/15 || unfinished > cases/10 {
		t.Errorf("%d problems are long and %d too long: too few to prove anything", long, unfinished)
	}
}

// withoutFaults makes no device faulty and no value unknown.
func (w *world) withoutFaults() *world {
	for _, claim := range w.claims {
		for _, request := range claim.requests {
			for _, alternative := range request.alternatives {
				alternative.faulty = nil
			}
		}
		for _, constraint := range claim.constraints {
			for _, values := range append(slices.Collect(maps.Values(constraint.instead)), constraint.values) {
				maps.DeleteFunc(values, func(_, value string) bool { return value == "unknown" })
			}
		}
	}
	return w
}

// isFault says whether the world has the fault.
func (w *world) isFault(fault *Fault) bool {
	claim, device := w.claims[fault.Claim], w.nameAt(fault.Position)
	if fault.Kind == FaultCandidate {
		return slices.Contains(claim.requests[fault.Request].alternatives[fault.Alternative].faulty, device)
	}
	constraint := claim.constraints[fault.Constraint]
	return constraint.covers(fault.Request, fault.Alternative) && constraint.value(fault.Request, device) == "unknown"
}

// compareWithTwin demands the twin's answer: the same first solution, or none.
// It returns how many assignments the twin looked at; beyond maxTries it gives up
// and nothing is compared.
func compareWithTwin(t *testing.T, w *world, outcome Outcome) (tried int) {
	t.Helper()
	takings, chosen, ok, tried := bruteForce(w)
	if tried > maxTries {
		return tried
	}
	var want Outcome
	if ok {
		want.Solution = &Solution{Picks: make([][]Pick, len(w.claims)), Chosen: chosen}
		positions := map[string]int{}
		b := builder{world: w, positions: positions}
		b.numberDevices()
		for _, taking := range takings {
			want.Solution.Picks[taking.claim] = append(want.Solution.Picks[taking.claim], Pick{
				Request: taking.request, Alternative: taking.alternative,
				Position: positions[taking.device], Share: w.device(taking.device).left != nil,
			})
		}
	}
	want.Steps = outcome.Steps
	if got, want := w.describe(outcome), w.describe(want); got != want {
		t.Errorf("the search says\n%s, the brute force says\n%s", got, want)
	}
	return tried
}

// tally counts what the problems were like: a test of random problems is worth
// what its problems are.
type tally struct {
	fits, faults, unfinished int
	// late is the number of solutions that are not the first assignment there is.
	late              int
	uses, usesThatFit map[string]int
}

// words are the statements that each have to be in many problems, satisfiable
// ones and others.
var words = []string{
	"placed", "draws", "in-use", "shareable", "shared ", "enforce-groups", "wide-amounts", "limit", "request count", "request all",
	"first-available", "admin", "takes", "match ", "match-sets", "distinct ", "distinct-sets", "instead", "opaque",
}

func newTally() *tally {
	return &tally{uses: map[string]int{}, usesThatFit: map[string]int{}}
}

func (t *tally) add(text string, outcome Outcome, tried int) {
	for _, word := range words {
		if strings.Contains(text, word) {
			t.uses[word]++
			if outcome.Solution != nil {
				t.usesThatFit[word]++
			}
		}
	}
	switch {
	case outcome.Solution != nil:
		t.fits++
		if tried > 1 {
			t.late++
		}
	case outcome.Fault != nil:
		t.faults++
	}
	if tried > maxTries {
		t.unfinished++
	}
}

func (y *tally) check(t *testing.T, cases int) {
	t.Logf("%d problems: %d have a solution, %d of them not at the first try; %d end at an All request under a constraint; %d were too large for the brute force", cases, y.fits, y.late, y.faults, y.unfinished)
	if y.late < cases/10 || y.faults > cases/10 || y.unfinished > cases/50 {
		t.Error("too few problems prove anything")
	}
	for _, word := range words {
		uses, fit := y.uses[word], y.usesThatFit[word]
		t.Logf("%-16s in %5d problems, %2d %% with a solution", word, uses, 100*fit/max(uses, 1))
		if uses < cases/50 || fit < uses/10 || uses-fit < uses/10 {
			t.Errorf("%q is in %d of %d problems, %d of them with a solution: too few to prove anything", word, uses, cases, fit)
		}
	}
}

// generator writes small problems in the language of world.
type generator struct {
	*rand.Rand
	// more is how many more devices, requests and claims there may be than the
	// brute force can deal with.
	more int
	// faults: some devices are faulty, some values unknown.
	faults    bool
	text      strings.Builder
	devices   []string
	shareable []string
}

func (g *generator) problem() string {
	pools := 1 + g.IntN(2)
	for range pools {
		g.pool(1 + g.IntN(5-pools+2*g.more))
	}
	g.maybe(2, "enforce-groups")
	g.maybe(5, "wide-amounts")
	if g.IntN(4) == 0 {
		g.line("limit devices=%d", 1+g.IntN(3))
	}
	for range 1 + g.IntN(5+g.more)/2 {
		g.claim()
	}
	return g.text.String()
}

func (g *generator) line(format string, args ...any) { fmt.Fprintf(&g.text, format+"\n", args...) }

// maybe writes a line in one of n cases.
func (g *generator) maybe(n int, format string, args ...any) {
	if g.IntN(n) == 0 {
		g.line(format, args...)
	}
}

// some is a part of the list, each entry with a chance of percent.
func (g *generator) some(percent int, list []string) []string {
	return slices.DeleteFunc(slices.Clone(list), func(string) bool { return g.IntN(100) >= percent })
}

func join(list []string) string { return strings.Join(list, ",") }

func (g *generator) pool(n int) {
	var devices []string
	for range n {
		devices = append(devices, string(rune('a'+len(g.devices)+len(devices))))
	}
	g.devices = append(g.devices, devices...)
	g.line("pool devices=(%s)", join(devices))
	if used := g.some(15, devices); len(used) > 0 {
		g.line("in-use devices=(%s)", join(used))
	}
	for _, device := range g.some(30, devices) {
		g.shareable = append(g.shareable, device)
		g.line("shareable device=%s left=(memory=%d,links=%d)", device, g.IntN(7), g.IntN(7)-g.IntN(2))
		g.maybe(3, "shared devices=(%s)", device)
	}
	if g.IntN(5) < 2 {
		return
	}
	sets := []string{"s", "t"}[:1+g.IntN(2)]
	for _, set := range sets {
		g.line("set name=%s left=(memory=%d,slices=%d)", set, 2+g.IntN(6)-3*(g.IntN(8)/7), 1+g.IntN(5))
		// Devices that name groups and devices that name none were not placed
		// together: then the order of placing would matter.
		if grouped := g.IntN(3) > 0; g.IntN(3) == 0 {
			for range 1 + g.IntN(2) {
				groups := ""
				if grouped {
					groups = join(g.groups(1))
				}
				g.line("placed set=%s groups=(%s)", set, groups)
			}
		}
	}
	for _, device := range g.some(75, devices) {
		for _, set := range g.some(70, sets) {
			g.line("draws device=%s set=%s amounts=(memory=%d,slices=%d) groups=(%s)", device, set, g.IntN(4), g.IntN(3), join(g.groups(g.IntN(3)/2+g.IntN(2))))
		}
	}
}

// groups has at least the given number of groups.
func (g *generator) groups(atLeast int) []string {
	groups := []string{"x", "y", "z"}
	g.Shuffle(len(groups), func(i, j int) { groups[i], groups[j] = groups[j], groups[i] })
	if atLeast == 0 {
		return nil
	}
	return groups[:min(3, atLeast+g.IntN(2))]
}

func (g *generator) claim() {
	g.line("claim")
	requests := 1 + g.IntN(2+g.more)
	names := []string{}
	for i := range requests {
		names = append(names, fmt.Sprint(i))
		if g.IntN(3) > 0 {
			g.alternative("request")
			continue
		}
		g.line("request first-available")
		for j := range 1 + g.IntN(3) {
			names = append(names, fmt.Sprintf("%d.%d", i, j))
			g.alternative("or")
		}
	}
	for range g.IntN(5) / 2 {
		g.constraint(names)
	}
}

func (g *generator) alternative(word string) {
	admin := ""
	if g.IntN(6) == 0 {
		admin = " admin"
	}
	if g.IntN(6) == 0 {
		members := g.some(35, g.devices)
		if len(members) == 0 && g.IntN(8) > 0 {
			members = g.devices[g.IntN(len(g.devices)):][:1]
		}
		from := g.some(95, members)
		g.line("%s all=(%s) from=(%s) full=(%s)%s", word, join(members), join(from), join(g.some(5, from)), admin)
	} else {
		count := 1 + g.IntN(2)
		switch g.IntN(20) {
		case 0:
			count = 0
		case 1:
			count = 3 + g.IntN(1+g.more)
		}
		from := g.some(80, g.devices)
		g.line("%s count=%d from=(%s) faulty=(%s)%s", word, count, join(from), join(g.faulty(from)), admin)
	}
	for _, device := range g.some(80, g.shareable) {
		g.line("takes devices=(%s) amounts=(memory=%d,links=%d)", device, g.IntN(4), g.IntN(3))
	}
}

// faulty are some of the devices that are no candidates.
func (g *generator) faulty(candidates []string) []string {
	if !g.faults {
		return nil
	}
	return g.some(50, slices.DeleteFunc(slices.Clone(g.devices), func(device string) bool { return slices.Contains(candidates, device) }))
}

func (g *generator) constraint(names []string) {
	kind := []string{"match", "match-sets", "distinct", "distinct-sets"}[g.IntN(4)]
	requests := ""
	if g.IntN(2) == 0 {
		requests = fmt.Sprintf(" requests=(%s)", join(g.some(60, names)))
	}
	g.line("%s values=(%s)%s", kind, g.values(kind), requests)
	g.maybe(4, "instead requests=(0) values=(%s)", g.values(kind))
}

func (g *generator) values(kind string) string {
	var values []string
	for _, device := range g.some(95, g.devices) {
		value := fmt.Sprint(1 + g.IntN(6)*g.IntN(6)/12)
		switch {
		case g.IntN(12) == 0:
			value = "opaque"
		case g.faults && g.IntN(6) == 0:
			value = "unknown"
		case strings.HasSuffix(kind, "sets") && g.IntN(2) == 0:
			value = strings.Join([]string{"1|2", "2|3", "1|3", "1|2|3"}[g.IntN(4):][:1], "|")
		}
		values = append(values, device+"="+value)
	}
	return join(values)
}
