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
	// starts has an entry a pair of request and alternative: what sets is asked by,
	// -1 where the constraint does not cover the alternative or no device is left.
	starts []int32
	// sets[starts[pair]+e] says where in memory the devices are that have element e
	// and are in the static domain of the pair, as the number of their first word
	// plus one; 0 is none.
	sets   []int32
	memory bitset.Set
	words  int
	// possible is scratch for the elements that all demands can agree on.
	possible bitset.Set
}

func (t *elements) begin(pairs, words int) {
	t.built, t.count, t.words = true, 0, words
	t.starts = resized(t.starts, pairs)
	for i := range t.starts {
		t.starts[i] = -1
	}
	t.sets, t.memory = t.sets[:0], t.memory[:0]
}

// having returns the devices of a pair that have an element, nil for none.
func (t *elements) having(pair, element int) bitset.Set {
	start := t.starts[pair]
	if start < 0 {
		return nil
	}
	at := int(t.sets[int(start)+element])
	if at == 0 {
		return nil
	}
	return t.memory[at-1 : at-1+t.words]
}

// add notes that a device of a pair has an element. count does not change any more.
func (t *elements) add(pair, element, position int) {
	if t.starts[pair] < 0 {
		n := len(t.sets)
		t.starts[pair] = int32(n)
		t.sets = resized(t.sets, n+t.count)
		clear(t.sets[n:])
	}
	at := &t.sets[int(t.starts[pair])+element]
	if *at == 0 {
		n := len(t.memory)
		t.memory = resized(t.memory, n+t.words)
		clear(t.memory[n:])
		*at = int32(n) + 1
	}
	t.memory[int(*at)-1 : int(*at)-1+t.words].Add(position)
}

// maxElements bounds a table: beyond it the constraint is left to the search.
const maxElements = 1024

func (o *outlook) elementsOf(claim, constraint int) *elements {
	table := &o.tables[claim][constraint]
	if !table.built {
		last := &o.rests[len(o.rests)-1]
		table.begin(last.pair+len(last.alternatives), len(o.problem.InUse))
		table.usable = o.build(table, claim, constraint)
	}
	return table
}

// forgetElements makes the tables those of another problem, none of them built.
func (o *outlook) forgetElements() {
	o.tables = resized(o.tables, len(o.problem.Claims))
	for c := range o.tables {
		o.tables[c] = resized(o.tables[c], len(o.problem.Claims[c].Constraints))
		for i := range o.tables[c] {
			o.tables[c][i].built = false
		}
	}
}

func (o *outlook) build(table *elements, claim, number int) bool {
	constraint := &o.problem.Claims[claim].Constraints[number]
	if constraint.Lists && len(constraint.Sets) > 0 {
		table.count = len(constraint.Sets[0]) * bitset.WordBits
	}
	return o.eachValue(claim, number, func(pair, position int, value int32) bool {
		if !constraint.Lists {
			table.count = max(table.count, int(value-FirstValue)+1)
		}
		return value >= FirstValue && table.count <= maxElements
	}) && o.eachValue(claim, number, func(pair, position int, value int32) bool {
		if !constraint.Lists {
			table.add(pair, int(value-FirstValue), position)
			return true
		}
		for element := range constraint.Sets[value-FirstValue].All {
			table.add(pair, element, position)
		}
		return true
	})
}

// eachValue visits the values that covered alternatives can get, until visit is
// false.
func (o *outlook) eachValue(claim, number int, visit func(pair, position int, value int32) bool) bool {
	for i := o.first[claim]; i < len(o.rests) && o.rests[i].claim == claim; i++ {
		for n := range o.rests[i].alternatives {
			values, covered := o.rests[i].alternatives[n].values(number)
			if !covered {
				continue
			}
			for position := range o.rests[i].static[n].All {
				if !visit(o.rests[i].pair+n, position, values[position]) {
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
	table.possible = cleared(table.possible, bitset.Words(table.count))
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
		o.members = cleared(o.members, len(d.domain))
		for e := range table.possible.All {
			if having := table.having(d.pair(), e); having != nil {
				o.members.Or(having)
			}
		}
		d.domain.And(o.members)
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
		having := table.having(d.pair(), e)
		if having == nil {
			return false
		}
		count, shared := 0, 0
		for word, w := range d.domain {
			w &= having[word]
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
		exclusive.And(having)
		exclusive.AndNot(o.problem.MultiAllocatable)
		o.match.need(max(d.need-shared, 0))
	}
	return o.match.possible()
}

// elementsSuffice matches demands with elements, of which each serves one
// device. Devices whose values are lists take several, and at least the one.
func (o *outlook) elementsSuffice(table *elements, number int, demands []demand) bool {
	table.possible = resized(table.possible, bitset.Words(table.count))
	o.match.reset()
	for i := range demands {
		d := &demands[i]
		if _, ok := d.alternative.values(number); !ok || d.need == 0 {
			continue
		}
		clear(table.possible)
		for e := range table.count {
			if having := table.having(d.pair(), e); having != nil && having.Intersects(d.domain) {
				table.possible.Add(e)
			}
		}
		o.match.add(table.possible)
		o.match.need(d.need)
	}
	return o.match.possible()
}
