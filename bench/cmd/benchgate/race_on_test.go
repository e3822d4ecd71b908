//go:build race

package main

// underRace: the detector makes pooled memory vanish at random, so allocations
// cannot be counted.
const underRace = true
