package explain

import (
	"fmt"
	"strings"

	"github.com/dray-dev/dray/allocator/internal/request"
)

// nearestMiss finds the device that got furthest and was turned away all the
// same: at the latest stage, and there the first in the order of trying. A device
// that would do alone is not one.
func (e *explainer) nearestMiss() {
	a := e.first
	if a == nil || a.progress == nil {
		return
	}
	from := 1
	if e.out.First.Binding.Together {
		// Devices do match; those that do not are of no interest.
		from = int(request.OnNode)
	}
	for stage := a.stages() - 1; stage >= from; stage-- {
		gone := a.goneAt(stage)
		if a.compiled.All && a.wanted > 0 {
			gone.And(a.progress.Members)
		}
		if position, found := gone.Next(0); found {
			e.out.NearestMiss = e.miss(a, stage, position)
			return
		}
	}
}

func (e *explainer) miss(a *alternative, stage, position int) *NearestMiss {
	return &NearestMiss{Device: e.deviceName(position), Stage: stageOrder[stage], Why: e.why(a, stage, position)}
}

// why says in words what turned a device away at a stage.
func (e *explainer) why(a *alternative, stage, position int) string {
	if stage < len(a.progress.Faulty) && a.progress.Faulty[stage].Has(position) {
		return "cannot be judged, because a check fails with an error"
	}
	switch stageOrder[stage] {
	case StageSupported:
		return "needs the feature DRADeviceBindingConditions"
	case StageClass, StageSelectors:
		return e.whyUnselected(a, position)
	case StageNode:
		return "not for this node"
	case StageUntainted:
		return "tainted with " + taintText(e.examination.Untolerated(a.compiled, position))
	case StageFree:
		return "in use"
	case StageCapacity:
		return e.whyFull(a, position)
	case StageCounters:
		return e.whyUncounted(position)
	case StageCompatible:
		return e.whyIncompatible(position)
	case StageConstraint:
		return e.whyConstrained(a, position)
	}
	return ""
}

func (e *explainer) whyUnselected(a *alternative, position int) string {
	for i, s := range a.compiled.Selectors {
		if !a.progress.AfterSelector[i].Has(position) {
			return fmt.Sprintf("does not match %s", selectorName(SelectorRef{OfClass: s.OfClass, Index: s.Index}))
		}
	}
	return ""
}

func selectorName(s SelectorRef) string {
	if s.OfClass {
		return fmt.Sprintf("selector #%d of the class", s.Index)
	}
	return fmt.Sprintf("selector #%d of the request", s.Index)
}

func (e *explainer) whyFull(a *alternative, position int) string {
	s, ok := e.examination.CapacityShortfall(a.compiled, position)
	if !ok {
		return "too little capacity"
	}
	c := CapacityShortage{Name: s.Name, Asked: s.Asked.String(), Unasked: s.Unasked, Missing: s.Missing, Refused: s.Refused, LargestLeft: s.Left.String()}
	return c.text()
}

// text is a phrase about one device or several.
func (c *CapacityShortage) text() string {
	asked := c.Asked + " asked"
	if c.Unasked {
		asked = "not asked for, which defaults to " + c.Asked
	}
	switch {
	case c.Missing:
		return fmt.Sprintf("capacity %s is asked for and not there", c.Name)
	case c.Refused:
		return fmt.Sprintf("capacity %s: %s, which the driver's policy does not allow", c.Name, asked)
	}
	return fmt.Sprintf("capacity %s: %s, %s left", c.Name, asked, c.LargestLeft)
}

func (e *explainer) whyUncounted(position int) string {
	if !e.Claims.Features.PartitionableDevices {
		return "needs the feature DRAPartitionableDevices"
	}
	short := shortCounters(&e.examination.Problem, position)
	number, device := e.Target.Node.Locate(position)
	var parts []string
	listed, more := atMost(maxListed, short)
	for _, counter := range listed {
		c := e.counter(counterKey{number, counter})
		needed := e.Target.Node.Pools[number].Draws(device, counter)
		parts = append(parts, fmt.Sprintf("%s (%s needed, %s left)", c.Counter, needed.String(), c.Left))
	}
	return fmt.Sprintf("counter %s of %s", enumerated(parts, more), e.setOf(number, short[0]))
}

func (e *explainer) setOf(pool, counter int) string {
	return e.counter(counterKey{pool, counter}).CounterSet
}

func (e *explainer) whyIncompatible(position int) string {
	number, device := e.Target.Node.Locate(position)
	pool := e.Target.Node.Pools[number]
	set, _ := conflict(&e.examination.Problem, position)
	name := pool.Counters.Sets[set].Name
	return fmt.Sprintf("its %s incompatible with what is on counter set %s", groupNames(groupsOn(pool.At(device), name)), name)
}

// enumerated joins what is listed, and says how many more there are.
func enumerated(listed []string, more int) string {
	text := strings.Join(listed, ", ")
	if more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}

func groupNames(groups []string, more int) string {
	switch len(groups) {
	case 0:
		return "lack of a compatibility group is"
	case 1:
		return "compatibility group " + groups[0] + " is"
	}
	return "compatibility groups " + enumerated(groups, more) + " are"
}

func (e *explainer) whyConstrained(a *alternative, position int) string {
	for _, c := range a.constraints {
		if c.refused.Has(position) {
			return fmt.Sprintf("no value of %s to compare", a.of.claim.Constraints[c.index].Attribute)
		}
	}
	return ""
}
