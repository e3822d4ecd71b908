package search

import "github.com/dray-dev/dray/allocator/internal/bitset"

// component numbers the parts of a problem that have nothing to do with each
// other: requests of different components share no device, no counter set, no
// constraint, and no limit on results that could bind. What is taken for one
// can neither help nor hurt the other.
//
// So when a subtree fails for reasons that lie in some components only, trying
// another device for a request of a different component cannot mend it: the
// search goes back over such requests at once (conflict-directed backjumping,
// with components in place of single choices).
type component uint8

// blame is a set of components.
type blame uint64

// maxComponents bounds the numbers; further components share the last one,
// which only makes the search go back in smaller steps.
const maxComponents = 64

func (c component) blame() blame { return 1 << c }

// joining is the memory of assignComponents.
type joining struct {
	// parent makes trees of the requests: one tree is one component.
	parent []int
	// numbers are those of the components, by the root of the tree.
	numbers []component
	sets    bitset.Set
}

func (j *joining) root(i int) int {
	for j.parent[i] != i {
		j.parent[i] = j.parent[j.parent[i]]
		i = j.parent[i]
	}
	return i
}

// assignComponents joins the requests that have something in common.
func (o *outlook) assignComponents() {
	j, n := &o.joining, len(o.rests)
	words, pools := len(o.problem.InUse), bitset.Words(len(o.problem.Pools))
	j.parent, j.numbers = resized(j.parent, n), resized(j.numbers, n)
	j.sets = cleared(j.sets, n*(words+pools))
	// What a request can take, and the pools whose counters it can draw from.
	reach := func(i int) bitset.Set { return j.sets[i*words : (i+1)*words] }
	drawn := func(i int) bitset.Set { return j.sets[n*words+i*pools : n*words+(i+1)*pools] }
	for i := range o.rests {
		j.parent[i] = i
		for _, domain := range o.rests[i].static {
			reach(i).Or(domain)
		}
		for word, w := range reach(i) {
			if pool := o.problem.WordPool[word]; w != 0 && o.problem.Pools[pool].Counters != nil {
				drawn(i).Add(pool)
			}
		}
		for other := range i {
			if j.root(i) == j.root(other) {
				continue
			}
			if reach(i).Intersects(reach(other)) || drawn(i).Intersects(drawn(other)) || o.bound(i, other) {
				j.parent[j.root(i)] = j.root(other)
			}
		}
	}
	const unnumbered = component(maxComponents)
	for i := range j.numbers {
		j.numbers[i] = unnumbered
	}
	count := 0
	for i := range o.rests {
		number := &j.numbers[j.root(i)]
		if *number == unnumbered {
			*number = component(min(count, maxComponents-1))
			count++
		}
		o.rests[i].component = *number
	}
}

// bound says whether two requests are tied by a constraint or by the limit on
// their claim's results.
func (o *outlook) bound(i, j int) bool {
	if o.rests[i].claim != o.rests[j].claim {
		return false
	}
	claim := &o.problem.Claims[o.rests[i].claim]
	most := 0
	for r := range claim.Requests {
		largest := 0
		for a := range claim.Requests[r].Alternatives {
			largest = max(largest, claim.Requests[r].Alternatives[a].Count)
		}
		if most += largest; most > o.problem.MaxResults {
			return true
		}
	}
	for c := range claim.Constraints {
		if o.rests[i].tested(c) && o.rests[j].tested(c) {
			return true
		}
	}
	return false
}

// tested says whether a constraint of the claim covers some alternative.
func (r *rest) tested(constraint int) bool {
	for a := range r.alternatives {
		for _, test := range r.alternatives[a].Tests {
			if test.Constraint == constraint {
				return true
			}
		}
	}
	return false
}
