package explain

import (
	"slices"

	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/dray-dev/dray/allocator/internal/bitset"
	"github.com/dray-dev/dray/allocator/internal/index"
	"github.com/dray-dev/dray/allocator/internal/request"
	"github.com/dray-dev/dray/allocator/internal/search"
)

// together names the cause where each request could be met alone. It looks at
// the shortest prefix of the requests that does not fit: its last request is the
// first that cannot be met. The error is the context's.
func (e *explainer) together() error {
	t := &together{explainer: e, prober: prober{ctx: e.ctx, steps: e.Steps, left: totalSearches * e.Steps}}
	for i := range e.requests {
		t.crowd = e.requests[:i+1]
		t.last = e.requests[i]
		t.part = only(*e.problem, t.crowd)
		answer, err := t.try(t.part)
		if err != nil {
			return err
		}
		switch answer {
		case fitsNot:
			return t.bind()
		case unknown:
			e.setFirst(t.last, t.last.only(), t.undecided())
			return nil
		}
	}
	e.out.First = &Shortage{Binding: Binding{Cause: Undecided}}
	return nil
}

// together is a prefix of the requests that does not fit.
type together struct {
	*explainer
	prober
	// crowd are the requests of the prefix, later a smallest part that does not fit.
	crowd []*followed
	last  *followed
	// part is the problem of the crowd.
	part search.Problem
}

// only returns the alternative of a request that has no others.
func (r *followed) only() *alternative {
	if len(r.alternatives) == 1 {
		return r.alternatives[0]
	}
	return nil
}

// undecided is the binding of a prefix that the search did not get to the end
// of. What plain counting shows needs no search.
func (t *together) undecided() Binding {
	if crowd := t.overcommitted(); crowd != nil {
		return t.binding(Competing, "", crowd)
	}
	return t.binding(Undecided, "", nil)
}

// lift is something that keeps requests from being met, and how to take it away.
type lift struct {
	cause   Cause
	apply   func(search.Problem) search.Problem
	binding func() (Binding, error)
}

// bind finds what, lifted, makes the prefix fit. The error is the context's.
func (t *together) bind() error {
	crowd, err := t.smallest()
	if err != nil {
		return err
	}
	t.crowd = crowd
	t.part = only(*t.problem, crowd)
	lifts := t.lifts()
	all := t.part
	for _, l := range lifts {
		all = l.apply(all)
	}
	switch answer, err := t.try(all); {
	case err != nil:
		return err
	case answer == fitsNot && len(crowd) == 1:
		t.setFirst(t.last, t.last.only(), t.binding(Undecided, "", nil))
		return nil
	case answer == fitsNot:
		t.setFirst(t.last, t.last.only(), t.binding(Competing, "", crowd))
		return nil
	case answer == unknown:
		t.setFirst(t.last, t.last.only(), t.undecided())
		return nil
	}
	chosen, err := t.fewest(lifts)
	if err != nil {
		return err
	}
	binding, err := chosen[0].binding()
	if err != nil {
		return err
	}
	for _, l := range chosen[1:] {
		if !slices.Contains(binding.With, l.cause) {
			binding.With = append(binding.With, l.cause)
		}
	}
	t.setFirst(t.last, t.last.only(), binding)
	return nil
}

// smallest leaves out requests as long as the others still do not fit. The last
// one stays: without it they do.
func (t *together) smallest() ([]*followed, error) {
	keep := slices.Clone(t.crowd)
	for i := 0; i < len(keep)-1; {
		fewer := slices.Delete(slices.Clone(keep), i, i+1)
		answer, err := t.try(only(*t.problem, fewer))
		if err != nil {
			return nil, err
		}
		if answer == fitsNot {
			keep = fewer
		} else {
			i++
		}
	}
	return keep, nil
}

// lifts lists what can be taken away, in the order of the stages: that is the
// order in which it is named where several would do.
func (t *together) lifts() []lift {
	list := []lift{{
		cause:   CapacityShort,
		apply:   func(p search.Problem) search.Problem { return t.withRoom(p, func(string) bool { return true }) },
		binding: t.full,
	}, {
		cause:   CountersShort,
		apply:   func(p search.Problem) search.Problem { return withCounters(p, func(counterKey) bool { return true }) },
		binding: t.uncounted,
	}, {
		cause: Incompatible,
		apply: withoutGroups,
		binding: func() (Binding, error) {
			b := t.binding(Incompatible, StageCompatible, t.crowd)
			b.Groups = t.joined()
			return b, nil
		},
	}}
	for number := range t.last.claim.Constraints {
		// only renumbers claims, and the last request's is the last of them.
		claim := len(t.part.Claims) - 1
		list = append(list, lift{
			cause:   Constrained,
			apply:   func(p search.Problem) search.Problem { return withoutConstraint(p, claim, number) },
			binding: func() (Binding, error) { return t.constrained(number), nil },
		})
	}
	return append(list, lift{
		cause: TooManyResults,
		apply: withoutLimit,
		binding: func() (Binding, error) {
			b := t.binding(TooManyResults, "", t.crowd)
			b.Limit = t.part.MaxResults
			return b, nil
		},
	})
}

