package search

import (
	"context"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/dray-dev/dray/allocator/internal/bitset"
	"github.com/dray-dev/dray/allocator/internal/index"
)

// TestPackingIsExact compares packs with a brute force that tries to give each
// device to each demand, along random walks: down by takes, up by giveBacks, so
// that whatever packing remembers of other states is there to mislead it.
func TestPackingIsExact(t *testing.T) {
	const seed = 20261202
	cases := 10000
	if testing.Short() || raceDetector {
		cases = 1000
	}
	yes, no := 0, 0
	for i := range cases {
		g := generator{Rand: rand.New(rand.NewPCG(seed, uint64(i)))}
		text := g.partitions()
		askAlongAWalk(g.Rand, parse(text).problem(), func(m *memory) {
			got, proven := m.packs()
			want := packsByForce(m.outlook)
			if got != want {
				t.Errorf("packs says %v, the brute force %v, with %v taken", got, want, m.picks)
			}
			if proven != got {
				t.Errorf("nothing is left out, and packs says %v proven: %v", got, proven)
			}
			if want {
				yes++
			} else {
				no++
			}
		})
		if t.Failed() {
			t.Fatalf("seed %d, case %d:\n%s", seed, i, text)
		}
	}
	t.Logf("the answer is yes %d times, no %d times", yes, no)
	if yes < cases/2 || no < cases/10 {
		t.Error("too few answers prove anything")
	}
}

// partitions writes one claim on devices that all draw from counter sets. Few
// kinds of devices and demands make many of them as good as each other.
func (g *generator) partitions() string {
	var kinds [2][]string
	for pool := range 1 + g.IntN(2) {
		devices := []string{"a", "b", "c", "d", "e", "f", "g", "h"}[4*pool:][:2+g.IntN(3)]
		g.line("pool devices=(%s)", join(devices))
		for _, set := range []string{"s", "t"} {
			g.line("set name=%s left=(memory=%d,slices=%d)", set, g.IntN(5), g.IntN(4))
			if g.IntN(6) == 0 {
				g.line("placed set=%s groups=(%s)", set, join(g.groups(1)))
			}
		}
		for _, device := range devices {
			kind := g.IntN(2)
			kinds[kind] = append(kinds[kind], device)
			sets := []string{"s", "t"}
			for _, set := range [][]string{sets[:1], sets[1:], sets}[g.IntN(3)] {
				g.line("draws device=%s set=%s amounts=(memory=%d,slices=%d) groups=(%s)", device, set, g.IntN(2+kind), g.IntN(2), join(g.groups(1)))
			}
		}
	}
	g.maybe(2, "enforce-groups")
	g.line("claim")
	for range 1 + g.IntN(4) {
		from := slices.Concat(kinds[0], kinds[1])
		if kind := g.IntN(3); kind < 2 && len(kinds[kind]) > 0 {
			from = kinds[kind]
		}
		if g.IntN(4) == 0 {
			g.line("request first-available")
			g.line("or count=%d from=(%s)", 1+g.IntN(2), join(g.some(50, from)))
			g.line("or count=%d from=(%s)", 1+g.IntN(2), join(g.some(50, from)))
			continue
		}
		g.line("request count=%d from=(%s)", 1+g.IntN(2), join(from))
	}
	return g.text.String()
}

// askAlongAWalk goes down by random devices and up at random, and calls ask at
// some of the nodes, whatever the other bounds say there.
func askAlongAWalk(random *rand.Rand, p *Problem, ask func(*memory)) {
	w := walk{ctx: context.Background(), state: newState(p), prunable: true}
	m := &memory{outlook: newOutlook(w.state)}
	requests := p.Claims[0].Requests
	var path []place
	begin := func(request int) (at place) {
		if request < len(requests) {
			at.alternative = random.IntN(len(requests[request].Alternatives))
		}
		at.request = request
		return at
	}
	at := begin(0)
	for range 60 {
		for at.request < len(requests) && at.device == requests[at.request].Alternatives[at.alternative].Count {
			at = begin(at.request + 1)
		}
		if at.request < len(requests) && random.IntN(5) > 1 && m.demandsAt(at) {
			candidates := slices.Collect(m.demands[0].domain.All)
			if random.IntN(2) == 0 {
				ask(m)
			}
			position := candidates[random.IntN(len(candidates))]
			if w.take(at, &requests[at.request].Alternatives[at.alternative], position) == accepted {
				path = append(path, at)
				at.device, at.from = at.device+1, position+1
			}
			continue
		}
		if len(path) > 0 {
			w.giveBack()
			at, path = path[len(path)-1], path[:len(path)-1]
		}
	}
}

// packsByForce gives each device to none of the demands or to one, in all ways.
// Demands with other devices to take are none of packing's business.
func packsByForce(o *outlook) bool {
	var domains []bitset.Set
	var needs []int
	union := make(bitset.Set, len(o.problem.InUse))
	for i := range o.demands {
		d := &o.demands[i]
		draws := d.need > 0 && !d.alternative.Admin
		for position := range d.domain.All {
			pool := &o.problem.Pools[o.problem.WordPool[position/bitset.WordBits]]
			draws = draws && pool.Counters != nil && o.problem.ShareOf[position] < 0 && len(pool.Counters.GroupsOf(pool.MemberOf[position-pool.First])) > 0
		}
		if draws {
			domains, needs = append(domains, d.domain), append(needs, d.need)
			union.Or(d.domain)
		}
	}
	devices := slices.Collect(union.All)
	left := make([][]int64, len(o.pools))
	groups := make([][]index.GroupState, len(o.pools))
	for i := range o.pools {
		left[i], groups[i] = slices.Clone(o.pools[i].left.Narrow), slices.Clone(o.pools[i].groups)
	}
	var give func(i int) bool
	give = func(i int) bool {
		if i == len(devices) {
			return !slices.ContainsFunc(needs, func(need int) bool { return need > 0 })
		}
		if give(i + 1) {
			return true
		}
		number := o.problem.WordPool[devices[i]/bitset.WordBits]
		pool := &o.problem.Pools[number]
		member := pool.MemberOf[devices[i]-pool.First]
		leftBefore, groupsBefore := slices.Clone(left[number]), slices.Clone(groups[number])
		defer func() { left[number], groups[number] = leftBefore, groupsBefore }()
		first, end := pool.Counters.UsesOf(member)
		for use := first; use < end; use++ {
			counter := pool.Counters.Uses[use].Counter
			if left[number][counter] -= pool.Counters.Drawn.Narrow[use]; left[number][counter] < 0 {
				return false
			}
		}
		for _, use := range pool.Counters.GroupsOf(member) {
			if o.problem.GroupsEnforced && !groups[number][use.Set].Admits(use.Groups) {
				return false
			}
			groups[number][use.Set] = groups[number][use.Set].With(use.Groups)
		}
		for d := range domains {
			if domains[d].Has(devices[i]) && needs[d] > 0 {
				needs[d]--
				ok := give(i + 1)
				needs[d]++
				if ok {
					return true
				}
			}
		}
		return false
	}
	return give(0)
}
