package search

import (
	"context"
	"encoding/binary"
	"math/bits"

	"github.com/dray-dev/dray/allocator/internal/bitset"
)

// The pruned order walks the same tree in the same order as the faithful one
// and leaves out subtrees that hold neither a solution nor a fault. A fault
// ends scheduling of the pod, so a subtree that could reach one is never left
// out: where a problem has any fault in reach, Run keeps to the faithful order.

// Run returns what Faithful returns, but for Steps, which is never larger.
//
// Most problems are solved on the first way down, and those that are not often
// lack devices for some request outright. So pruning is prepared only when the
// walk first has to turn back.
func Run(ctx context.Context, p *Problem) Outcome { return new(Scratch).Run(ctx, p) }

// prunable says whether no fault is in reach, and whether taking devices can
// only ever make others unavailable.
func prunable(p *Problem) bool {
	for i := range p.Pools {
		if p.Pools[i].Counters != nil && p.Pools[i].Counters.Refunds {
			return false
		}
	}
	for c := range p.Claims {
		for r := range p.Claims[c].Requests {
			for a := range p.Claims[c].Requests[r].Alternatives {
				if faultInReach(p, &p.Claims[c].Requests[r].Alternatives[a]) {
					return false
				}
			}
		}
	}
	return true
}

func faultInReach(p *Problem, a *Alternative) bool {
	for word, w := range a.Faulty {
		if !a.Admin {
			w &^= p.InUse[word]
		}
		if w != 0 {
			return true
		}
	}
	if a.All && len(a.Tests) > 0 {
		return true // A constraint that keeps a member away is a fault.
	}
	for _, test := range a.Tests {
		for position := range a.Candidates.All {
			if test.Values[position] == Unknown {
				return true
			}
		}
	}
	return false
}

// short says whether some request lacks devices before anything is taken.
func short(p *Problem) bool {
	for c := range p.Claims {
		for r := range p.Claims[c].Requests {
			request := &p.Claims[c].Requests[r]
			possible := false
			for a := range request.Alternatives {
				possible = possible || enough(p, &request.Alternatives[a])
			}
			if !possible {
				return true
			}
		}
	}
	return false
}

func enough(p *Problem, a *Alternative) bool {
	if a.All {
		return len(a.Members) > 0
	}
	have := 0
	for word, w := range a.Candidates {
		if !a.Admin {
			w &^= p.InUse[word]
		}
		have += bitset.Set{w}.Count()
	}
	return have >= a.Count
}

// memory is what pruning keeps beside the state of the walk. It is made at the
// first dead end, which may lie deep; so it looks at the root first, with nothing
// taken, and if that is hopeless the walk goes back all the way.
type memory struct {
	*outlook
	// root is the state in which nothing is taken.
	root state
	// blocks are made when they are first compared.
	blocks  blocks
	packing packing
	// hopeless: the problem has no solution, wherever the walk is.
	hopeless bool
	// admin: some alternative has admin access, so devices in use matter.
	admin bool
	// later[i] are the devices that requests behind rests[i] may take.
	later []bitset.Set
	// nogoods are the keys of subtrees that hold no solution; blames has the blame
	// of each.
	nogoods dictionary
	blames  []blame

	key, stateBuffer []byte
	bounds           [][2]int
	// kept are sets that nodes on the way down go on using; depth counts them.
	kept  []bitset.Set
	depth int
	// remembered are keys that those nodes go on using: at most one of the node's
	// state, then those of devices that were tried in vain.
	remembered keys
}

// maxLearnt bounds the bytes of nogoods of one search; beyond it, what is known
// is used and nothing is learnt.
const maxLearnt = 8 << 20

// begin makes the memory that of a walk in the given state, whatever it was before.
func (m *memory) begin(s *state) {
	m.root.begin(s.problem)
	if m.outlook == nil {
		m.outlook = &outlook{}
	}
	m.outlook.begin(&m.root)
	m.blocks.divided = false
	m.packing.begin()
	m.admin, m.depth = false, 0
	m.remembered.begin()
	m.nogoods.begin()
	m.blames = m.blames[:0]
	m.demands = m.demands[:0]
	m.rooms.look(m.state)
	m.hopeless = !m.demandsFrom(0) || !m.hopeful()
	m.outlook.resume(s)
	m.packing.resume()
	m.later = resized(m.later, len(m.rests))
	after := m.scratch(0)
	clear(after)
	for i := len(m.rests) - 1; i >= 0; i-- {
		m.later[i] = append(m.later[i][:0], after...)
		for n, domain := range m.rests[i].static {
			after.Or(domain)
			m.admin = m.admin || m.rests[i].alternatives[n].Admin
		}
	}
}

// end lets go of what a search has learnt and the next one cannot use: that can
// be megabytes, and the next one that prunes may be far off. What is little stays
// as empty memory, so that a search which is repeated needs none of its own.
func (m *memory) end() {
	if cap(m.blames) > 2*keptKeys {
		m.blames = nil
	}
	m.nogoods.begin()
	m.remembered.begin()
	m.packing.end()
}