// fewest returns the first lift that suffices, or, if none does, a smallest set
// that does.
func (t *together) fewest(lifts []lift) ([]lift, error) {
	for _, l := range lifts {
		answer, err := t.try(l.apply(t.part))
		if err != nil {
			return nil, err
		}
		if answer == fits {
			return []lift{l}, nil
		}
	}
	needed := lifts
	for i := 0; i < len(needed) && len(needed) > 1; {
		fewer := slices.Delete(slices.Clone(needed), i, i+1)
		p := t.part
		for _, l := range fewer {
			p = l.apply(p)
		}
		answer, err := t.try(p)
		if err != nil {
			return nil, err
		}
		if answer == fits {
			needed = fewer
		} else {
			i++
		}
	}
	return needed, nil
}

// binding fills what all bindings of this kind have in common. The counts are
// the last request's own.
func (t *together) binding(cause Cause, stage Stage, crowd []*followed) Binding {
	b := Binding{Cause: cause, Stage: stage, Together: cause != Undecided}
	if a := t.last.only(); a != nil {
		b.Wanted, b.Left = a.wanted, a.together()
	}
	if len(crowd) > 1 {
		// The last one is the request that cannot be met: it is never left out.
		listed := crowd
		if len(crowd) > maxListed {
			listed = append(slices.Clone(crowd[:maxListed-1]), crowd[len(crowd)-1])
		}
		b.MoreRequests = len(crowd) - len(listed)
		for _, r := range listed {
			b.Requests = append(b.Requests, r.shortName())
		}
	}
	return b
}

// candidates are the devices that requests could have were there room for them.
func candidates(requests []*followed) bitset.Set {
	var union bitset.Set
	for _, r := range requests {
		for _, a := range r.alternatives {
			if union == nil {
				union = make(bitset.Set, len(a.left[0]))
			}
			union.Or(a.left[request.Free])
		}
	}
	return union
}

// constrained is the binding of a constraint of the last request's claim.
func (t *together) constrained(number int) Binding {
	b := t.binding(Constrained, StageConstraint, t.crowd)
	shortage := &ConstraintShortage{Index: number, Attribute: string(t.last.claim.Constraints[number].Attribute),
		Distinct: t.last.claim.Constraints[number].Distinct}
	var lacking bitset.Set
	requests := make(map[*followed]bool)
	for _, r := range t.crowd {
		for _, a := range r.alternatives {
			for _, c := range a.constraints {
				if r.claimNumber != t.last.claimNumber || c.index != number {
					continue
				}
				requests[r] = true
				shortage.Largest = max(shortage.Largest, c.largest)
				if lacking == nil {
					lacking = make(bitset.Set, len(c.lacking))
				}
				lacking.Or(c.lacking)
			}
		}
	}
	shortage.Lacking = lacking.Count()
	shortage.Several = len(requests) > 1
	b.Constraint = shortage
	return b
}

// maxCounters bounds how many counters are tried one by one.
const maxCounters = 64

// uncounted is the binding of counters that the requests use up together: a
// smallest set that, lifted, makes room.
func (t *together) uncounted() (Binding, error) {
	b := t.binding(CountersShort, StageCounters, t.crowd)
	used := t.usedCounters()
	lifted := make(map[counterKey]bool)
	for _, key := range used {
		lifted[key] = true
	}
	if len(used) <= maxCounters {
		for _, key := range used {
			lifted[key] = false
			answer, err := t.try(withCounters(t.part, func(k counterKey) bool { return lifted[k] }))
			if err != nil {
				return b, err
			}
			lifted[key] = answer != fits
		}
	}
	for _, key := range used {
		if lifted[key] {
			b.Counters = append(b.Counters, t.counter(key))
		}
	}
	b.Counters, b.MoreCounters = atMost(maxListed, b.Counters)
	return b, nil
}

