package explain

import (
	"github.com/dray-dev/dray/allocator/internal/bitset"
	"github.com/dray-dev/dray/allocator/internal/index"
	"github.com/dray-dev/dray/allocator/internal/search"
)

// This file holds the stages that the search itself checks, for one device and
// with nothing taken. The rules are those of the search's state; a test compares
// the two.

// paid says whether other claims' shares of the device have paid for its
// counters already.
func paid(p *search.Problem, position int) bool {
	return p.MultiAllocatable.Has(position) && p.Shared.Has(position)
}

// poolOf returns the pool that owns a position, and the device's number among
// the pool's members; ok is false where the device draws from no counter set.
func poolOf(p *search.Problem, position int) (pool *search.Pool, number, member int, ok bool) {
	number = p.WordPool[position/bitset.WordBits]
	pool = &p.Pools[number]
	if pool.Counters == nil {
		return pool, number, 0, false
	}
	member = pool.MemberOf[position-pool.First]
	return pool, number, member, len(pool.Counters.GroupsOf(member)) > 0
}

// shortCounters returns the counters that keep a device away: those that it would
// overdraw, and those that are overdrawn as things are, for these close the whole
// pool. admin draws nothing.
func shortCounters(p *search.Problem, position int) []int {
	pool, _, member, ok := poolOf(p, position)
	if !ok || paid(p, position) {
		return nil
	}
	left := pool.Left.Clone()
	first, end := pool.Counters.UsesOf(member)
	for i := first; i < end; i++ {
		left.Sub(pool.Counters.Uses[i].Counter, pool.Counters.Drawn, i)
	}
	var short []int
	for counter := range left.Len() {
		if left.Negative(counter) {
			short = append(short, counter)
		}
	}
	return short
}

// afterCounters returns the devices of a set whose counters suffice.
func (e *explainer) afterCounters(a *alternative, set bitset.Set) bitset.Set {
	p, left := &e.examination.Problem, set.Clone()
	for position := range set.All {
		pool, device := e.Target.Node.Locate(position)
		switch {
		case !e.Claims.Features.PartitionableDevices:
			if e.Target.Node.Pools[pool].ConsumesCounters.Has(device) {
				left.Remove(position)
			}
		case !a.compiled.Admin && len(shortCounters(p, position)) > 0:
			left.Remove(position)
		}
	}
	return left
}

// conflict returns the counter set on which the device has no compatibility
// group in common with the devices that are there.
func conflict(p *search.Problem, position int) (set int, found bool) {
	pool, _, member, ok := poolOf(p, position)
	if !p.GroupsEnforced || !ok || paid(p, position) {
		return 0, false
	}
	states := make(map[int]index.GroupState)
	for _, use := range pool.Counters.GroupsOf(member) {
		state, seen := states[use.Set]
		if !seen {
			state = pool.Groups[use.Set]
		}
		if !state.Admits(use.Groups) {
			return use.Set, true
		}
		states[use.Set] = state.With(use.Groups)
	}
	return 0, false
}

// afterGroups returns the devices of a set that go with what is on their counter sets.
func (e *explainer) afterGroups(set bitset.Set) bitset.Set {
	p, left := &e.examination.Problem, set.Clone()
	for position := range set.All {
		if _, found := conflict(p, position); found {
			left.Remove(position)
		}
	}
	return left
}

// constraintCount is what one constraint makes of an alternative's devices.
type constraintCount struct {
	// index is the place of the constraint in the claim.
	index int
	// most is an upper bound for the devices that can be taken together.
	most int
	// lacking have no value that can be compared. Most of them are refused, even
	// as the only device.
	lacking, refused bitset.Set
	// largest is the size of the largest group with a value in common; with a
	// distinct constraint the number of values.
	largest int
}

func (e *explainer) countConstraints(a *alternative) {
	set := a.left[len(a.left)-1]
	for _, test := range a.problem.Tests {
		constraint := &e.problem.Claims[a.of.claimNumber].Constraints[test.Constraint]
		a.constraints = append(a.constraints, count(constraint, test, set))
	}
}

// count works out what a constraint allows of a set of devices. A value that
// cannot be computed counts as any value: it is for the search to fault on it.
func count(c *search.Constraint, test search.Test, set bitset.Set) constraintCount {
	result := constraintCount{index: test.Constraint, lacking: make(bitset.Set, len(set)), refused: make(bitset.Set, len(set))}
	groups := make(map[int]bitset.Set)
	join := func(key, position int) {
		if groups[key] == nil {
			groups[key] = make(bitset.Set, len(set))
		}
		groups[key].Add(position)
	}
	opaque, unknown, valued := false, 0, 0
	for position := range set.All {
		value := test.Values[position]
		switch {
		case value == search.Unknown:
			unknown++
		case value == search.Opaque && !c.Lists:
			// As upstream has it: let in as the first, and then no other.
			opaque = true
			result.lacking.Add(position)
		case value == search.Absent || value == search.Opaque:
			result.lacking.Add(position)
			result.refused.Add(position)
		case c.Lists:
			valued++
			for element := range c.Sets[value-search.FirstValue].All {
				join(element, position)
			}
		default:
			valued++
			join(int(value), position)
		}
	}
	for _, group := range groups {
		result.largest = max(result.largest, group.Count())
	}
	if c.Distinct {
		result.largest = min(valued, len(groups))
	}
	result.most = result.largest + unknown
	if opaque && (c.Distinct || result.most == 0) {
		result.most++
	}
	return result
}
