package difftest

import (
	"context"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/dynamic-resource-allocation/structured/schedulerapi"

	"github.com/dray-dev/dray/allocator/allocatortest"
)

// searchLimit ends a search of upstream that a scenario made too long.
const searchLimit = 20 * time.Second

// checker compares a subject with upstream.
type checker struct {
	newSubject func() subject
	// onlyPlain leaves out cases to which a deviation applies: for subjects
	// that have none.
	onlyPlain bool
}

// verdict is the comparison of one case, a scenario on a node.
type verdict struct {
	node       *corev1.Node
	upstream   allocatortest.Outcome
	right      allocatortest.Outcome // what ours should have answered
	steps      int64                 // of upstream
	reasons    []deviation
	moved      []deviation // those that made a difference
	difference string      // empty if there is none
	incubating bool        // the incubating allocator was asked, too
}

// check compares a scenario on every node of it.
func (c *checker) check(ctx context.Context, s *allocatortest.Scenario, with subject) []verdict {
	before, inUse := s.Clone(), s.AllocatedState()
	answer := with.prepare(ctx, s, inUse)
	verdicts := make([]verdict, len(s.Nodes))
	for i, node := range s.Nodes {
		verdicts[i] = c.checkNode(ctx, s, node, answer)
	}
	// The last node is as good as any for what no single node is to blame for.
	last := &verdicts[len(verdicts)-1]
	switch {
	case last.difference != "":
	case !reflect.DeepEqual(before, s):
		last.difference = "the input was modified"
	case !reflect.DeepEqual(inUse, before.AllocatedState()):
		last.difference = "the allocated state was modified"
	}
	return verdicts
}

func (c *checker) checkNode(ctx context.Context, s *allocatortest.Scenario, node *corev1.Node, answer answerer) verdict {
	ctx, cancel := context.WithTimeout(ctx, searchLimit)
	defer cancel()
	v := verdict{node: node}
	v.upstream, v.steps = askUpstream(ctx, experimental, s, node)
	if v.upstream.Class == allocatortest.GaveUp {
		v.reasons = append(v.reasons, searchTooLong)
		return v
	}
	e := expect(s, node)
	v.reasons = append(v.reasons, e.applied...)
	_, onlyHere := failsOnlyHere(v.upstream)
	if c.onlyPlain && (len(e.applied) > 0 || onlyHere) {
		return v
	}
	got, steps := answer(ctx, node)
	c.compare(ctx, &v, s, e, got)
	if v.difference == "" && len(e.applied) == 0 && steps > v.steps {
		v.difference = fmt.Sprintf("took %d steps, upstream %d", steps, v.steps)
	}
	if v.difference == "" {
		c.compareIncubating(ctx, &v, s)
	}
	return v
}

// gatherError begins the errors that end an allocation before it looks at any
// claim.
const gatherError = "gather pool information: "

// compare accepts what upstream answers to any of the alternatives.
func (c *checker) compare(ctx context.Context, v *verdict, s *allocatortest.Scenario, e expectation, got allocatortest.Outcome) {
	if strings.HasPrefix(v.upstream.Text, gatherError) && allocatortest.Diff(v.upstream, got) == "" {
		v.right = v.upstream
		return // It quotes whole devices, also what an alternative has changed.
	}
	for i, a := range e.alternatives {
		want := v.upstream
		if a.scenario != s {
			want, _ = askUpstream(ctx, experimental, a.scenario, v.node)
		}
		if want.Class == allocatortest.GaveUp {
			v.reasons = append(v.reasons, searchTooLong)
			return
		}
		if a.onlyErrors && want.Class != allocatortest.Failed {
			continue
		}
		want, onlyHere := failsOnlyHere(want)
		difference := allocatortest.Diff(want, got)
		if i == 0 {
			v.right = want
			if onlyHere {
				v.reasons = append(v.reasons, allOverUnusablePool)
			}
			v.difference = difference
		}
		if difference != "" && e.anyOrder && c.givenInSomeOrder(ctx, v, a.scenario, got) {
			v.difference, v.right = "", got
			return
		}
		if difference == "" || c.textDependsOnOrder(ctx, v, a.scenario, want, got) {
			v.difference = ""
			v.right = want
			if moved := allocatortest.Diff(v.upstream, want) != ""; moved {
				v.moved = v.reasons
			}
			return
		}
	}
	switch {
	case erredOn(e.faultyAnyway, got):
		v.difference, v.right, v.reasons = "", got, append(v.reasons, liveShareByDeviceID)
	case e.between != nil && c.isBetween(ctx, v, e, got):
		v.difference, v.right, v.reasons = "", got, append(v.reasons, adminAccessByBounds)
	}
}