// mine is the component of the request at a node.
func (m *memory) mine(at place) blame {
	return m.rests[m.first[at.claim]+at.request].component.blame()
}

// hopeful makes all checks of the demands, as look does, and packs as well. A
// packing that gives all demands their devices answers for the bounds on devices
// and on counters; so packs comes first, where it is conclusive most of the time.
// Where it is not, the bounds are asked, too: they know better whom to blame.
func (m *memory) hopeful() bool {
	if !m.constraintsHold() {
		return false
	}
	packs, proven := m.packs()
	if !packs && m.outlook.blame == m.blameDemands(func(*demand) bool { return true }) && bits.OnesCount64(uint64(m.outlook.blame)) == 1 {
		return false // There is nobody else to blame.
	}
	if !proven && (!m.devicesSuffice() || !m.countersSuffice()) || !m.sharesSuffice() {
		return false
	}
	return packs
}

// prune makes the walk prune from here on.
func (w *walk) prune() bool {
	if w.memory == nil && w.prunable {
		if w.memory = w.spare; w.memory == nil {
			w.memory = &memory{}
		}
		w.memory.begin(w.state)
	}
	return w.memory != nil
}

// fail ends a node without a solution.
func (w *walk) fail(b blame) verdict {
	w.blame = b
	if w.memory.hopeless {
		w.blame = 0 // No choice is to blame: none can help.
	}
	return none
}

// tryLikely tries the devices for one slot of a request that look says may lead
// to a solution, without those whose twins did not.
func (w *walk) tryLikely(at place, alternative *Alternative) verdict {
	m := w.memory
	if !m.demandsAt(at) || !m.hopeful() {
		return w.fail(m.outlook.blame)
	}
	domain, mark := m.keep(m.demands[0].domain), m.remembered.len()
	defer m.drop(mark)
	if m.nogoods.len() > 0 {
		key := m.stateKey(at, domain)
		if number, known := m.nogoods.find(key); known {
			return w.fail(m.blames[number])
		}
		m.remembered.push(key)
	}
	mine, first := m.mine(at), m.remembered.len()
	b := mine
	for position := range domain.All {
		if m.remembered.len() > first && m.remembered.has(first, m.twinKey(at, position, domain)) {
			continue
		}
		if w.take(at, alternative, position) == refused {
			continue
		}
		next := at
		next.device, next.from = at.device+1, position+1
		v := w.step(next)
		if v == found {
			return found
		}
		w.giveBack()
		if v != none {
			return v
		}
		if w.blame&mine == 0 {
			return none
		}
		b |= w.blame
		if _, more := domain.Next(position + 1); more {
			m.remembered.push(m.twinKey(at, position, domain))
		}
	}
	if len(m.nogoods.bytes) < maxLearnt {
		var key []byte
		if mark < first {
			key = m.remembered.at(mark) // The state is again what it was.
		} else {
			key = m.stateKey(at, domain)
		}
		m.learn(key, b)
	}
	return w.fail(b)
}

// learn keeps the blame for a subtree that holds no solution.
func (m *memory) learn(key []byte, b blame) {
	if number, known := m.nogoods.find(key); known {
		m.blames[number] = b
		return
	}
	m.nogoods.add(key)
	m.blames = append(m.blames, b)
}

// tryRest goes on with a node at which the walk began to prune, after a device
// before from was tried in vain.
func (w *walk) tryRest(at place, alternative *Alternative, from int) verdict {
	tried, mine := w.blame, w.memory.mine(at)
	if w.memory.hopeless || tried&mine == 0 {
		return none
	}
	if w.memory.overflows(at, alternative, at.device) {
		return w.fail(tried | mine)
	}
	at.from = from
	v := w.tryLikely(at, alternative)
	w.blame |= tried | mine
	return v
}

// twinKey is equal for devices of exchangeable blocks.
func (m *memory) twinKey(at place, position int, domain bitset.Set) []byte {
	blocks := m.divided()
	key, _ := m.appendState(m.key[:0], blocks.of[position], at.claim, domain, m.later[m.first[at.claim]+at.request])
	m.key = key
	return binary.AppendVarint(key, int64(blocks.within[position]))
}

func (m *memory) divided() *blocks {
	if !m.blocks.divided {
		m.blocks.begin(m.outlook)
	}
	return &m.blocks
}

// keep copies a set that is needed until the matching drop, which forgets the keys
// remembered since, too.
func (m *memory) keep(s bitset.Set) bitset.Set {
	if m.depth == len(m.kept) {
		m.kept = append(m.kept, nil)
	}
	m.kept[m.depth] = append(m.kept[m.depth][:0], s...)
	m.depth++
	return m.kept[m.depth-1]
}

func (m *memory) drop(remembered int) {
	m.depth--
	m.remembered.cut(remembered)
}
