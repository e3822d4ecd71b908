package allocator_test

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/dray-dev/dray/allocator/allocatortest"
)

// FuzzScenario lets the fuzzer decide what the generator of random scenarios
// draws: clusters that make sense, looked for where the code has branches.
func FuzzScenario(f *testing.F) {
	for seed := range uint64(20) {
		f.Add(seed, []byte{})
		f.Add(seed, []byte{0x0f, 0xff, 0xf0, byte(seed), 0x55, 0x00, 0xaa, byte(7 * seed)})
	}
	f.Fuzz(func(t *testing.T, seed uint64, bits []byte) {
		if len(bits) > 4096 {
			t.Skip("more than any scenario draws")
		}
		var s *allocatortest.Scenario
		rapid.MakeFuzz(func(t *rapid.T) { s = allocatortest.Scenarios().Draw(t, "scenario") })(t, words(seed, bits))
		checkProperties(t, s)
	})
}
