package search

import (
	"github.com/dray-dev/dray/allocator/internal/bitset"
	"github.com/dray-dev/dray/allocator/internal/index"
)

// state is what the walk has taken so far.
//
// The law of take and giveBack: every take that answers taken is reversed by
// exactly one giveBack, last taken first; a take that answers refused or
// faulted leaves the state as it was.
//
// Invariants, with "taken" meaning the picks of all claims:
//
//  1. inUse = problem.InUse plus all taken devices that are not shared.
//  2. held[c] = the devices of claim c that are not shared.
//  3. holders[p] = number of claims c with p in held[c].
//  4. pools[i].left = problem.Pools[i].Left less what the taken devices draw,
//     each device once however many shares of it are taken; admin access draws
//     nothing.
//  5. pools[i].overdrawn = number of negative entries of pools[i].left. A
//     device that consumes counters can be taken only while it is zero
//     afterwards: one overdrawn counter, even one that the device does not use,
//     closes the pool for devices with counters, as upstream compares all of them.
type state struct {
	problem *Problem

	inUse   bitset.Set
	held    []bitset.Set
	holders []uint16

	pools  []poolState
	shares []index.Amounts
	// shared[i] is the number of shares of the device behind problem.Shares[i]
	// that were taken without admin access: the first of them drew its counters.
	shared []int32
	// shareVersions[i] counts the changes of shares[i].
	shareVersions []uint64

	constraints [][]constraintState

	picks        [][]Pick
	alternatives [][]int
	undo         []taken
	groupUndo    []groupUndo
	// solution is what an Outcome points to.
	solution Solution
}

// poolState is filled when the pool is first drawn from.
type poolState struct {
	left      index.Amounts
	overdrawn int
	groups    []index.GroupState
	opened    bool
	// version counts the changes of the pool's state, versions those of each
	// counter set: what is left, its groups, or whether one of its devices is paid.
	version  int
	versions []uint64
}

// touch counts a change at the sets that a member draws from.
func (p *poolState) touch(counters *index.Counters, member int) {
	p.version++
	for _, use := range counters.GroupsOf(member) {
		p.versions[use.Set]++
	}
}

// taken is what giveBack needs to know of one take.
type taken struct {
	claim       int
	alternative *Alternative
	position    int
	drawn       bool
	shared      bool
	groupUndo   int
	tests       int
}

type groupUndo struct {
	pool, set int
	before    index.GroupState
}

// answer of a take.
type answer uint8

const (
	accepted answer = iota
	refused
	faulted
)

// busy returns the devices that a request must leave alone.
func (s *state) busy(claim int, alternative *Alternative) bitset.Set {
	if alternative.Admin {
		return s.held[claim]
	}
	return s.inUse
}

// take takes a device that is not busy and a candidate, if the counters, groups,
// constraints and shares allow it. The order of the checks decides which fault
// is reached: a request for all looks at capacity last, others first.
func (s *walk) take(at place, alternative *Alternative, position int) answer {
	share := int(s.problem.ShareOf[position])
	if share >= 0 && !alternative.All && !s.shares[share].Covers(alternative.Demands[share]) {
		return refused
	}
	t := taken{claim: at.claim, alternative: alternative, position: position, shared: share >= 0, groupUndo: len(s.groupUndo)}
	if !s.paid(position) {
		if !s.joinGroups(position) {
			return refused
		}
		if !alternative.Admin {
			if !s.draw(position) {
				s.undoGroups(t.groupUndo)
				return refused
			}
			t.drawn = true
		}
	}
	for _, test := range alternative.Tests {
		if a := s.constrain(at, alternative, test, position); a != accepted {
			s.revert(t)
			return a
		}
		t.tests++
	}
	if alternative.Full != nil && alternative.Full.Has(position) {
		s.revert(t)
		return refused
	}
	if share >= 0 {
		if alternative.All && !s.shares[share].Covers(alternative.Demands[share]) {
			s.revert(t)
			return refused
		}
		s.takeShare(position, alternative)
	} else {
		s.hold(at.claim, position)
	}
	s.undo = append(s.undo, t)
	s.picks[at.claim] = append(s.picks[at.claim], Pick{Request: at.request, Alternative: at.alternative, Position: position, Share: share >= 0})
	return accepted
}

// giveBack reverses the last take.
func (s *state) giveBack() {
	t := s.undo[len(s.undo)-1]
	s.undo = s.undo[:len(s.undo)-1]
	s.picks[t.claim] = s.picks[t.claim][:len(s.picks[t.claim])-1]
	if t.shared {
		s.giveShareBack(t.position, t.alternative)
	} else {
		s.release(t.claim, t.position)
	}
	s.revert(t)
}

// revert reverses what take did before it marked the device.
func (s *state) revert(t taken) {
	for i := t.tests - 1; i >= 0; i-- {
		test := t.alternative.Tests[i]
		constraint := &s.problem.Claims[t.claim].Constraints[test.Constraint]
		s.constraints[t.claim][test.Constraint].remove(constraint, test.Values[t.position])
	}
	if t.drawn {
		s.putBack(t.position)
	}
	s.undoGroups(t.groupUndo)
}

