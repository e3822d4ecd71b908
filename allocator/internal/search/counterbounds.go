package search

import (
	"github.com/dray-dev/dray/allocator/internal/bitset"
	"github.com/dray-dev/dray/allocator/internal/index"
)

// poolFits are the devices of a pool that what is left of its counters, and the
// groups on its counter sets, would allow on their own. Sets are in the words of
// the pool. It holds for one version of the pool's state; for the next one, only
// the devices on the sets that have changed are looked at again.
type poolFits struct {
	version   int
	known     bool
	firstWord int
	words     int
	// draw: counters and groups allow the device. join: groups do.
	draw, join bitset.Set
	// seen are the versions of the pool's sets.
	seen []uint64
	// users[starts[i]:starts[i+1]] are the devices that draw from set i.
	starts, users []int32
}

// poolFits returns nil for a pool without counters.
func (o *outlook) poolFits(number int) *poolFits {
	problem := &o.problem.Pools[number]
	if problem.Counters == nil {
		return nil
	}
	fits, state := &o.fits[number], &o.pools[number]
	if fits.known && fits.version == state.version {
		return fits
	}
	if !fits.known {
		o.open(problem.First)
		fits.begin(problem)
		for device := range problem.MemberOf {
			o.fit(fits, state, problem, device)
		}
		copy(fits.seen, state.versions)
	}
	for set, version := range state.versions {
		if version != fits.seen[set] {
			fits.seen[set] = version
			for _, device := range fits.users[fits.starts[set]:fits.starts[set+1]] {
				o.fit(fits, state, problem, int(device))
			}
		}
	}
	fits.known, fits.version = true, state.version
	return fits
}

// begin forgets what fits, and lists the devices of each set.
func (f *poolFits) begin(problem *Pool) {
	f.firstWord = problem.First / bitset.WordBits
	f.words = bitset.Words(len(problem.MemberOf))
	f.draw, f.join = cleared(f.draw, f.words), cleared(f.join, f.words)
	sets := len(problem.Counters.Sets)
	f.seen, f.starts = cleared(f.seen, sets), cleared(f.starts, sets+1)
	for _, member := range problem.MemberOf {
		for _, use := range problem.Counters.GroupsOf(member) {
			f.starts[use.Set]++
		}
	}
	// Each set's start is first its end, and moves down by one for each device.
	sum := int32(0)
	for set := range f.starts {
		sum += f.starts[set]
		f.starts[set] = sum
	}
	f.users = resized(f.users, int(sum))
	for device := len(problem.MemberOf) - 1; device >= 0; device-- {
		for _, use := range problem.Counters.GroupsOf(problem.MemberOf[device]) {
			f.starts[use.Set]--
			f.users[f.starts[use.Set]] = int32(device)
		}
	}
}

// fit looks at one device. That counters are overdrawn closes the whole pool; it
// does so from the beginning, as taking a device never overdraws.
func (o *outlook) fit(fits *poolFits, state *poolState, problem *Pool, device int) {
	member := problem.MemberOf[device]
	paid := o.paid(problem.First + device)
	put(fits.join, device, paid || o.groupsAdmit(state, problem.Counters, member))
	put(fits.draw, device, paid || fits.join.Has(device) && reaches(state, problem.Counters, member))
}

func put(s bitset.Set, member int, is bool) {
	if is {
		s.Add(member)
	} else {
		s.Remove(member)
	}
}

// paid says whether the device's counters are drawn already by another share.
func (s *state) paid(position int) bool {
	share := s.problem.ShareOf[position]
	return share >= 0 && (s.problem.Shared.Has(position) || s.shared[share] > 0)
}

func (s *state) groupsAdmit(pool *poolState, counters *index.Counters, member int) bool {
	if !s.problem.GroupsEnforced {
		return true
	}
	for _, use := range counters.GroupsOf(member) {
		if !pool.groups[use.Set].Admits(use.Groups) {
			return false
		}
	}
	return true
}

