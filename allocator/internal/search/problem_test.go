package search

import (
	"math/big"
	"strings"

	"github.com/dray-dev/dray/allocator/internal/bitset"
	"github.com/dray-dev/dray/allocator/internal/index"
)

// problem makes the Problem of a world, with the invariants that Problem states.
func (w *world) problem() *Problem {
	b := builder{world: w, positions: map[string]int{}}
	b.numberDevices()
	for i := range w.pools {
		b.p.Pools = append(b.p.Pools, b.pool(i))
	}
	for _, claim := range w.claims {
		b.p.Claims = append(b.p.Claims, b.claim(claim))
	}
	b.shares()
	return &b.p
}

// nameAt is the device at a position of the problem.
func (w *world) nameAt(position int) string {
	b := builder{world: w, positions: map[string]int{}}
	b.numberDevices()
	for name, p := range b.positions {
		if p == position {
			return name
		}
	}
	return "nobody"
}

type builder struct {
	*world
	p         Problem
	domain    index.Domain
	positions map[string]int
}

func (b *builder) numberDevices() {
	pools := make([]*index.Pool, len(b.pools))
	for i := range pools {
		pools[i] = &index.Pool{}
	}
	inPool := make([]int, len(b.devices))
	for i, device := range b.devices {
		inPool[i] = pools[device.pool].Devices
		pools[device.pool].Devices++
	}
	b.domain = index.NewDomain(pools)
	p := &b.p
	p.Width, p.WordPool = b.domain.Width(), b.domain.WordPool
	p.InUse, p.Shared, p.MultiAllocatable = b.domain.NewSet(), b.domain.NewSet(), b.domain.NewSet()
	p.ShareOf = make([]int32, p.Width)
	for i := range p.ShareOf {
		p.ShareOf[i] = -1
	}
	p.GroupsEnforced, p.MaxResults = b.enforceGroups, b.limit
	for i, device := range b.devices {
		position := b.domain.Position(device.pool, inPool[i])
		b.positions[device.name] = position
		if device.inUse {
			p.InUse.Add(position)
		}
		if device.shared {
			p.Shared.Add(position)
		}
		if device.left != nil {
			p.MultiAllocatable.Add(position)
			p.ShareOf[position] = int32(len(p.Shares))
			p.Shares = append(p.Shares, index.Amounts{})
		}
	}
}

// exact is an amount as the index has it: in whole units, or so fine that it
// has to be kept wide.
func (b *builder) exact(value int64) index.Exact {
	if !b.wide {
		return index.Exact{Milli: value * 1000}
	}
	const nano = 9
	e, err := index.NewWide(big.NewInt(value), nano)
	if err != nil {
		panic(err)
	}
	return e
}

func (b *builder) pool(number int) Pool {
	pool := Pool{First: b.domain.Position(number, 0)}
	if len(b.pools[number].sets) == 0 {
		return pool
	}
	c := &index.Counters{Starts: []int{0}, GroupStarts: []int{0}}
	counterOf, groupOf := map[string]int{}, map[string]uint32{}
	var left, drawn []index.Exact
	for _, set := range b.pools[number].sets {
		c.Sets = append(c.Sets, index.CounterSet{Name: set.name, First: len(c.Names), Len: len(set.left)})
		for _, counter := range set.left {
			counterOf[set.name+"/"+counter.name] = len(c.Names)
			c.Names = append(c.Names, counter.name)
			left = append(left, b.exact(counter.value))
		}
		state := index.GroupState{}
		for _, groups := range set.placed {
			state = state.With(numbered(groupOf, groups))
		}
		pool.Groups = append(pool.Groups, state)
	}
	for _, device := range b.devices {
		if device.pool != number {
			continue
		}
		pool.MemberOf = append(pool.MemberOf, c.Members)
		c.Members++
		for _, draw := range device.draws {
			for _, counter := range draw.takes {
				c.Uses = append(c.Uses, index.Use{Counter: counterOf[draw.set+"/"+counter.name]})
				drawn = append(drawn, b.exact(counter.value))
				c.Refunds = c.Refunds || counter.value < 0
			}
			c.GroupUses = append(c.GroupUses, index.GroupUse{Set: b.setNumber(number, draw.set), Groups: numbered(groupOf, draw.groups)})
		}
		c.Starts, c.GroupStarts = append(c.Starts, len(c.Uses)), append(c.GroupStarts, len(c.GroupUses))
	}
	vectors := index.NewAmounts(left, drawn)
	c.Available, c.Drawn = vectors[0], vectors[1]
	pool.Counters, pool.Left = c, c.Available.Clone()
	return pool
}