func (s *walk) constrain(at place, alternative *Alternative, test Test, position int) answer {
	value := test.Values[position]
	if value == Unknown {
		s.fault = &Fault{Kind: FaultAttribute, Claim: at.claim, Request: at.request, Alternative: at.alternative, Position: position, Constraint: test.Constraint}
		return faulted
	}
	constraint := &s.problem.Claims[at.claim].Constraints[test.Constraint]
	if s.constraints[at.claim][test.Constraint].add(constraint, value) {
		return accepted
	}
	if alternative.All {
		s.fault = &Fault{Kind: FaultAllConstraint, Claim: at.claim, Request: at.request, Alternative: at.alternative, Position: position, Constraint: test.Constraint}
		return faulted
	}
	return refused
}

func (s *state) hold(claim, position int) {
	s.held[claim].Add(position)
	s.holders[position]++
	s.inUse.Add(position)
}

func (s *state) release(claim, position int) {
	s.held[claim].Remove(position)
	s.holders[position]--
	if s.holders[position] == 0 && !s.problem.InUse.Has(position) {
		s.inUse.Remove(position)
	}
}

func (s *state) takeShare(position int, alternative *Alternative) {
	share := s.problem.ShareOf[position]
	s.pay(position)
	s.shareVersions[share]++
	demand := alternative.Demands[share]
	for i := range demand.Len() {
		s.shares[share].Sub(i, demand, i)
	}
	if !alternative.Admin {
		s.shared[share]++
	}
}

// pay counts that the device at a position may be paid for now, or no longer.
func (s *state) pay(position int) {
	if pool, counters, member := s.open(position); pool != nil {
		pool.touch(counters, member)
	}
}

func (s *state) giveShareBack(position int, alternative *Alternative) {
	share := s.problem.ShareOf[position]
	s.pay(position)
	s.shareVersions[share]++
	demand := alternative.Demands[share]
	for i := range demand.Len() {
		s.shares[share].Add(i, demand, i)
	}
	if !alternative.Admin {
		s.shared[share]--
	}
}

// open returns the pool that owns a position and the device's number among the
// pool's members, with the counters ready to be drawn from. The pool is nil
// where nothing can be drawn.
func (s *state) open(position int) (pool *poolState, counters *index.Counters, member int) {
	number := s.problem.WordPool[position/bitset.WordBits]
	problem := &s.problem.Pools[number]
	if problem.Counters == nil {
		return nil, nil, 0
	}
	pool = &s.pools[number]
	if !pool.opened {
		pool.opened = true
		pool.left = pool.left.Become(problem.Left)
		pool.groups = append(pool.groups[:0], problem.Groups...)
		pool.versions = resized(pool.versions, len(problem.Counters.Sets))
		for i := range pool.left.Len() {
			if pool.left.Negative(i) {
				pool.overdrawn++
			}
		}
	}
	return pool, problem.Counters, problem.MemberOf[position-problem.First]
}

// draw takes the device's part from the counters, or nothing at all.
func (s *state) draw(position int) bool {
	pool, counters, member := s.open(position)
	if pool == nil || counters.GroupStarts[member] == counters.GroupStarts[member+1] {
		return true
	}
	pool.touch(counters, member)
	first, end := counters.UsesOf(member)
	for i := first; i < end; i++ {
		counter := counters.Uses[i].Counter
		before := pool.left.Negative(counter)
		pool.left.Sub(counter, counters.Drawn, i)
		pool.note(before, counter)
	}
	if pool.overdrawn > 0 {
		s.putBack(position)
		return false
	}
	return true
}

func (s *state) putBack(position int) {
	pool, counters, member := s.open(position)
	if pool == nil {
		return
	}
	pool.touch(counters, member)
	first, end := counters.UsesOf(member)
	for i := first; i < end; i++ {
		counter := counters.Uses[i].Counter
		before := pool.left.Negative(counter)
		pool.left.Add(counter, counters.Drawn, i)
		pool.note(before, counter)
	}
}

// note keeps overdrawn right after one counter has changed.
func (p *poolState) note(before bool, counter int) {
	switch after := p.left.Negative(counter); {
	case after && !before:
		p.overdrawn++
	case before && !after:
		p.overdrawn--
	}
}

// joinGroups places the device on its counter sets, or changes nothing.
func (s *state) joinGroups(position int) bool {
	if !s.problem.GroupsEnforced {
		return true
	}
	pool, counters, member := s.open(position)
	if pool == nil {
		return true
	}
	mark := len(s.groupUndo)
	for _, use := range counters.GroupsOf(member) {
		before := pool.groups[use.Set]
		if !before.Admits(use.Groups) {
			s.undoGroups(mark)
			return false
		}
		s.groupUndo = append(s.groupUndo, groupUndo{pool: s.problem.WordPool[position/bitset.WordBits], set: use.Set, before: before})
		pool.groups[use.Set] = before.With(use.Groups)
		pool.version++
		pool.versions[use.Set]++
	}
	return true
}

// undoGroups goes back to the state in which groupUndo had mark entries.
func (s *state) undoGroups(mark int) {
	for i := len(s.groupUndo) - 1; i >= mark; i-- {
		u := s.groupUndo[i]
		s.pools[u.pool].groups[u.set] = u.before
		s.pools[u.pool].version++
		s.pools[u.pool].versions[u.set]++
	}
	s.groupUndo = s.groupUndo[:mark]
}
