// Package bitset holds fixed-length sets of small integers in machine words.
//
// A node's devices fit in one to a few words, so every operation here is a
// short loop over words that the compiler keeps free of allocations. Sets that
// meet in one operation have the same length; a shorter operand is a bug of
// the caller and fails the bounds check. The fused forms (NextAndNot) exist
// because the search asks exactly these questions once per step.
//
// Only the standard library is used, so the hot path can be tested, fuzzed and
// profiled without Kubernetes.
package bitset

import (
	"math/bits"
	"strconv"
	"strings"
)

// WordBits is the number of members a word holds.
const WordBits = 64

// Set is a set of the integers [0, 64*len(s)). The zero value is the empty
// set of length zero.
type Set []uint64

// Words says how many words hold n members.
func Words(n int) int { return (n + WordBits - 1) / WordBits }

// New returns an empty set with room for the members [0, n).
func New(n int) Set { return make(Set, Words(n)) }

// Full returns the set of all of [0, n).
func Full(n int) Set {
	s := New(n)
	s.Fill(n)
	return s
}

// Split makes the sets empty, with room for that many words each, in one allocation.
func Split(words int, sets ...*Set) {
	memory := make(Set, len(sets)*words)
	for i, s := range sets {
		*s = memory[i*words : (i+1)*words : (i+1)*words]
	}
}

// Pack moves sets of one length, which nobody may change from here on, into as
// little memory as possible. Empty ones take none while they are short.
func Pack(sets ...*Set) {
	if len(sets) == 0 {
		return
	}
	words, full := len(*sets[0]), 0
	for _, s := range sets {
		if !s.Empty() {
			full++
		}
	}
	empty := Set(nothing[:min(words, len(nothing))])
	if full < len(sets) && words > len(nothing) {
		empty = make(Set, words)
	}
	memory := make(Set, full*words)
	for _, s := range sets {
		if s.Empty() {
			*s = empty[:words:words]
			continue
		}
		copy(memory, *s)
		*s, memory = memory[:words:words], memory[words:]
	}
}

// nothing is what short empty sets are packed into. It stays empty.
var nothing [16]uint64

// Fill makes [0, n) the members; the set's length is Words(n).
func (s Set) Fill(n int) {
	for i := range s {
		s[i] = ^uint64(0)
	}
	if rest := n % WordBits; rest != 0 {
		s[len(s)-1] = 1<<rest - 1
	}
}

// Has says whether i is a member; i must be below 64*len(s).
func (s Set) Has(i int) bool { return s[i/WordBits]&(1<<(i%WordBits)) != 0 }

// Add makes i a member.
func (s Set) Add(i int) { s[i/WordBits] |= 1 << (i % WordBits) }

// Remove makes i no member.
func (s Set) Remove(i int) { s[i/WordBits] &^= 1 << (i % WordBits) }

// And removes from s what is not in t.
func (s Set) And(t Set) {
	for i := range s {
		s[i] &= t[i]
	}
}

// AndNot removes from s what is in t.
func (s Set) AndNot(t Set) {
	for i := range s {
		s[i] &^= t[i]
	}
}

// Or adds to s what is in t.
func (s Set) Or(t Set) {
	for i := range s {
		s[i] |= t[i]
	}
}

// Clone returns an independent copy.
func (s Set) Clone() Set { return append(Set(nil), s...) }

// Count returns the number of members.
func (s Set) Count() int {
	n := 0
	for _, w := range s {
		n += bits.OnesCount64(w)
	}
	return n
}

// Empty says whether there is no member.
func (s Set) Empty() bool {
	for _, w := range s {
		if w != 0 {
			return false
		}
	}
	return true
}

// Equal says whether both sets have the same length and members.
func (s Set) Equal(t Set) bool {
	if len(s) != len(t) {
		return false
	}
	for i := range s {
		if s[i] != t[i] {
			return false
		}
	}
	return true
}

// Intersects says whether some integer is a member of both.
func (s Set) Intersects(t Set) bool {
	for i := range s {
		if s[i]&t[i] != 0 {
			return true
		}
	}
	return false
}

// Next returns the smallest member that is at least from.
func (s Set) Next(from int) (member int, ok bool) {
	word := from / WordBits
	if word >= len(s) {
		return 0, false
	}
	w := s[word] &^ (1<<(from%WordBits) - 1)
	for {
		if w != 0 {
			return word*WordBits + bits.TrailingZeros64(w), true
		}
		if word++; word == len(s) {
			return 0, false
		}
		w = s[word]
	}
}

// NextAndNot returns the smallest member of s without t that is at least from.
func (s Set) NextAndNot(t Set, from int) (member int, ok bool) {
	word := from / WordBits
	if word >= len(s) {
		return 0, false
	}
	w := s[word] &^ t[word] &^ (1<<(from%WordBits) - 1)
	for {
		if w != 0 {
			return word*WordBits + bits.TrailingZeros64(w), true
		}
		if word++; word == len(s) {
			return 0, false
		}
		w = s[word] &^ t[word]
	}
}

// All calls yield for each member in increasing order until it returns false.
func (s Set) All(yield func(member int) bool) {
	for word, w := range s {
		for ; w != 0; w &= w - 1 {
			if !yield(word*WordBits + bits.TrailingZeros64(w)) {
				return
			}
		}
	}
}

// String lists the members, for test failures.
func (s Set) String() string {
	var b strings.Builder
	b.WriteByte('{')
	for member := range s.All {
		if b.Len() > 1 {
			b.WriteByte(' ')
		}
		b.WriteString(strconv.Itoa(member))
	}
	b.WriteByte('}')
	return b.String()
}
