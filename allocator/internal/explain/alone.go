package explain

import (
	"cmp"
	"slices"

	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/dray-dev/dray/allocator/internal/bitset"
	"github.com/dray-dev/dray/allocator/internal/request"
)

// examineAlone finds the first stage after which too little is left, and what
// binds there. The error is the context's.
func (e *explainer) examineAlone(a *alternative) error {
	for stage := range a.stages() {
		if !a.lacks(stage) {
			continue
		}
		a.shortAt = stage
		if !a.compiled.All && a.count(stage)+e.faultsUpTo(a, stage) >= a.wanted {
			// Were these devices judged, they might do. Allocation ends with an
			// error if it comes to one of them.
			a.doubtful = true
			a.binding = &Binding{Cause: Faulted, Stage: stageOrder[stage], Wanted: a.wanted, Left: a.count(stage)}
			return nil
		}
		binding, err := e.bindingAt(a, stage)
		binding.Stage, binding.Wanted, binding.Left = stageOrder[stage], max(a.wanted, 1), a.count(stage)
		a.binding = &binding
		return err
	}
	if e.problem != nil && a.wanted > e.problem.MaxResults {
		a.shortAt = len(stageOrder)
		a.binding = &Binding{Cause: TooManyResults, Wanted: a.wanted, Left: a.together(), Limit: e.problem.MaxResults}
	}
	return nil
}

// faultsUpTo counts the devices that nobody can judge and that allocation may
// come to: it passes over devices in use without a look.
func (e *explainer) faultsUpTo(a *alternative, stage int) int {
	faults := 0
	for i := 0; i <= stage && i < len(a.progress.Faulty); i++ {
		faulty := a.progress.Faulty[i]
		if !a.compiled.Admin {
			faulty = faulty.Clone()
			faulty.AndNot(e.examination.Problem.InUse)
		}
		faults += faulty.Count()
	}
	return faults
}

func (e *explainer) bindingAt(a *alternative, stage int) (Binding, error) {
	gone := a.goneAt(stage)
	switch name := stageOrder[stage]; name {
	case StagePools, StageSupported, StageClass, StageSelectors:
		bad, matching, err := e.badPool(a, name)
		if bad != nil || err != nil {
			return Binding{Cause: BadPool, Pool: bad, Devices: matching}, err
		}
		return e.mismatch(a, name), nil
	}
	if a.compiled.All && a.wanted > 0 && stageOrder[stage] != StageConstraint {
		missing := a.progress.Members.Clone()
		missing.AndNot(a.left[stage])
		position, _ := missing.Next(0)
		return Binding{Cause: MemberMissing, Member: e.miss(a, stage, position), Devices: missing.Count()}, nil
	}
	switch stageOrder[stage] {
	case StageNode:
		return Binding{Cause: WrongNode, Devices: gone.Count()}, nil
	case StageUntainted:
		b := Binding{Cause: Tainted, Devices: gone.Count()}
		b.Taints, b.MoreTaints = e.taints(a, gone)
		return b, nil
	case StageFree:
		return Binding{Cause: InUse, Devices: gone.Count()}, nil
	case StageCapacity:
		return Binding{Cause: CapacityShort, Capacity: e.capacity(a, gone), Devices: gone.Count()}, nil
	case StageCounters:
		if !e.Claims.Features.PartitionableDevices {
			return Binding{Cause: Unsupported, Feature: "DRAPartitionableDevices", Devices: gone.Count()}, nil
		}
		b := Binding{Cause: CountersShort, Devices: gone.Count()}
		b.Counters, b.MoreCounters = e.counters(gone)
		return b, nil
	case StageCompatible:
		return Binding{Cause: Incompatible, Groups: e.groups(gone), Devices: gone.Count()}, nil
	}
	tightest := slices.MinFunc(a.constraints, func(x, y constraintCount) int { return cmp.Compare(x.most, y.most) })
	return Binding{Cause: Constrained, Constraint: e.constraint(a.of, tightest)}, nil
}

