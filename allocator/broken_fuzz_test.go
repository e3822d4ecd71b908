package allocator_test

import (
	"testing"

	"github.com/dray-dev/dray/allocator/allocatortest"
)

// FuzzBrokenObjects lets the fuzzer break sound scenarios in places of its
// choice: missing and repeated entries, values from elsewhere, extremes.
func FuzzBrokenObjects(f *testing.F) {
	for seed := range uint64(30) {
		b := byte(seed)
		f.Add(seed, []byte{b, 7 * b, b, b})
		f.Add(seed, []byte{3 * b, b, 2, b, 5 * b, 99, 1, b, 200, 11 * b, 4, 2 * b})
	}
	f.Fuzz(func(t *testing.T, seed uint64, edits []byte) {
		if len(edits) > 64 {
			t.Skip("more edits than it takes to break everything")
		}
		s := allocatortest.FromSeed(seed % 4096)
		mutate(s, edits)
		checkProperties(t, s)
	})
}
