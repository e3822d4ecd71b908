//go:build race

package gate_test

// underRace: the detector makes pooled memory vanish at random, so allocations
// cannot be counted.
const underRace = true
