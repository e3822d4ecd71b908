package search

import (
	"encoding/binary"

	"github.com/dray-dev/dray/allocator/internal/bitset"
)

// Key returns everything that Run reads of a problem, so that problems with equal
// keys have equal outcomes: nodes with the same hardware in the same state are a
// class, and one search answers for all of them. The key is valid until the next
// call.
//
// Why that is sound: Run is a pure function of the problem, and the key has
// every field that it reads, for every position that some alternative can take;
// other positions are never looked at. Names do not occur in a problem, values
// of attributes only as numbers in the order in which they are met. Hence nodes
// whose devices differ in what nobody asks about are one class.
//
// It is false where a fault is in reach (its text depends on the node), and
// where amounts are wide (their unit is not in the vectors).
func (s *Scratch) Key(p *Problem) (key []byte, ok bool) {
	if !prunable(p) {
		return nil, false
	}
	s.relevant = cleared(s.relevant, len(p.InUse))
	s.key, ok = p.appendKey(s.key[:0], s.relevant)
	return s.key, ok
}

// appendKey leaves in relevant the positions that some alternative can take.
func (p *Problem) appendKey(key []byte, relevant bitset.Set) ([]byte, bool) {
	key = appendInts(key, p.Width, p.MaxResults, int(flag(p.GroupsEnforced)), len(p.Claims))
	for c := range p.Claims {
		claim := &p.Claims[c]
		key = appendInts(key, len(claim.Requests), len(claim.Constraints))
		for i := range claim.Constraints {
			key = claim.Constraints[i].appendDefinition(key)
		}
		for r := range claim.Requests {
			request := &claim.Requests[r]
			key = appendInts(key, int(flag(request.Prioritized)), len(request.Alternatives))
			for a := range request.Alternatives {
				relevant.Or(request.Alternatives[a].Candidates)
				key = request.Alternatives[a].appendDefinition(key)
			}
		}
	}
	return p.appendDevices(key, relevant)
}

func appendInts(key []byte, numbers ...int) []byte {
	for _, n := range numbers {
		key = binary.AppendVarint(key, int64(n))
	}
	return key
}

func appendSet(key []byte, s bitset.Set) []byte {
	key = appendInts(key, len(s))
	for _, w := range s {
		key = binary.LittleEndian.AppendUint64(key, w)
	}
	return key
}

func (c *Constraint) appendDefinition(key []byte) []byte {
	key = appendInts(key, int(flag(c.Distinct)), int(flag(c.Lists)), len(c.Sets))
	for _, set := range c.Sets {
		key = appendSet(key, set)
	}
	return key
}

func (a *Alternative) appendDefinition(key []byte) []byte {
	key = appendInts(key, a.Count, int(flag(a.All)), int(flag(a.Admin)), len(a.Tests))
	key = appendSet(key, a.Candidates)
	key = appendSet(key, a.Full)
	key = appendInts(appendInts(key, len(a.Members)), a.Members...)
	for _, test := range a.Tests {
		key = appendInts(key, test.Constraint)
		for position := range a.Candidates.All {
			key = binary.AppendVarint(key, int64(test.Values[position]))
		}
	}
	return key
}

// appendDevices writes the state of the relevant devices.
func (p *Problem) appendDevices(key []byte, relevant bitset.Set) ([]byte, bool) {
	last := -1
	for position := range relevant.All {
		key = append(key, flag(p.InUse.Has(position))|flag(p.Shared.Has(position))<<1|flag(p.MultiAllocatable.Has(position))<<2)
		if share := p.ShareOf[position]; share >= 0 {
			if p.Shares[share].Wide != nil {
				return key, false
			}
			key = p.Shares[share].AppendKey(key)
			key = p.appendDemands(key, int(share), position)
		}
		number := p.WordPool[position/bitset.WordBits]
		pool := &p.Pools[number]
		if pool.Counters == nil {
			continue
		}
		if pool.Left.Wide != nil {
			return key, false
		}
		if number != last {
			last = number
			key = pool.appendState(appendInts(key, number), p.GroupsEnforced)
		}
		key = pool.appendUses(key, pool.MemberOf[position-pool.First])
	}
	return key, true
}

func (p *Problem) appendDemands(key []byte, share, position int) []byte {
	for c := range p.Claims {
		for r := range p.Claims[c].Requests {
			for a := range p.Claims[c].Requests[r].Alternatives {
				if alternative := &p.Claims[c].Requests[r].Alternatives[a]; alternative.Candidates.Has(position) {
					key = alternative.Demands[share].AppendKey(key)
				}
			}
		}
	}
	return key
}

func (p *Pool) appendState(key []byte, groups bool) []byte {
	key = p.Left.AppendKey(key)
	if groups {
		for i := range p.Groups {
			key = p.Groups[i].AppendKey(key)
		}
	}
	return key
}

func (p *Pool) appendUses(key []byte, member int) []byte {
	uses := p.Counters.GroupsOf(member)
	key = appendInts(key, len(uses))
	for _, use := range uses {
		key = appendInts(key, use.Set, len(use.Groups))
		for _, group := range use.Groups {
			key = binary.AppendVarint(key, int64(group))
		}
	}
	first, end := p.Counters.UsesOf(member)
	key = appendInts(key, end-first)
	for i := first; i < end; i++ {
		key = appendInts(key, p.Counters.Uses[i].Counter)
		key = p.Counters.Drawn.AppendEntry(key, i)
	}
	return key
}
