package bitset

import (
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"
)

// members is the dumb twin: a sorted slice of the members below n.
func members(n int, has func(int) bool) []int {
	var list []int
	for i := range n {
		if has(i) {
			list = append(list, i)
		}
	}
	return list
}

func random(r *rand.Rand, n int) Set {
	s := New(n)
	for i := range n {
		if r.IntN(3) == 0 {
			s.Add(i)
		}
	}
	return s
}

func TestOperationsAgreeWithMembershipOneByOne(t *testing.T) {
	const seed = 1
	r := rand.New(rand.NewPCG(seed, seed))
	for _, n := range []int{1, 63, 64, 65, 128, 200} {
		for range 200 {
			a, b := random(r, n), random(r, n)
			check := func(name string, got Set, want func(i int) bool) {
				t.Helper()
				if list := members(n, want); !slices.Equal(slices.Collect(got.All), list) {
					t.Fatalf("seed %d, n %d: %s of %v and %v is %v, want %v", seed, n, name, a, b, got, list)
				}
			}
			and, andNot, or := a.Clone(), a.Clone(), a.Clone()
			and.And(b)
			andNot.AndNot(b)
			or.Or(b)
			check("And", and, func(i int) bool { return a.Has(i) && b.Has(i) })
			check("AndNot", andNot, func(i int) bool { return a.Has(i) && !b.Has(i) })
			check("Or", or, func(i int) bool { return a.Has(i) || b.Has(i) })
			if got, want := a.Intersects(b), !and.Empty(); got != want {
				t.Fatalf("seed %d: Intersects of %v and %v is %v", seed, a, b, got)
			}
			if got, want := a.Count(), len(slices.Collect(a.All)); got != want {
				t.Fatalf("seed %d: Count of %v is %d, want %d", seed, a, got, want)
			}
			checkNext(t, seed, n, a, b, andNot)
		}
	}
}

func checkNext(t *testing.T, seed, n int, a, b, andNot Set) {
	t.Helper()
	for from := range n + 70 {
		wantMember, wantOK := 0, false
		for i := from; i < n; i++ {
			if andNot.Has(i) {
				wantMember, wantOK = i, true
				break
			}
		}
		if got, ok := a.NextAndNot(b, from); got != wantMember || ok != wantOK {
			t.Fatalf("seed %d: NextAndNot(%v, %v, %d) = %d %v, want %d %v", seed, a, b, from, got, ok, wantMember, wantOK)
		}
		if got, ok := andNot.Next(from); got != wantMember || ok != wantOK {
			t.Fatalf("seed %d: Next(%v, %d) = %d %v, want %d %v", seed, andNot, from, got, ok, wantMember, wantOK)
		}
	}
}

func TestFullHasExactlyTheFirstN(t *testing.T) {
	for _, n := range []int{0, 1, 63, 64, 65, 128} {
		s := Full(n)
		if s.Count() != n {
			t.Errorf("Full(%d) has %d members", n, s.Count())
		}
		if n > 0 && !s.Has(n-1) {
			t.Errorf("Full(%d) lacks %d", n, n-1)
		}
	}
}

func TestEqualComparesLengthAndMembers(t *testing.T) {
	a := Full(64)
	if !a.Equal(a.Clone()) || a.Equal(Full(65)) || a.Equal(New(64)) {
		t.Fatal("Equal is wrong")
	}
}

func TestAddAndRemoveConcernOneMember(t *testing.T) {
	s := New(130)
	for _, i := range []int{0, 63, 64, 129} {
		s.Add(i)
	}
	s.Remove(63)
	s.Remove(65)
	if got := s.String(); got != "{0 64 129}" {
		t.Errorf("the set is %s", got)
	}
	if got := New(0).String(); got != "{}" {
		t.Errorf("the empty set is %s", got)
	}
}

func TestAllStopsWhenAsked(t *testing.T) {
	var seen []int
	for member := range Full(100).All {
		if seen = append(seen, member); member == 64 {
			break
		}
	}
	if len(seen) != 65 {
		t.Errorf("All went on after the loop had ended: %v", seen)
	}
}

func BenchmarkNextAndNot(b *testing.B) {
	for _, words := range []int{1, 2, 16} {
		s, t := Full(words*WordBits), Full(words*WordBits-1)
		t = append(t, make(Set, words-len(t))...)
		b.Run("words="+strconv.Itoa(words), func(b *testing.B) {
			for b.Loop() {
				if _, ok := s.NextAndNot(t, 0); !ok {
					b.Fatal("the last member is missing")
				}
			}
		})
	}
}

func TestPackedSetsAreTheSame(t *testing.T) {
	for seed := range uint64(500) {
		random := rand.New(rand.NewPCG(seed, 0))
		n := random.IntN(20 * WordBits)
		var a, b, c Set
		sets := []*Set{&a, &b, &c}
		Split(Words(n), sets...)
		for _, s := range sets {
			if len(*s) != Words(n) || !s.Empty() {
				t.Fatalf("seed %d: a new set for %d members is %v with %d words", seed, n, s, len(*s))
			}
			if n > 0 && random.IntN(2) == 0 {
				s.Add(random.IntN(n))
				s.Add(n - 1)
			}
		}
		want := []Set{a.Clone(), b.Clone(), c.Clone()}
		Pack(sets...)
		for i, s := range sets {
			if !s.Equal(want[i]) || cap(*s) != len(*s) {
				t.Fatalf("seed %d: set %d of %d members is %v with room for %d words, want %v", seed, i, n, s, cap(*s), want[i])
			}
		}
	}
}

// A node's pool has seven sets, of which most are empty.
func TestShortEmptySetsTakeNoMemory(t *testing.T) {
	a, b, c := New(8), New(8), New(8)
	Pack(&a, &b, &c)
	if &a[0] != &b[0] || &b[0] != &c[0] {
		t.Error("empty sets of one length do not share their memory")
	}
}