// reaches says whether each counter has what the member draws from it.
func reaches(pool *poolState, counters *index.Counters, member int) bool {
	if counters.GroupStarts[member] == counters.GroupStarts[member+1] {
		return true
	}
	if pool.overdrawn > 0 {
		return false
	}
	first, end := counters.UsesOf(member)
	for i := first; i < end; i++ {
		if pool.left.Below(counters.Uses[i].Counter, counters.Drawn, i) {
			return false
		}
	}
	return true
}

// countersSuffice bounds how many devices the counter sets can still give, all
// demands together and each alone. A device counts against the first set that it
// draws from; a set gives at most as many devices as it has in the domains, and
// where all of those draw from some counter, at most what is left of the counter
// divided by the smallest draw.
func (o *outlook) countersSuffice() bool {
	total := 0
	union := o.scratch(len(o.demands))
	clear(union)
	anyCounters := false
	for i := range o.problem.Pools {
		anyCounters = anyCounters || o.problem.Pools[i].Counters != nil
	}
	if !anyCounters {
		return true
	}
	for i := range o.demands {
		d := &o.demands[i]
		if d.alternative.Admin || d.need == 0 {
			continue
		}
		if d.need > 1 && o.capacity(d.domain) < d.need {
			o.blame = d.rest.component.blame()
			return false
		}
		total += d.need
		union.Or(d.domain)
	}
	// A shared device serves each demand, so it does not bound the sum.
	if union.Intersects(o.problem.MultiAllocatable) || o.capacity(union) >= total {
		return true
	}
	o.blame = o.blameDemands(func(d *demand) bool { return !d.alternative.Admin })
	return false
}

// capacity bounds how many devices of the domain can be taken.
func (o *outlook) capacity(domain bitset.Set) int {
	sum := 0
	for i := range o.problem.Pools {
		problem := &o.problem.Pools[i]
		first, words := problem.First/bitset.WordBits, bitset.Words(len(problem.MemberOf))
		if problem.Counters == nil {
			continue
		}
		part := domain[first : first+words]
		if part.Empty() {
			continue
		}
		sum += o.poolCapacity(i, part)
	}
	for word, w := range domain {
		if o.problem.Pools[o.problem.WordPool[word]].Counters == nil {
			sum += bitset.Set{w}.Count()
		}
	}
	return sum
}

// poolCapacity walks the pool's devices set by set.
func (o *outlook) poolCapacity(number int, part bitset.Set) int {
	problem, pool := &o.problem.Pools[number], &o.pools[number]
	counters := problem.Counters
	n := len(counters.Sets)
	if cap(o.limits) < n+2*len(counters.Names) {
		o.limits = make([]int64, n+2*len(counters.Names))
	}
	devices := o.limits[:n]
	users := o.limits[n : n+len(counters.Names)]
	least := o.limits[n+len(counters.Names) : n+2*len(counters.Names)]
	clear(devices)
	clear(users)
	sum := 0
	for device := range part.All {
		member := problem.MemberOf[device]
		groups := counters.GroupsOf(member)
		if len(groups) == 0 || o.problem.MultiAllocatable.Has(problem.First+device) {
			sum++
			continue
		}
		set := &counters.Sets[groups[0].Set]
		devices[groups[0].Set]++
		if pool.left.Wide != nil {
			continue
		}
		first, end := counters.UsesOf(member)
		for i := first; i < end; i++ {
			counter, drawn := counters.Uses[i].Counter, counters.Drawn.Narrow[i]
			if counter < set.First || counter >= set.First+set.Len || drawn <= 0 {
				continue
			}
			if users[counter]++; users[counter] == 1 || drawn < least[counter] {
				least[counter] = drawn
			}
		}
	}
	for i := range counters.Sets {
		fit := devices[i]
		if pool.left.Wide == nil && fit > 0 {
			for counter := counters.Sets[i].First; counter < counters.Sets[i].First+counters.Sets[i].Len; counter++ {
				if users[counter] == devices[i] {
					fit = min(fit, max(pool.left.Narrow[counter], 0)/least[counter])
				}
			}
		}
		sum += int(fit)
	}
	return sum
}
