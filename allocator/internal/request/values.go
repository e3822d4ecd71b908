package request

import (
	"slices"

	"github.com/dray-dev/dray/allocator/internal/bitset"
	"github.com/dray-dev/dray/allocator/internal/inventory"
	"github.com/dray-dev/dray/allocator/internal/search"
)

// bindConstraints numbers the values that the claim's constraints compare, for
// all devices that some covered alternative may take.
func (b *binder) bindConstraints(claim *Claim, bound *search.Claim) error {
	bound.Constraints = resized(bound.Constraints, len(claim.Constraints))
	for i := range claim.Constraints {
		constraint := &claim.Constraints[i]
		bound.Constraints[i].Distinct = constraint.Distinct
		n := b.numbering(constraint)
		for j := range claim.Requests {
			request := &claim.Requests[j]
			for k := range request.Alternatives {
				alternative, result := &request.Alternatives[k], &bound.Requests[j].Alternatives[k]
				if !constraint.covers(alternative) {
					continue
				}
				values, err := n.values(alternative, result)
				if err != nil {
					return err
				}
				result.Tests = append(result.Tests, search.Test{Constraint: i, Values: values})
			}
		}
		bound.Constraints[i].Lists = n.lists
		bound.Constraints[i].Sets = n.finishSets()
	}
	return nil
}

// numbering gives equal values of one constraint equal numbers. Its memory is used
// again for the constraints of the next problem.
type numbering struct {
	*binder
	constraint *Constraint
	lists      bool
	// published are the values of attributes as published, by position; empty
	// until one is needed, unread where not yet looked at.
	published []int32
	// derived are the values of derived attributes by position, once for each
	// alternative that has them.
	derived [][]int32

	elements map[inventory.ValueHandle]int
	// sets are lists of element numbers, sorted.
	sets [][]int
	// latest has the number of the latest set with a hash, earlier that of the set
	// before it with the same one, -1 for none.
	latest  map[uint64]int
	earlier []int
	// read is scratch for one attribute, members for one list, finished what the problem gets of the sets.
	read     []inventory.ValueHandle
	members  []int
	finished []bitset.Set
}

// unread marks positions of published; it is no value of package search.
const unread = int32(-1)

// numbering returns one for a constraint, in memory that no other constraint of
// the problem has.
func (b *binder) numbering(constraint *Constraint) *numbering {
	s := b.scratch
	s.numbered++
	for len(s.numberings) < s.numbered {
		s.numberings = append(s.numberings, new(numbering))
	}
	n := s.numberings[s.numbered-1]
	n.binder, n.constraint, n.lists = b, constraint, b.Claims.Features.ListTypeAttributes
	n.published, n.derived, n.sets, n.earlier = n.published[:0], n.derived[:0], n.sets[:0], n.earlier[:0]
	clear(n.elements)
	clear(n.latest)
	return n
}

func (n *numbering) values(a *Alternative, bound *search.Alternative) ([]int32, error) {
	if expression, derived := a.derived[n.constraint.Attribute]; derived {
		return n.derivedValues(expression, bound)
	}
	if len(n.published) == 0 {
		n.published = resized(n.published, n.Node.Width())
		for i := range n.published {
			n.published[i] = unread
		}
	}
	for i, pool := range n.Node.Pools {
		part := n.Node.Part(bound.Candidates, i)
		if part.Empty() {
			continue
		}
		attributes := pool.Attributes(n.constraint.Attribute, n.lists)
		for device := range part.All {
			if value := &n.published[n.Node.Position(i, device)]; *value == unread {
				*value = n.number(attributes[device])
			}
		}
	}
	return n.published, nil
}

func (n *numbering) derivedValues(expression string, bound *search.Alternative) ([]int32, error) {
	n.derived = resized(n.derived, len(n.derived)+1)
	last := &n.derived[len(n.derived)-1]
	*last = resized(*last, n.Node.Width())
	values := *last
	clear(values)
	for i, pool := range n.Node.Pools {
		part := n.Node.Part(bound.Candidates, i)
		if part.Empty() {
			continue
		}
		derived, err := n.Evaluator.Derived(n.ctx, &pool.Selectors, expression, pool)
		if err != nil {
			return nil, err
		}
		for device := range part.All {
			value := search.Unknown
			if !derived.Fault.Has(device) {
				attribute := inventory.ReadAttribute(n.read, derived.Attributes[device], n.lists)
				value = n.number(attribute)
				n.read = attribute.Values[:0]
			}
			values[n.Node.Position(i, device)] = value
		}
	}
	return values, nil
}

func (n *numbering) number(attribute inventory.Attribute) int32 {
	switch {
	case !attribute.Present:
		return search.Absent
	case !attribute.Comparable:
		return search.Opaque
	case n.lists:
		return n.setNumber(attribute.Values)
	}
	return search.FirstValue + int32(n.element(attribute.Values[0]))
}

func (n *numbering) element(value inventory.ValueHandle) int {
	number, found := n.elements[value]
	if !found {
		if n.elements == nil {
			n.elements = make(map[inventory.ValueHandle]int)
		}
		number = len(n.elements)
		n.elements[value] = number
	}
	return number
}

func (n *numbering) setNumber(values []inventory.ValueHandle) int32 {
	n.members = n.members[:0]
	for _, value := range values {
		n.members = append(n.members, n.element(value))
	}
	slices.Sort(n.members)
	n.members = slices.Compact(n.members)
	hash := hashOf(n.members)
	before, found := n.latest[hash]
	if !found {
		before = -1
	}
	for i := before; i >= 0; i = n.earlier[i] {
		if slices.Equal(n.sets[i], n.members) {
			return search.FirstValue + int32(i)
		}
	}
	if n.latest == nil {
		n.latest = make(map[uint64]int)
	}
	number := len(n.sets)
	n.latest[hash], n.earlier = number, append(n.earlier, before)
	n.sets = resized(n.sets, number+1)
	n.sets[number] = append(n.sets[number][:0], n.members...)
	return search.FirstValue + int32(number)
}

// hashOf is FNV-1a over the numbers. It only saves comparing.
func hashOf(numbers []int) uint64 {
	hash := uint64(0xcbf29ce484222325)
	for _, number := range numbers {
		hash = (hash ^ uint64(number)) * 0x100000001b3
	}
	return hash
}

// finishSets returns the sets of elements, all of one length.
func (n *numbering) finishSets() []bitset.Set {
	n.finished = resized(n.finished, len(n.sets))
	for i, members := range n.sets {
		n.finished[i] = n.scratch.set(bitset.Words(len(n.elements)))
		for _, member := range members {
			n.finished[i].Add(member)
		}
	}
	return n.finished
}
