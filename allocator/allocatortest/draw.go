package allocatortest

import "pgregory.net/rapid"

var coin = rapid.Bool()

// below draws from 0 to n-1 with even odds; zero is what shrinking aims at.
// rapid's own integers prefer small values, which makes weights unpredictable.
func below(t *rapid.T, n int) int {
	const bits = 10
	v := 0
	for range bits {
		v <<= 1
		if coin.Draw(t, "") {
			v |= 1
		}
	}
	return v * n >> bits
}

// chance is true in the given percentage of draws; shrinking makes it false.
func chance(t *rapid.T, percent int) bool {
	return below(t, 100) >= 100-percent
}

// between draws from lo to hi, both included.
func between(t *rapid.T, lo, hi int) int {
	return lo + below(t, hi-lo+1)
}

func pick[E any](t *rapid.T, from []E) E {
	return from[below(t, len(from))]
}
