package search

import (
	"math/bits"

	"github.com/dray-dev/dray/allocator/internal/bitset"
)

// outlook says, at a node of the tree, whether the subtree below it can still
// hold a solution, and which devices are worth trying there.
//
// It only ever errs on the side of hope: where it says no, there is no solution
// (and no fault, because it is only used on problems without any). So skipping
// what it says no to leaves the first solution the first, and no node is
// entered that the faithful order does not enter.
//
// The argument is the same for every check in here. A demand is what one
// remaining request still needs: a number of devices out of a domain. A domain
// holds every device that could be taken for the request in some completion of
// the present state: taking devices only ever makes other devices unavailable
// (busy, counters drawn, groups narrowed, shares taken, values fixed or used
// up), so what is unavailable now stays so. A check compares all demands, or
// some of them, with what their domains can give together at best.
//
// A check that says no also says whom to blame: the components (see component)
// of the demands it looked at.
type outlook struct {
	*state
	rests []rest
	// first is the index in rests of a claim's first request.
	first []int
	// fewest[i] is the smallest number of devices that rests[i] and the later
	// requests of its claim can do with.
	fewest []int

	demands []demand
	// sharers are the demands that only devices which can be shared can meet.
	sharers []sharer
	free    []bitset.Set
	rooms   rooms
	fits    []poolFits
	match   matcher
	limits  []int64
	// tables has a row a claim, an entry a constraint.
	tables  [][]elements
	joining joining
	// members is scratch for devices that are put together one by one.
	members bitset.Set
	blame   blame
}

// rest is one request, in the order of the search.
type rest struct {
	claim, request int
	alternatives   []Alternative
	prioritized    bool
	// static[a] is Candidates of alternative a less what can never be taken.
	static []bitset.Set
	// rooms[a] is the number of the alternative's room, noRoom for none.
	rooms     []int
	component component
	// pair is the number of alternative 0 among those of all requests.
	pair int
}

// demand is what a remaining request needs in any solution below the node.
type demand struct {
	rest        *rest
	alternative *Alternative
	number      int
	need        int
	domain      bitset.Set
}

// pair is the number of the demand's alternative among those of all requests.
func (d *demand) pair() int { return d.rest.pair + d.number }

func newOutlook(s *state) *outlook {
	o := &outlook{}
	o.begin(s)
	return o
}

// begin looks at another problem, in the memory of the one before.
func (o *outlook) begin(s *state) {
	o.state, o.blame = s, 0
	o.rooms.begin(s.problem)
	o.forgetElements()
	pairs := 0
	o.fits = resized(o.fits, len(s.problem.Pools))
	o.resume(s)
	o.first = resized(o.first, len(s.problem.Claims))
	n := 0
	for c := range s.problem.Claims {
		o.first[c] = n
		o.rests = resized(o.rests[:n], n+len(s.problem.Claims[c].Requests))
		for r := range s.problem.Claims[c].Requests {
			request, rest := &s.problem.Claims[c].Requests[r], &o.rests[n]
			rest.claim, rest.request, rest.pair = c, r, pairs
			pairs += len(request.Alternatives)
			rest.alternatives, rest.prioritized = request.Alternatives, request.Prioritized
			rest.static = resized(rest.static, len(request.Alternatives))
			rest.rooms = resized(rest.rooms, len(request.Alternatives))
			for a := range request.Alternatives {
				rest.static[a] = o.static(rest.static[a], c, &request.Alternatives[a])
				rest.rooms[a] = o.rooms.of(request.Alternatives[a].Demands)
			}
			n++
		}
	}
	o.rests = o.rests[:n]
	o.fewest = cleared(o.fewest, n+1)
	for i := n - 1; i >= 0; i-- {
		fewest := -1
		for a := range o.rests[i].alternatives {
			if n := o.rests[i].alternatives[a].Count; fewest < 0 || n < fewest {
				fewest = n
			}
		}
		o.fewest[i] = max(fewest, 0)
		if i+1 < n && o.rests[i+1].claim == o.rests[i].claim {
			o.fewest[i] += o.fewest[i+1]
		}
	}
	o.assignComponents()
}

// static returns, in the memory of domain, the candidates less the devices that
// the alternative can never take: in use, or without a value that one of its
// constraints can compare.
func (o *outlook) static(domain bitset.Set, claim int, a *Alternative) bitset.Set {
	domain = append(domain[:0], a.Candidates...)
	if a.All {
		o.members = cleared(o.members, len(domain))
		for _, position := range a.Members {
			o.members.Add(position)
		}
		domain.And(o.members)
	}
	if a.Full != nil {
		domain.AndNot(a.Full)
	}
	if !a.Admin {
		domain.AndNot(o.problem.InUse)
	}
	for _, test := range a.Tests {
		lists := o.problem.Claims[claim].Constraints[test.Constraint].Lists
		for position := range domain.All {
			if v := test.Values[position]; v == Absent || v == Opaque && lists {
				domain.Remove(position)
			}
		}
	}
	return domain
}

// overflows says whether the claim's result cannot hold what the alternative
// and the rest of the claim need at least.
func (o *outlook) overflows(at place, alternative *Alternative, taken int) bool {
	i := o.first[at.claim] + at.request
	need := alternative.Count - taken
	if i+1 < len(o.rests) && o.rests[i+1].claim == at.claim {
		need += o.fewest[i+1]
	}
	return need > o.problem.MaxResults-len(o.picks[at.claim])
}