// goneAt returns the devices that left at a stage.
func (a *alternative) goneAt(stage int) bitset.Set {
	if stage == 0 {
		return make(bitset.Set, len(a.left[0]))
	}
	gone := a.left[stage-1].Clone()
	gone.AndNot(a.passed(stage))
	return gone
}

// passed returns the devices that no check of a stage turned away one by one.
func (a *alternative) passed(stage int) bitset.Set {
	if stage < len(a.left) {
		return a.left[stage]
	}
	left := a.left[stage-1].Clone()
	for _, c := range a.constraints {
		left.AndNot(c.refused)
	}
	return left
}

// badPool returns the pool whose devices would pass the selectors, were it in
// order. An obsolete generation is one where the newest is not for the node.
// Where nothing at all is in the pools, any such pool will do.
func (e *explainer) badPool(a *alternative, stage Stage) (pool *PoolTrouble, matching int, err error) {
	for i, w := range e.withheld {
		if w.Obsolete() && e.Target.Node.Reaches(w.Driver, w.Pool) {
			continue // What it had has been replaced.
		}
		matching, err := e.examination.Matching(a.compiled, w)
		if err != nil {
			return nil, 0, err
		}
		if matching > 0 {
			return &e.out.Pools[i], matching, nil
		}
	}
	if stage == StagePools && len(e.withheld) > 0 {
		return &e.out.Pools[0], 0, nil
	}
	return nil, 0, nil
}

// mismatch is the binding of the stages that no other claim has a say in.
func (e *explainer) mismatch(a *alternative, stage Stage) Binding {
	switch stage {
	case StagePools:
		return Binding{Cause: NoPools}
	case StageSupported:
		return Binding{Cause: Unsupported, Feature: "DRADeviceBindingConditions"}
	}
	for i, s := range a.compiled.Selectors {
		left := a.progress.AfterSelector[i]
		if left.Count() >= max(a.wanted, 1) {
			continue
		}
		b := Binding{Cause: SelectorMismatch, Selector: &SelectorRef{OfClass: s.OfClass, Index: s.Index, Expression: s.Expression}}
		if s.OfClass {
			b.Cause, b.Class = ClassMismatch, a.compiled.Class.Name
		}
		return b
	}
	return Binding{Cause: SelectorMismatch}
}

func (e *explainer) taints(a *alternative, gone bitset.Set) (listed []TaintCount, more int) {
	var list []TaintCount
	for position := range gone.All {
		taint := taintText(e.examination.Untolerated(a.compiled, position))
		i := slices.IndexFunc(list, func(t TaintCount) bool { return t.Taint == taint })
		if i < 0 {
			i, list = len(list), append(list, TaintCount{Taint: taint})
		}
		list[i].Devices++
	}
	slices.SortStableFunc(list, func(x, y TaintCount) int {
		return cmp.Or(cmp.Compare(y.Devices, x.Devices), cmp.Compare(x.Taint, y.Taint))
	})
	return atMost(maxListed, list)
}

// atMost returns the first of a list, and how many are left out.
func atMost[T any](n int, list []T) (listed []T, more int) {
	listed = list[:min(len(list), n)]
	return listed, len(list) - len(listed)
}

func taintText(taint *resourceapi.DeviceTaint) string {
	if taint == nil {
		return ""
	}
	text := taint.Key
	if taint.Value != "" {
		text += "=" + taint.Value
	}
	return text + ":" + string(taint.Effect)
}

