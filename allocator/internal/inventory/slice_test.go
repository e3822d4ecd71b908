package inventory

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	resourceapi "k8s.io/api/resource/v1"
	draapi "k8s.io/dynamic-resource-allocation/api"
)

// A slice compiled after an older version of it says the same as one compiled
// from nothing, whatever changed between them.
func TestAnOlderVersionOnlySavesWork(t *testing.T) {
	for seed := range uint64(2000) {
		random := rand.New(rand.NewPCG(seed, 0))
		names := func(n int) []string {
			list := make([]string, n)
			for i := range list {
				list[i] = fmt.Sprintf("gpu-%d", i)
			}
			for range random.IntN(3) {
				if n > 0 {
					list[random.IntN(n)] = fmt.Sprintf("gpu-%d", random.IntN(n+1))
				}
			}
			return list
		}
		before := compile(sliceOf(names(random.IntN(24))...), nil)
		api := sliceOf(names(random.IntN(24))...)
		want, got := compile(api, nil), compile(api, before)
		if !slices.Equal(got.names, want.names) || got.repeated != want.repeated {
			t.Fatalf("seed %d: with an older version the names are %v (repeated: %d), without %v (%d)", seed, got.names, got.repeated, want.names, want.repeated)
		}
		if repeated := slowlyRepeated(want.names); want.repeated != repeated {
			t.Fatalf("seed %d: of %v number %d is said to be repeated, want %d", seed, want.names, want.repeated, repeated)
		}
	}
}

func sliceOf(devices ...string) *resourceapi.ResourceSlice {
	s := newSlice("s")
	for _, name := range devices {
		with(name)(s)
	}
	return s
}

// slowlyRepeated is the first place whose name stands before it, else 0.
func slowlyRepeated(names []draapi.UniqueString) int {
	for i, name := range names {
		if slices.Contains(names[:i], name) {
			return i
		}
	}
	return 0
}

func TestAnUpdateSharesTheNames(t *testing.T) {
	before := compile(sliceOf("a", "b"), nil)
	after := compile(sliceOf("a", "b"), before)
	if &before.names[0] != &after.names[0] {
		t.Error("an update that changes no name has a list of names of its own")
	}
}
