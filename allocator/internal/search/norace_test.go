//go:build !race

package search

// raceDetector is true in race_test.go.
const raceDetector = false