// capacity returns the capacity that keeps most devices away.
func (e *explainer) capacity(a *alternative, gone bitset.Set) *CapacityShortage {
	type tally struct {
		request.CapacityShortfall
		devices int
	}
	var list []tally
	for position := range gone.All {
		s, ok := e.examination.CapacityShortfall(a.compiled, position)
		if !ok {
			continue
		}
		i := slices.IndexFunc(list, func(t tally) bool {
			return t.Name == s.Name && t.Missing == s.Missing && t.Refused == s.Refused && t.Unasked == s.Unasked
		})
		if i < 0 {
			i, list = len(list), append(list, tally{CapacityShortfall: s})
		}
		list[i].devices++
		if s.Asked.Cmp(list[i].Asked) < 0 {
			list[i].Asked = s.Asked
		}
		if s.Left.Cmp(list[i].Left) > 0 {
			list[i].Left = s.Left
		}
	}
	if len(list) == 0 {
		return nil
	}
	slices.SortStableFunc(list, func(x, y tally) int {
		return cmp.Or(cmp.Compare(y.devices, x.devices), cmp.Compare(x.Name, y.Name))
	})
	t := list[0]
	s := &CapacityShortage{Name: t.Name, Asked: t.Asked.String(), Unasked: t.Unasked, Missing: t.Missing, Refused: t.Refused}
	if !t.Missing && !t.Refused {
		s.LargestLeft = t.Left.String()
	}
	return s
}

// counterKey is a counter of a pool, by numbers.
type counterKey struct{ pool, counter int }

// counters returns the counters that keep the devices away, those that keep most
// away first.
func (e *explainer) counters(gone bitset.Set) (shortages []CounterShortage, more int) {
	type tally struct {
		counterKey
		needed  resource.Quantity
		devices int
	}
	var list []tally
	p := &e.examination.Problem
	for position := range gone.All {
		pool, device := e.Target.Node.Locate(position)
		for _, counter := range shortCounters(p, position) {
			key := counterKey{pool, counter}
			needed := e.Target.Node.Pools[pool].Draws(device, counter)
			i := slices.IndexFunc(list, func(t tally) bool { return t.counterKey == key })
			if i < 0 {
				i, list = len(list), append(list, tally{counterKey: key, needed: needed})
			}
			list[i].devices++
			if needed.Cmp(list[i].needed) < 0 {
				list[i].needed = needed
			}
		}
	}
	slices.SortStableFunc(list, func(x, y tally) int {
		return cmp.Or(cmp.Compare(y.devices, x.devices), cmp.Compare(x.pool, y.pool), cmp.Compare(x.counter, y.counter))
	})
	list, more = atMost(maxListed, list)
	for _, t := range list {
		s := e.counter(t.counterKey)
		s.Needed, s.Devices = t.needed.String(), t.devices
		shortages = append(shortages, s)
	}
	return shortages, more
}

// counter names a counter and says what is left of it.
func (e *explainer) counter(key counterKey) CounterShortage {
	pool := e.Target.Node.Pools[key.pool]
	left := e.Target.Usage.CounterLeft(pool, key.counter)
	return CounterShortage{
		Pool:       pool.String(),
		CounterSet: pool.Counters.Sets[pool.Counters.SetOf(key.counter)].Name,
		Counter:    pool.Counters.Names[key.counter],
		Left:       left.String(),
	}
}

// groups returns the counter set of the first device that is kept away.
func (e *explainer) groups(gone bitset.Set) *GroupConflict {
	for position := range gone.All {
		number, device := e.Target.Node.Locate(position)
		pool := e.Target.Node.Pools[number]
		set, found := conflict(&e.examination.Problem, position)
		if !found {
			continue
		}
		c := &GroupConflict{Pool: pool.String(), CounterSet: pool.Counters.Sets[set].Name}
		c.Groups, c.MoreGroups = groupsOn(pool.At(device), c.CounterSet)
		return c
	}
	return nil
}

// groupsOn returns the groups that a device names on a counter set, and the number
// of those that are left out.
func groupsOn(device *resourceapi.Device, set string) (listed []string, more int) {
	var groups []string
	for i := range device.ConsumesCounters {
		if device.ConsumesCounters[i].CounterSet == set {
			groups = append(groups, device.ConsumesCounters[i].CompatibilityGroups...)
		}
	}
	slices.Sort(groups)
	return atMost(maxListed, slices.Compact(groups))
}

func (e *explainer) constraint(r *followed, c constraintCount) *ConstraintShortage {
	compiled := &r.claim.Constraints[c.index]
	return &ConstraintShortage{Index: c.index, Attribute: string(compiled.Attribute), Distinct: compiled.Distinct,
		Lacking: c.lacking.Count(), Largest: c.largest}
}