// look returns the devices that may be taken next at a node that is about to
// take a device, or false if the subtree holds no solution; then blame says
// which components are the reason. The set is valid until the next look.
func (o *outlook) look(at place) (bitset.Set, bool) {
	if !o.demandsAt(at) || !o.constraintsHold() || !o.devicesSuffice() || !o.countersSuffice() || !o.sharesSuffice() {
		return nil, false
	}
	return o.demands[0].domain, true
}

// demandsAt fills demands with those of a node.
func (o *outlook) demandsAt(at place) bool {
	o.demands = o.demands[:0]
	o.rooms.look(o.state)
	i := o.first[at.claim] + at.request
	return o.demand(i, at.alternative, at.device, at.from) && o.demandsFrom(i+1)
}

// demandsFrom appends the demands of requests of which nothing is decided.
func (o *outlook) demandsFrom(i int) bool {
	for ; i < len(o.rests); i++ {
		if o.rests[i].prioritized {
			if !o.someAlternative(i) {
				return false
			}
		} else if !o.demand(i, 0, 0, 0) {
			return false
		}
	}
	return true
}

// resume goes on with another state of the same problem.
func (o *outlook) resume(s *state) {
	o.state = s
	for i := range o.fits {
		o.fits[i].known = false
	}
	o.rooms.seen = cleared(o.rooms.seen, len(s.problem.Shares))
}

// someAlternative checks that one alternative has enough devices for itself. If
// only one has, it is as good as the request.
func (o *outlook) someAlternative(i int) bool {
	possible, only := 0, 0
	mark := len(o.demands)
	for a := range o.rests[i].alternatives {
		if o.demand(i, a, 0, 0) {
			possible, only = possible+1, a
			o.demands = o.demands[:mark]
		}
	}
	switch possible {
	case 0:
		o.blame = o.rests[i].component.blame()
		return false
	case 1:
		return o.demand(i, only, 0, 0)
	}
	return true
}

// demand appends what an alternative of a request still needs, with the devices
// that it can have one by one. It is false if those are too few.
func (o *outlook) demand(i, alternative, taken, from int) bool {
	rest := &o.rests[i]
	a := &rest.alternatives[alternative]
	domain := o.scratch(len(o.demands))
	copy(domain, rest.static[alternative])
	if room := rest.rooms[alternative]; room != noRoom {
		domain.And(o.rooms.list[room].set)
	}
	domain.AndNot(o.busy(rest.claim, a))
	removeBelow(domain, from)
	o.dropUnfit(domain, a)
	o.dropForbidden(domain, rest.claim, a)
	need := a.Count - taken
	if a.All {
		if !o.onlyMembers(domain, a.Members[taken:]) {
			o.blame = rest.component.blame()
			return false
		}
	}
	if a.All && len(a.Members) == 0 || domain.Count() < need {
		o.blame = rest.component.blame()
		return false
	}
	o.demands = append(o.demands, demand{rest: rest, alternative: a, number: alternative, need: need, domain: domain})
	return true
}

// onlyMembers reduces a domain to the members, and says whether all are in it.
func (o *outlook) onlyMembers(domain bitset.Set, members []int) bool {
	o.members = cleared(o.members, len(domain))
	for _, position := range members {
		if !domain.Has(position) {
			return false
		}
		o.members.Add(position)
	}
	copy(domain, o.members)
	return true
}

// scratch returns the i-th set for use within one look; what is in it is left
// over from another.
func (o *outlook) scratch(i int) bitset.Set {
	for len(o.free) <= i {
		o.free = append(o.free, nil)
	}
	o.free[i] = resized(o.free[i], len(o.problem.InUse))
	return o.free[i]
}

func removeBelow(s bitset.Set, from int) {
	word := min(from/bitset.WordBits, len(s))
	clear(s[:word])
	if word < len(s) {
		s[word] &^= 1<<(from%bitset.WordBits) - 1
	}
}

// dropForbidden removes the devices that the constraints, as they stand, refuse.
func (o *outlook) dropForbidden(domain bitset.Set, claim int, a *Alternative) {
	for _, test := range a.Tests {
		s := &o.constraints[claim][test.Constraint]
		if s.devices == 0 {
			continue
		}
		constraint := &o.problem.Claims[claim].Constraints[test.Constraint]
		for position := range domain.All {
			if !s.admits(constraint, test.Values[position]) {
				domain.Remove(position)
			}
		}
	}
}

// dropUnfit removes the devices whose counters or groups do not reach.
func (o *outlook) dropUnfit(domain bitset.Set, a *Alternative) {
	for word, w := range domain {
		if w == 0 {
			continue
		}
		if fits := o.poolFits(o.problem.WordPool[word]); fits != nil {
			set := fits.draw
			if a.Admin {
				set = fits.join
			}
			domain[word] &= set[word-fits.firstWord]
		}
	}
}

// devicesSuffice matches all demands with devices that only one request can have.
func (o *outlook) devicesSuffice() bool {
	o.match.reset()
	for i := range o.demands {
		d := &o.demands[i]
		if d.alternative.Admin {
			continue
		}
		shared := 0
		for word, w := range o.problem.MultiAllocatable {
			shared += bits.OnesCount64(d.domain[word] & w)
		}
		if d.need <= shared {
			continue
		}
		o.match.add(d.domain).AndNot(o.problem.MultiAllocatable)
		o.match.need(d.need - shared)
	}
	if o.match.possible() {
		return true
	}
	o.blame = o.blameDemands(func(d *demand) bool { return !d.alternative.Admin })
	return false
}

func (o *outlook) blameDemands(looked func(*demand) bool) blame {
	var b blame
	for i := range o.demands {
		if looked(&o.demands[i]) {
			b |= o.demands[i].rest.component.blame()
		}
	}
	return b
}
