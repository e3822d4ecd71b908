package index

import (
	"sort"

	"github.com/dray-dev/dray/allocator/internal/bitset"
)

// Status says whether devices may be taken from a pool.
type Status uint8

const (
	// Usable: all slices of the newest generation are there and agree.
	Usable Status = iota
	// Incomplete: slices are missing, the driver is publishing.
	Incomplete
	// Invalid: the slices contradict each other.
	Invalid
)

func (s Status) String() string {
	switch s {
	case Usable:
		return "usable"
	case Incomplete:
		return "incomplete"
	default:
		return "invalid"
	}
}

// Pool is one resource pool as a node sees it.
//
// Invariants:
//
//  1. Every bitset has room for exactly Devices members.
//  2. Where Status is not Usable, Devices is 0.
//  3. A device of ConsumesCounters has entries in Counters, or Counters is nil
//     because the feature is off: then the device cannot be used.
type Pool struct {
	Driver, Name string
	Status       Status
	// Reason says why the pool is not usable, for people; empty when it is.
	Reason string
	// Devices is the number of devices that the node reaches.
	Devices int

	// MultiAllocatable: several claims may share the device.
	MultiAllocatable bitset.Set
	// ConsumesCounters: the device draws from counter sets of the pool.
	ConsumesCounters bitset.Set
	// Binding: the device has binding conditions.
	Binding bitset.Set
	// SkipsNodeOperations: the device's slice names operations to skip, which the node must support.
	SkipsNodeOperations bitset.Set
	// Tainted: the device has a taint that keeps claims without a toleration away.
	Tainted bitset.Set
	// PerDevice: the device itself, not its slice, says which nodes reach it.
	PerDevice bitset.Set
	// Metered: what a claim takes of the device's capacity has to be worked out
	// even if it asks for none, because a request policy is there.
	Metered bitset.Set

	// Counters is what the devices draw from; nil where none draws, or while the
	// feature is off.
	Counters *Counters
	// MemberOf is the number in Counters of each device; nil without Counters.
	MemberOf []int
}

// CounterSet is a range of counters.
type CounterSet struct {
	Name       string
	First, Len int
}

// Use is what one device draws from one counter; the amount is the entry of
// Counters.Drawn at the same place.
type Use struct{ Counter int }

// GroupUse is a device's place on one counter set.
type GroupUse struct {
	Set    int
	Groups []uint32
}

// Counters are the counters of a pool and what its devices draw from them.
// Members are the devices of the pool on whatever node: an allocation on one
// node leaves less for the others.
//
// Invariants:
//
//  1. Available has an entry a counter, Drawn an entry a Use, both in one unit.
//  2. Member m owns Uses[Starts[m]:Starts[m+1]] and GroupUses[GroupStarts[m]:GroupStarts[m+1]].
//  3. The sets' ranges are disjoint and cover all counters.
//  4. A member has at most one Use of a counter, and one GroupUse of a set.
type Counters struct {
	Sets      []CounterSet
	Names     []string
	Available Amounts

	// Refunds: some member draws a negative amount, so that taking it leaves
	// more for others. No driver should publish that; nothing forbids it.
	Refunds bool

	Members     int
	Starts      []int
	Uses        []Use
	Drawn       Amounts
	GroupStarts []int
	GroupUses   []GroupUse
}

// SetOf returns the set that a counter belongs to, by its number in Sets.
func (c *Counters) SetOf(counter int) int {
	return sort.Search(len(c.Sets), func(i int) bool { return counter < c.Sets[i].First+c.Sets[i].Len })
}

// UsesOf returns the bounds of a member's entries in Uses and Drawn.
func (c *Counters) UsesOf(member int) (first, end int) {
	return c.Starts[member], c.Starts[member+1]
}

// GroupsOf returns a member's places on counter sets, in the order of the API object.
func (c *Counters) GroupsOf(member int) []GroupUse {
	return c.GroupUses[c.GroupStarts[member]:c.GroupStarts[member+1]]
}

// Left returns what the counters hold after the allocated members have taken
// their part. An entry can be negative: the driver may have changed the slices
// under a live allocation.
func (c *Counters) Left(allocated bitset.Set) Amounts {
	left := c.Available.Clone()
	for member := range allocated.All {
		first, end := c.UsesOf(member)
		for i := first; i < end; i++ {
			left.Sub(c.Uses[i].Counter, c.Drawn, i)
		}
	}
	return left
}

// Place puts an allocated member onto its counter sets; states has one entry a set.
func (c *Counters) Place(states []GroupState, member int) {
	for _, use := range c.GroupsOf(member) {
		states[use.Set] = states[use.Set].With(use.Groups)
	}
}
