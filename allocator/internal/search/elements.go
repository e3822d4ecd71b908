package search

import "github.com/dray-dev/dray/allocator/internal/bitset"

// elements turns a constraint around: for each value that devices can have in
// common (each element, where values are lists), the devices that have it. One
// table serves all alternatives that the constraint covers.
//
// A match constraint holds for a set of devices exactly if some element is in
// the values of all of them. So for each element alone the question is simple:
// are there enough devices that have it? A distinct constraint gives each
// element to at most one device.
type elements struct {
	built bool
	// usable: every value is known to be comparable, and the table is small.
	usable bool
	count  int
	// having[i][e] are the devices with element e in the static domain of the
	// i-th pair of request and alternative that the constraint covers.
	having map[*Alternative][]bitset.Set
	// possible is scratch for the elements that all demands can agree on.
	possible bitset.Set
}

// maxElements bounds a table: beyond it the constraint is left to the search.
const maxElements = 1024

func (o *outlook) elementsOf(claim, constraint int) *elements {
	if o.tables == nil {
		o.tables = make([][]elements, len(o.problem.Claims))
	}
	if o.tables[claim] == nil {
		o.tables[claim] = make([]elements, len(o.problem.Claims[claim].Constraints))
	}
	table := &o.tables[claim][constraint]
	if !table.built {
		table.built = true
		table.usable = o.build(table, claim, constraint)
	}
	return table
}

func (o *outlook) build(table *elements, claim, number int) bool {
	constraint := &o.problem.Claims[claim].Constraints[number]
	table.having = make(map[*Alternative][]bitset.Set)
	if constraint.Lists && len(constraint.Sets) > 0 {
		table.count = len(constraint.Sets[0]) * bitset.WordBits
	}
	return o.eachValue(claim, number, func(a *Alternative, position int, value int32) bool {
		if !constraint.Lists {
			table.count = max(table.count, int(value-FirstValue)+1)
		}
		return value >= FirstValue && table.count <= maxElements
	}) && o.eachValue(claim, number, func(a *Alternative, position int, value int32) bool {
		having := table.having[a]
		if having == nil {
			having = make([]bitset.Set, table.count)
			table.having[a] = having
		}
		add := func(element int) bool {
			if having[element] == nil {
				having[element] = make(bitset.Set, len(o.problem.InUse))
			}
			having[element].Add(position)
			return true
		}
		if constraint.Lists {
			constraint.Sets[value-FirstValue].All(add)
		} else {
			add(int(value - FirstValue))
		}
		return true
	})
}

// eachValue visits the values that covered alternatives can get, until visit is
// false.
func (o *outlook) eachValue(claim, number int, visit func(a *Alternative, position int, value int32) bool) bool {
	for i := o.first[claim]; i < len(o.rests) && o.rests[i].claim == claim; i++ {
		for n := range o.rests[i].alternatives {
			a := &o.rests[i].alternatives[n]
			values, covered := a.values(number)
			if !covered {
				continue
			}
			for position := range o.rests[i].static[n].All {
				if !visit(a, position, values[position]) {
					return false
				}
			}
		}
	}
	return true
}

// values returns what a constraint compares, if it covers the alternative.
func (a *Alternative) values(constraint int) ([]int32, bool) {
	for _, test := range a.Tests {
		if test.Constraint == constraint {
			return test.Values, true
		}
	}
	return nil, false
}

// constraintsHold checks each constraint of the remaining requests, and takes
// devices out of the domains that have none of the elements still possible.
func (o *outlook) constraintsHold() bool {
	for start := 0; start < len(o.demands); {
		claim := o.demands[start].rest.claim
		end := start
		for end < len(o.demands) && o.demands[end].rest.claim == claim {
			end++
		}
		for c := range o.problem.Claims[claim].Constraints {
			if !o.constraintHolds(claim, c, o.demands[start:end]) {
				o.blame = 0
				for i := start; i < end; i++ {
					if _, covered := o.demands[i].alternative.values(c); covered {
						o.blame |= o.demands[i].rest.component.blame()
					}
				}
				return false
			}
		}
		start = end
	}
	return true
}

func (o *outlook) constraintHolds(claim, number int, demands []demand) bool {
	covered, needed := 0, 0
	for i := range demands {
		if _, ok := demands[i].alternative.values(number); ok && demands[i].need > 0 {
			covered++
			needed += demands[i].need
		}
	}
	if covered == 0 || needed+o.constraints[claim][number].devices < 2 {
		return true
	}
	table := o.elementsOf(claim, number)
	if !table.usable {
		return true
	}
	if !o.problem.Claims[claim].Constraints[number].Distinct {
		return o.someElementFits(table, number, demands)
	}
	return o.elementsSuffice(table, number, demands)
}

// someElementFits looks for elements that all demands can have in common.
func (o *outlook) someElementFits(table *elements, number int, demands []demand) bool {
	if table.possible == nil {
		table.possible = bitset.New(table.count)
	}
	clear(table.possible)
	for e := range table.count {
		if o.elementFits(table, e, number, demands) {
			table.possible.Add(e)
		}
	}
	if table.possible.Empty() {
		return false
	}
	for i := range demands {
		d := &demands[i]
		if _, ok := d.alternative.values(number); !ok || d.need == 0 {
			continue
		}
		having := table.having[d.alternative]
		for word := range d.domain {
			keep := uint64(0)
			for e := range table.possible.All {
				if having[e] != nil {
					keep |= having[e][word]
				}
			}
			d.domain[word] &= keep
		}
	}
	return true
}

// elementFits says whether all demands can be met by devices with the element.
func (o *outlook) elementFits(table *elements, e, number int, demands []demand) bool {
	o.match.reset()
	for i := range demands {
		d := &demands[i]
		if _, ok := d.alternative.values(number); !ok || d.need == 0 {
			continue
		}
		having := table.having[d.alternative]
		if having == nil || having[e] == nil {
			return false
		}
		count, shared := 0, 0
		for word, w := range d.domain {
			w &= having[e][word]
			count += bitset.Set{w}.Count()
			shared += bitset.Set{w & o.problem.MultiAllocatable[word]}.Count()
		}
		if count < d.need {
			return false
		}
		if d.alternative.Admin {
			continue
		}
		exclusive := o.match.add(d.domain)
		exclusive.And(having[e])
		exclusive.AndNot(o.problem.MultiAllocatable)
		o.match.need(max(d.need-shared, 0))
	}
	return o.match.possible()
}

// elementsSuffice matches demands with elements, of which each serves one
// device. Devices whose values are lists take several, and at least the one.
func (o *outlook) elementsSuffice(table *elements, number int, demands []demand) bool {
	if table.possible == nil {
		table.possible = bitset.New(table.count)
	}
	o.match.reset()
	for i := range demands {
		d := &demands[i]
		if _, ok := d.alternative.values(number); !ok || d.need == 0 {
			continue
		}
		clear(table.possible)
		for e, devices := range table.having[d.alternative] {
			if devices != nil && devices.Intersects(d.domain) {
				table.possible.Add(e)
			}
		}
		o.match.add(table.possible)
		o.match.need(d.need)
	}
	return o.match.possible()
}
