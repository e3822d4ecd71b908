//go:build !race

package metamorphic

const (
	underRaceDetector = false
	defaultHistories  = 200
)
