package search

import "github.com/dray-dev/dray/allocator/internal/bitset"

// constraintState is what the devices taken under one constraint have in
// common, or have used up.
//
// Its law is that of a stack: remove reverses the last add that answered true;
// an add that answers false changes nothing. The rules are upstream's, oddities
// included: with scalar values a first device with an opaque value is let in
// (and then no second one under match), with sets it never is.
type constraintState struct {
	// devices is the number of adds not yet removed.
	devices int
	// first is the value that all must match: scalar match only.
	first int32
	// used are the values of the devices: scalar distinct only.
	used []int32
	// common[i] is what the first i+1 devices have in common: list match only.
	common []bitset.Set
	// union is what the devices have together: list distinct only.
	union bitset.Set
}

func (s *constraintState) add(c *Constraint, value int32) bool {
	if value == Absent || !s.admits(c, value) {
		return false
	}
	switch {
	case c.Lists && c.Distinct:
		set := c.Sets[value-FirstValue]
		if s.devices == 0 {
			s.union = cleared(s.union, len(set))
		}
		s.union.Or(set)
	case c.Lists:
		s.common = resized(s.common, s.devices+1)
		s.common[s.devices] = append(s.common[s.devices][:0], c.Sets[value-FirstValue]...)
		if s.devices > 0 {
			s.common[s.devices].And(s.common[s.devices-1])
		}
	case c.Distinct:
		s.used = append(s.used, value)
	case s.devices == 0:
		s.first = value
	}
	s.devices++
	return true
}

// admits says whether a device with the value may join the others.
func (s *constraintState) admits(c *Constraint, value int32) bool {
	if c.Lists {
		if value == Opaque {
			return false
		}
		if s.devices == 0 {
			return true
		}
		set := c.Sets[value-FirstValue]
		if c.Distinct {
			return !s.union.Intersects(set)
		}
		return s.common[s.devices-1].Intersects(set)
	}
	if s.devices == 0 {
		return true
	}
	if value == Opaque {
		return false
	}
	if !c.Distinct {
		return value == s.first
	}
	for _, used := range s.used {
		if used == value {
			return false
		}
	}
	return true
}

func (s *constraintState) remove(c *Constraint, value int32) {
	s.devices--
	switch {
	case c.Lists && c.Distinct:
		s.union.AndNot(c.Sets[value-FirstValue])
	case c.Lists:
		s.common = s.common[:s.devices]
	case c.Distinct:
		s.used = s.used[:s.devices]
	}
}