// usedCounters are those that some candidate of the requests draws from, and
// those that are overdrawn, which close their pool.
func (t *together) usedCounters() []counterKey {
	var list []counterKey
	seen := make(map[counterKey]bool)
	add := func(key counterKey) {
		if !seen[key] {
			seen[key] = true
			list = append(list, key)
		}
	}
	for position := range candidates(t.crowd).All {
		pool, number, member, ok := poolOf(t.problem, position)
		if !ok {
			continue
		}
		for counter := range pool.Left.Len() {
			if pool.Left.Negative(counter) {
				add(counterKey{number, counter})
			}
		}
		first, end := pool.Counters.UsesOf(member)
		for _, use := range pool.Counters.Uses[first:end] {
			add(counterKey{number, use.Counter})
		}
	}
	return list
}

// full is the binding of capacity that the requests use up together. It names
// the first of a smallest set of capacities that, lifted, makes room.
func (t *together) full() (Binding, error) {
	b := t.binding(CapacityShort, StageCapacity, t.crowd)
	names := t.capacities()
	lifted := make(map[string]bool)
	for _, name := range names {
		lifted[name] = true
	}
	if len(names) <= maxCounters {
		for _, name := range names {
			lifted[name] = false
			answer, err := t.try(t.withRoom(t.part, func(name string) bool { return lifted[name] }))
			if err != nil {
				return b, err
			}
			lifted[name] = answer != fits
		}
	}
	for _, name := range names {
		if lifted[name] {
			b.Capacity = t.shortage(name)
			break
		}
	}
	return b, nil
}

// shortage says of one capacity what the last request takes and what is left.
func (t *together) shortage(name string) *CapacityShortage {
	shortage := &CapacityShortage{Name: name}
	var asked, most *resource.Quantity
	for _, a := range t.last.alternatives {
		for position := range a.left[len(a.left)-1].All {
			room, ok := t.examination.RoomFor(a.compiled, position, name)
			if !ok {
				continue
			}
			if asked == nil || room.Asked.Cmp(*asked) < 0 {
				asked, shortage.Unasked = &room.Asked, room.Unasked
			}
			if most == nil || room.Left.Cmp(*most) > 0 {
				most = &room.Left
			}
		}
	}
	if asked != nil {
		shortage.Asked, shortage.LargestLeft = asked.String(), most.String()
	}
	return shortage
}

// capacities are the names of what candidates have that can be shared, sorted.
func (t *together) capacities() []string {
	var names []string
	for position := range candidates(t.crowd).All {
		if t.problem.ShareOf[position] >= 0 {
			names = append(names, t.examination.CapacityNames(position)...)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// withRoom fills the capacities of which lift is true.
func (t *together) withRoom(p search.Problem, lift func(name string) bool) search.Problem {
	names := make([][]string, len(p.Shares))
	for position, share := range p.ShareOf {
		if share >= 0 {
			names[share] = t.examination.CapacityNames(position)
		}
	}
	return withCapacity(p, func(share, entry int) bool { return lift(names[share][entry]) })
}

// joined names the first counter set on which the requests' devices would meet
// and not all of them could be together.
func (t *together) joined() *GroupConflict {
	type place struct{ pool, set int }
	met := make(map[place]index.GroupState)
	for position := range candidates(t.crowd).All {
		problem, number, member, ok := poolOf(t.problem, position)
		if !ok {
			continue
		}
		pool := t.Target.Node.Pools[number]
		for _, use := range pool.Counters.GroupsOf(member) {
			state, found := met[place{number, use.Set}]
			if !found {
				state = problem.Groups[use.Set]
			}
			if state.Admits(use.Groups) {
				met[place{number, use.Set}] = state.With(use.Groups)
				continue
			}
			set := pool.Counters.Sets[use.Set].Name
			_, device := t.Target.Node.Locate(position)
			c := &GroupConflict{Pool: pool.String(), CounterSet: set}
			c.Groups, c.MoreGroups = groupsOn(pool.At(device), set)
			return c
		}
	}
	return nil
}

// overcommitted counts: requests whose candidates are all among those of the
// last one, and that want more devices than there are. A device that can be
// shared, or is had by admin access, can serve several and counts for nothing.
func (t *together) overcommitted() []*followed {
	last := t.last.only()
	if last == nil || t.faultsUpTo(last, len(last.left)) > 0 {
		return nil
	}
	room := last.left[len(last.left)-1]
	if room.Intersects(t.problem.MultiAllocatable) {
		return nil
	}
	var crowd []*followed
	wanted := 0
	for _, r := range t.crowd {
		a := r.only()
		if a == nil || a.compiled.Admin || t.faultsUpTo(a, len(a.left)) > 0 {
			continue
		}
		outside := a.left[len(a.left)-1].Clone()
		outside.AndNot(room)
		if outside.Empty() {
			crowd, wanted = append(crowd, r), wanted+a.wanted
		}
	}
	if wanted <= room.Count() {
		return nil
	}
	return crowd
}