func (b *builder) setNumber(pool int, name string) int {
	for i, set := range b.pools[pool].sets {
		if set.name == name {
			return i
		}
	}
	panic("no counter set " + name)
}

func numbered(numbers map[string]uint32, names []string) []uint32 {
	var list []uint32
	for _, name := range names {
		if _, found := numbers[name]; !found {
			numbers[name] = uint32(len(numbers))
		}
		list = append(list, numbers[name])
	}
	return list
}

func (b *builder) claim(spec *claimSpec) Claim {
	claim := Claim{}
	for _, r := range spec.requests {
		request := Request{Prioritized: r.prioritized}
		for _, a := range r.alternatives {
			alternative := Alternative{Count: a.count, All: a.all, Admin: a.admin, Candidates: b.setOf(a.candidates), Faulty: b.setOf(a.faulty)}
			for _, name := range a.members {
				alternative.Members = append(alternative.Members, b.positions[b.device(name).name])
			}
			if len(a.full) > 0 {
				alternative.Full = b.setOf(a.full)
			}
			if a.all {
				alternative.Count = len(alternative.Members)
			}
			request.Alternatives = append(request.Alternatives, alternative)
		}
		claim.Requests = append(claim.Requests, request)
	}
	for i, c := range spec.constraints {
		b.constraint(&claim, i, c)
	}
	return claim
}

func (b *builder) setOf(names []string) bitset.Set {
	set := b.domain.NewSet()
	for _, name := range names {
		set.Add(b.positions[b.device(name).name])
	}
	return set
}

// constraint numbers the values in the order in which devices have them.
func (b *builder) constraint(claim *Claim, number int, spec *constraintSpec) {
	texts, elements := map[string]int32{"absent": Absent, "opaque": Opaque, "unknown": Unknown}, map[string]int{}
	var sets [][]string
	for i := range claim.Requests {
		for j := range claim.Requests[i].Alternatives {
			if !spec.covers(i, j) {
				continue
			}
			values := make([]int32, b.p.Width)
			for _, device := range b.devices {
				text := spec.value(i, device.name)
				if _, found := texts[text]; !found {
					texts[text] = FirstValue + int32(len(sets))
					members := strings.Split(text, "|")
					sets = append(sets, members)
					for _, member := range members {
						if _, found := elements[member]; !found {
							elements[member] = len(elements)
						}
					}
				}
				values[b.positions[device.name]] = texts[text]
			}
			alternative := &claim.Requests[i].Alternatives[j]
			alternative.Tests = append(alternative.Tests, Test{Constraint: number, Values: values})
		}
	}
	constraint := Constraint{Distinct: spec.distinct, Lists: spec.sets}
	if spec.sets {
		for _, members := range sets {
			set := bitset.New(len(elements))
			for _, member := range members {
				set.Add(elements[member])
			}
			constraint.Sets = append(constraint.Sets, set)
		}
	}
	claim.Constraints = append(claim.Constraints, constraint)
}

// shares puts what is left of each device that can be shared, and what each
// alternative takes of it, into one unit.
func (b *builder) shares() {
	for _, device := range b.devices {
		if device.left == nil {
			continue
		}
		lists := [][]index.Exact{b.vector(device.left, device.left)}
		b.eachAlternative(func(spec *alternativeSpec, _ *Alternative) {
			lists = append(lists, b.vector(device.left, spec.takes[device.name]))
		})
		share := b.p.ShareOf[b.positions[device.name]]
		vectors := index.NewAmounts(lists...)
		b.p.Shares[share] = vectors[0]
		next := 1
		b.eachAlternative(func(_ *alternativeSpec, a *Alternative) {
			if a.Demands == nil {
				a.Demands = make([]index.Amounts, len(b.p.Shares))
			}
			a.Demands[share] = vectors[next]
			next++
		})
	}
}

func (b *builder) vector(names, values amounts) []index.Exact {
	list := make([]index.Exact, len(names))
	for i, name := range names {
		list[i] = b.exact(values.of(name.name))
	}
	return list
}

func (b *builder) eachAlternative(visit func(*alternativeSpec, *Alternative)) {
	for i, claim := range b.claims {
		for j, request := range claim.requests {
			for k, alternative := range request.alternatives {
				visit(alternative, &b.p.Claims[i].Requests[j].Alternatives[k])
			}
		}
	}
}
