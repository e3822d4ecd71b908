package search

import (
	"slices"

	"github.com/dray-dev/dray/allocator/internal/bitset"
	"github.com/dray-dev/dray/allocator/internal/index"
)

// Problem is a pod's claims on one node. It is read-only during Run and holds
// for one state of the cluster.
//
// Invariants:
//
//  1. All sets and all slices indexed by position belong to one index.Domain:
//     sets have Width/64 words, WordPool has one entry a word.
//  2. Candidates and Faulty of an alternative are disjoint.
//  3. A position that is in no alternative's Candidates or Faulty is never taken.
type Problem struct {
	Width    int
	WordPool []int
	Pools    []Pool

	// InUse: some claim outside this problem has the device for itself. Only
	// admin access goes around it.
	InUse bitset.Set
	// Shared: claims outside this problem hold shares of the device, so its
	// counters are paid for.
	Shared bitset.Set
	// MultiAllocatable: the device can be shared. Empty while the feature is off.
	MultiAllocatable bitset.Set
	// ShareOf is the index in Shares of a position that can be shared, -1 for others.
	ShareOf []int32
	// Shares holds what is left of each device that can be shared.
	Shares []index.Amounts

	// GroupsEnforced: devices on one counter set must have a group in common.
	GroupsEnforced bool
	// MaxResults is the most devices one claim's allocation can hold (32 in the API).
	MaxResults int
	// MaxSteps, if not zero, ends Run with ErrSteps when it would enter one node
	// of the tree more. Allocation never sets it; explanations try many problems.
	MaxSteps int64

	Claims []Claim
}

// Pool is the part of the state that a pool's devices draw from.
type Pool struct {
	// First is the position of the pool's device 0.
	First int
	// Counters is nil where no device can draw from any.
	Counters *index.Counters
	// MemberOf is the number in Counters of each device of the pool.
	MemberOf []int
	// Left has an entry a counter: what allocations outside this problem leave.
	Left index.Amounts
	// Groups has an entry a counter set; only read while groups are enforced.
	Groups []index.GroupState
}

// Claim is one claim to allocate.
type Claim struct {
	Requests    []Request
	Constraints []Constraint
}

// Request is one request of a claim.
type Request struct {
	// Prioritized: exactly one of several alternatives is wanted, the earliest
	// that works (firstAvailable). Otherwise there is one alternative, the
	// request itself.
	Prioritized  bool
	Alternatives []Alternative
}

// Alternative is a request, or one of its subrequests.
type Alternative struct {
	// Count is the number of devices wanted; with All, len(Members).
	Count int
	// All: every device of Members is wanted, in that order.
	All     bool
	Members []int
	// Admin: devices in use are fine, and no counter is charged.
	Admin bool

	// Candidates pass every check that does not depend on what the search has
	// taken: selectors, taints, features, capacity of the empty device.
	Candidates bitset.Set
	// Faulty positions end the search when it comes to try them: their
	// selectors or their capacity cannot be computed. Empty with All, where
	// such a fault is found before the search.
	Faulty bitset.Set

	// Full are candidates of a request for all that have too little capacity
	// left. Like shares, capacity is looked at last there: a constraint that
	// refuses the device ends the search before. nil where there are none.
	Full bitset.Set

	// Demands is what one share takes, by index in Problem.Shares; nil where no
	// candidate can be shared. An entry's vector may be empty.
	Demands []index.Amounts

	// Tests are the constraints that cover this alternative, in the claim's order.
	Tests []Test
}

// Test ties an alternative to a constraint of its claim.
type Test struct {
	// Constraint is the index in Claim.Constraints.
	Constraint int
	// Values is the device's attribute value by position: Absent, Opaque,
	// Unknown, or a number from FirstValue on, equal for equal values.
	Values []int32
}

// The values that are no number of an attribute value.
const (
	// Absent: the device does not have the attribute.
	Absent int32 = iota
	// Opaque: the attribute has no value that can be compared.
	Opaque
	// Unknown: the value cannot be computed; trying the device ends the search.
	Unknown
	// FirstValue is the smallest number of a value.
	FirstValue
)

// Constraint relates the devices of a claim by one attribute.
type Constraint struct {
	// Distinct: no two devices may have the value in common. Otherwise all must
	// have one in common.
	Distinct bool
	// Lists: values are sets. Value v stands for Sets[v-FirstValue], a set over
	// the constraint's elements; all sets have the same length and none is empty
	// (a device with an empty list has the value Opaque).
	Lists bool
	Sets  []bitset.Set
}

// Pick is one device taken for a request.
type Pick struct {
	Request, Alternative int
	Position             int
	// Share: the device is shared, the pick gets a share of it.
	Share bool
}

// Solution is what was found for each claim, in the claims' order. It may be in
// the memory of a Scratch: Clone it to keep it.
type Solution struct {
	// Picks in the order of requests, then positions.
	Picks [][]Pick
	// Chosen is the alternative taken for each request.
	Chosen [][]int
}

// Clone returns a copy that shares nothing with the search that found it.
func (s *Solution) Clone() *Solution {
	if s == nil {
		return nil
	}
	clone := &Solution{Picks: make([][]Pick, len(s.Picks)), Chosen: make([][]int, len(s.Chosen))}
	for i := range s.Picks {
		clone.Picks[i] = append([]Pick(nil), s.Picks[i]...)
		clone.Chosen[i] = append([]int(nil), s.Chosen[i]...)
	}
	return clone
}

// Equal says whether two solutions, neither of them nil, take the same.
func (s *Solution) Equal(other *Solution) bool {
	return slices.EqualFunc(s.Picks, other.Picks, slices.Equal[[]Pick]) &&
		slices.EqualFunc(s.Chosen, other.Chosen, slices.Equal[[]int])
}

// FaultKind says what made a search end without an answer.
type FaultKind uint8

const (
	// FaultCandidate: a position of Faulty had to be tried.
	FaultCandidate FaultKind = iota + 1
	// FaultAttribute: a constraint asked for a value that is Unknown.
	FaultAttribute
	// FaultAllConstraint: a constraint keeps a device from a request for all.
	FaultAllConstraint
)

// Fault is where a search ended without an answer.
type Fault struct {
	Kind                        FaultKind
	Claim, Request, Alternative int
	Position                    int
	// Constraint is the index in the claim, for the two kinds that have one.
	Constraint int
}

// Outcome is what Run returns. At most one of Solution, Fault and Interrupted
// is set; none of them means that the claims do not fit.
type Outcome struct {
	Solution *Solution
	Fault    *Fault
	// Interrupted is the context's cause, or ErrSteps.
	Interrupted error
	// Steps counts the nodes of the search tree that were entered.
	Steps int64
	// Unpruned: Run kept to the faithful order, because a fault was in reach or
	// taking a device could make room for others.
	Unpruned bool
}
