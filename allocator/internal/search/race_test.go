//go:build race

package search

// raceDetector: a search is one goroutine, in which the detector finds nothing
// and takes ten times as long. A part of the random problems will do.
const raceDetector = true
