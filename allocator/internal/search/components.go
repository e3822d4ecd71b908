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

// assignComponents joins the requests that have something in common.
func (o *outlook) assignComponents() {
	parent := make([]int, len(o.rests))
	for i := range parent {
		parent[i] = i
	}
	var find func(int) int
	find = func(i int) int {
		if parent[i] != i {
			parent[i] = find(parent[i])
		}
		return parent[i]
	}
	join := func(i, j int) { parent[find(i)] = find(j) }

	reach := make([]bitset.Set, len(o.rests))
	pools := make([]bitset.Set, len(o.rests))
	for i := range o.rests {
		reach[i] = make(bitset.Set, len(o.problem.InUse))
		pools[i] = bitset.New(len(o.problem.Pools))
		for _, domain := range o.rests[i].static {
			reach[i].Or(domain)
		}
		for word, w := range reach[i] {
			if pool := o.problem.WordPool[word]; w != 0 && o.problem.Pools[pool].Counters != nil {
				pools[i].Add(pool)
			}
		}
		for j := range i {
			if reach[i].Intersects(reach[j]) || pools[i].Intersects(pools[j]) || o.bound(i, j) {
				join(i, j)
			}
		}
	}
	numbers := make(map[int]component)
	for i := range o.rests {
		root := find(i)
		number, found := numbers[root]
		if !found {
			number = component(min(len(numbers), maxComponents-1))
			numbers[root] = number
		}
		o.rests[i].component = number
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
