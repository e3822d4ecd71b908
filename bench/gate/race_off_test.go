//go:build !race

package gate_test

const underRace = false
