package search

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// TestSumsAreThoseOfAllChoices asks one table about many choices of blocks and
// needs, and compares with the sums of every choice of ways.
func TestSumsAreThoseOfAllChoices(t *testing.T) {
	const seed = 20261206
	yes, no := 0, 0
	for i := range 1000 {
		random := rand.New(rand.NewPCG(seed, uint64(i)))
		dimensions := 1 + random.IntN(3)
		some := func(most int) (v vector) {
			for d := range dimensions {
				v |= vector(random.IntN(most+1)) << (8 * d)
			}
			return v
		}
		table := &packingTable{demands: make([]demandID, dimensions)}
		for d := range dimensions {
			table.weights[d] = random.Int64N(4) << (random.IntN(2) * 60)
		}
		caps := some(8)
		table.begin(caps)
		var lists [][]vector
		for range 4 {
			var ways []vector
			for range 1 + random.IntN(4) {
				ways = keepBest(ways, some(3).upTo(caps))
			}
			lists = append(lists, ways)
		}
		for range 20 {
			var numbers []int32
			sums := []vector{0}
			for range random.IntN(5) {
				ways := lists[random.IntN(len(lists))]
				numbers = append(numbers, table.number(ways))
				var next []vector
				for _, sum := range sums {
					for _, way := range ways {
						next = append(next, sum+way)
					}
				}
				sums = next
			}
			need := some(8).upTo(caps)
			want := slices.ContainsFunc(sums, func(sum vector) bool { return sum.covers(need) })
			if got := table.reaches(numbers, need); got != want {
				t.Fatalf("seed %d, case %d: %x is reached: %v, want %v", seed, i, need, got, want)
			}
			if want {
				yes++
			} else {
				no++
			}
		}
	}
	if yes < 2000 || no < 2000 {
		t.Errorf("yes %d times, no %d times: too few to prove anything", yes, no)
	}
}

// What takes too long to compare may be reached.
func TestTooManySumsAreHope(t *testing.T) {
	table := &packingTable{demands: make([]demandID, 4), caps: 0x3f3f3f3f}
	table.begin(table.caps)
	var numbers []int32
	// No way gives more than three of all demands together, so 30 blocks give less
	// than four times 23. The weights do not tell.
	for i := range 30 {
		a, b := unit(i%4), unit((i+1)%4)
		numbers = append(numbers, table.number([]vector{3 * a, 2*a + b, a + 2*b, 3 * b}))
	}
	if !table.reaches(numbers, 0x17171717) {
		t.Errorf("the answer is no after %d questions", table.asked)
	}
	table.weights = [maxDimensions]int64{1, 1, 1, 1}
	table.begin(table.caps)
	for i := range numbers {
		a, b := unit(i%4), unit((i+1)%4)
		numbers[i] = table.number([]vector{3 * a, 2*a + b, a + 2*b, 3 * b})
	}
	if table.reaches(numbers, 0x17171717) {
		t.Error("weights of one do not tell that the sum of all counts is too small")
	}
}
