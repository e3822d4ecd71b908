package search

import (
	"math/bits"

	"github.com/dray-dev/dray/allocator/internal/bitset"
)

// matcher decides whether several demands can be met at once by things that
// only one demand can have: bipartite matching between the units of demands and
// things (Hall's theorem says when one exists). It answers a question and does
// not say who gets what: the answer of the search has to be the first in
// upstream's order, which a matching need not be.
//
// Use: reset; for each demand add its domain (the set returned may be changed),
// then need; possible.
type matcher struct {
	domains []bitset.Set
	needs   []int
	spare   []bitset.Set

	owner   []int16
	visited bitset.Set
	taken   bitset.Set
}

func (m *matcher) reset() {
	m.domains, m.needs = m.domains[:0], m.needs[:0]
}

// add copies a domain; its length is the same for all of them.
func (m *matcher) add(domain bitset.Set) bitset.Set {
	i := len(m.domains)
	if i == len(m.spare) {
		m.spare = append(m.spare, nil)
	}
	m.spare[i] = append(m.spare[i][:0], domain...)
	m.domains = append(m.domains, m.spare[i])
	return m.spare[i]
}

// need sets how many things the demand added last must have.
func (m *matcher) need(n int) { m.needs = append(m.needs, n) }

func (m *matcher) possible() bool {
	if len(m.domains) == 0 {
		return true
	}
	words := len(m.domains[0])
	if cap(m.taken) < words {
		m.taken, m.visited = make(bitset.Set, words), make(bitset.Set, words)
		m.owner = make([]int16, words*bitset.WordBits)
	}
	m.taken, m.visited = m.taken[:words], m.visited[:words]
	clear(m.taken)
	for i, domain := range m.domains {
		for left := m.needs[i]; left > 0; left-- {
			thing, free := domain.NextAndNot(m.taken, 0)
			if free {
				m.taken.Add(thing)
				m.owner[thing] = int16(i)
				continue
			}
			clear(m.visited)
			if !m.augment(int16(i)) {
				return false
			}
		}
	}
	return true
}

// augment finds one more thing for a demand by passing others on (Kuhn).
func (m *matcher) augment(demand int16) bool {
	domain := m.domains[demand]
	for word := range domain {
		for {
			w := domain[word] &^ m.visited[word]
			if w == 0 {
				break
			}
			thing := word*bitset.WordBits + bits.TrailingZeros64(w)
			m.visited.Add(thing)
			if m.taken.Has(thing) {
				if m.owner[thing] == demand || !m.augment(m.owner[thing]) {
					continue
				}
			}
			m.taken.Add(thing)
			m.owner[thing] = demand
			return true
		}
	}
	return false
}
