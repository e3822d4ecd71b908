//go:build race

package metamorphic

const (
	underRaceDetector = true
	defaultHistories  = 100
)
