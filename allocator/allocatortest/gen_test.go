package allocatortest

import "testing"

func BenchmarkScenarios(b *testing.B) {
	for i := range b.N {
		FromSeed(uint64(i))
	}
}