// erredOn says whether an error is about the selectors or the capacity of one
// of the devices.
func erredOn(devices []schedulerapi.DeviceID, got allocatortest.Outcome) bool {
	return got.Class == allocatortest.Failed && slices.ContainsFunc(devices, func(id schedulerapi.DeviceID) bool {
		return strings.Contains(got.Text, " on device "+id.String()+": CEL runtime error: ") ||
			strings.Contains(got.Text, ": checking capacity for device "+id.String()+": ")
	})
}

// isBetween checks what can be checked where counters are wanted with and
// without admin access. An error on either side may hide or cause any.
func (c *checker) isBetween(ctx context.Context, v *verdict, e expectation, got allocatortest.Outcome) bool {
	strict, _ := askUpstream(ctx, experimental, e.between[0], v.node)
	relaxed, _ := askUpstream(ctx, experimental, e.between[1], v.node)
	isError := func(o allocatortest.Outcome) bool {
		return o.Class != allocatortest.Fits && o.Class != allocatortest.DoesNotFit && o.Class != allocatortest.FailedOnNode
	}
	switch {
	case got.Class == allocatortest.Panicked:
		return false
	case isError(strict) || isError(relaxed):
		return true
	case strict.Class == allocatortest.Fits && got.Class != allocatortest.Fits:
		return false
	case relaxed.Class != allocatortest.Fits && got.Class == allocatortest.Fits:
		return false
	}
	return true
}

// compareIncubating holds the incubating allocator against the experimental
// one, which ours has just been found equal to.
func (c *checker) compareIncubating(ctx context.Context, v *verdict, s *allocatortest.Scenario) {
	if !incubatingSupports(s.Features) {
		return
	}
	if incubatingDiffers(s, v.node) {
		v.reasons = append(v.reasons, incubatingIgnoresSkippedOperations)
		return
	}
	v.incubating = true
	got, _ := askUpstream(ctx, incubating, s, v.node)
	if difference := allocatortest.Diff(v.upstream, got); difference != "" && !c.textDependsOnOrder(ctx, v, s, v.upstream, got) {
		v.difference = "the incubating allocator differs from the experimental one: " + difference
	}
}

// textDependsOnOrder: where several things are wrong at once, upstream names
// the one that it meets first in a map or in the list of slices. Then any text
// that it gives for some order is right.
func (c *checker) textDependsOnOrder(ctx context.Context, v *verdict, s *allocatortest.Scenario, want, got allocatortest.Outcome) bool {
	if want.Class != got.Class || allocatortest.SameText(want.Text, got.Text) || !c.givenInSomeOrder(ctx, v, s, got) {
		return false
	}
	v.reasons = append(v.reasons, textDependsOnOrder)
	return true
}

// How often upstream is asked for an answer that needs an order of the slices, and
// one that needs an order of a map as well, which only error texts do. Of a small map
// Go draws the slot to start from, so that the second of two neighbours in eight slots
// comes first once in eight; with one slice of six that is once in 48, and 1,000 draws
// miss it with a probability below 1e-9. Two orders of slices that come together once
// in twelve are missed below 1e-7.
const (
	orders        = 200
	ordersOfAText = 1000
)

// givenInSomeOrder says whether upstream gives an answer for some order of the
// slices.
func (c *checker) givenInSomeOrder(ctx context.Context, v *verdict, s *allocatortest.Scenario, got allocatortest.Outcome) bool {
	shuffled, most := *s, uint64(orders)
	if got.Text != "" {
		most = ordersOfAText
	}
	for seed := range most {
		shuffled.Slices = slices.Clone(s.Slices)
		rand.New(rand.NewPCG(seed, 0)).Shuffle(len(shuffled.Slices), func(i, j int) {
			shuffled.Slices[i], shuffled.Slices[j] = shuffled.Slices[j], shuffled.Slices[i]
		})
		other, _ := askUpstream(ctx, experimental, &shuffled, v.node)
		other, _ = failsOnlyHere(other)
		if allocatortest.Diff(other, got) == "" {
			return true
		}
	}
	return false
}
