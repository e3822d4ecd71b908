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
		n := numbering{binder: b, constraint: constraint, lists: b.Claims.Features.ListTypeAttributes}
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

// numbering gives equal values of one constraint equal numbers.
type numbering struct {
	*binder
	constraint *Constraint
	lists      bool
	// published are the values of attributes as published, by position; nil
	// until one is needed, unread where not yet looked at.
	published []int32

	elements map[inventory.ValueHandle]int
	// sets are lists of element numbers, sorted; byKey finds their numbers.
	sets  [][]int
	byKey map[string]int32
}

// unread marks positions of published; it is no value of package search.
const unread = int32(-1)

func (n *numbering) values(a *Alternative, bound *search.Alternative) ([]int32, error) {
	if expression, derived := a.derived[n.constraint.Attribute]; derived {
		return n.derivedValues(expression, bound)
	}
	if n.published == nil {
		n.published = slices.Repeat([]int32{unread}, n.Node.Width())
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
	values := make([]int32, n.Node.Width())
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
				value = n.number(inventory.ReadAttribute(derived.Attributes[device], n.lists))
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
	members := make([]int, len(values))
	for i, value := range values {
		members[i] = n.element(value)
	}
	slices.Sort(members)
	members = slices.Compact(members)
	key := make([]byte, 0, 4*len(members))
	for _, member := range members {
		key = append(key, byte(member), byte(member>>8), byte(member>>16), byte(member>>24))
	}
	number, found := n.byKey[string(key)]
	if !found {
		if n.byKey == nil {
			n.byKey = make(map[string]int32)
		}
		number = search.FirstValue + int32(len(n.sets))
		n.sets = append(n.sets, members)
		n.byKey[string(key)] = number
	}
	return number
}

// finishSets returns the sets of elements, all of one length.
func (n *numbering) finishSets() []bitset.Set {
	sets := make([]bitset.Set, len(n.sets))
	for i, members := range n.sets {
		sets[i] = bitset.New(len(n.elements))
		for _, member := range members {
			sets[i].Add(member)
		}
	}
	return sets
}
