package report

import (
	"math"

	"golang.org/x/perf/benchmath"
)

// confidence of intervals.
const confidence = 0.95

// summary returns the centre and interval of a unit, ok if it was measured.
func (c *Cell) summary(unit string) (s benchmath.Summary, ok bool) {
	sample := c.sample(unit)
	if sample == nil {
		return s, false
	}
	return c.units.GetAssumption(unit).Summary(sample, confidence), true
}

// limit returns the seconds after which an operation was given up, ok if it was.
func (c *Cell) limit() (seconds float64, ok bool) {
	s, ok := c.summary(limitSeconds)
	return s.Center, ok
}

// Ratio says how many times as long upstream takes.
type Ratio struct {
	Center, Lo, Hi float64
	// AtLeast: upstream was given up, and Lo is all that is known.
	AtLeast bool
	// Same: the two cannot be told apart.
	Same bool
}

// ratio compares upstream's time with ours, ok if both are known well enough.
func ratio(ours, upstream *Cell) (r Ratio, ok bool) {
	mine, ok := ours.summary(secondsPerOp)
	if !ok || mine.Center == 0 {
		return r, false
	}
	if limit, gaveUp := upstream.limit(); gaveUp {
		least := limit / finite(mine.Hi, mine.Center)
		return Ratio{Center: least, Lo: least, Hi: math.Inf(1), AtLeast: true}, true
	}
	theirs, ok := upstream.summary(secondsPerOp)
	if !ok {
		return r, false
	}
	comparison := benchmath.AssumeNothing.Compare(ours.sample(secondsPerOp), upstream.sample(secondsPerOp))
	return Ratio{
		Center: theirs.Center / mine.Center,
		Lo:     finite(theirs.Lo, 0) / finite(mine.Hi, math.Inf(1)),
		Hi:     finite(theirs.Hi, math.Inf(1)) / math.Max(0, finite(mine.Lo, 0)),
		Same:   comparison.P >= comparison.Alpha,
	}, true
}

// finite replaces the end of an interval that too few samples leave open.
func finite(end, otherwise float64) float64 {
	if math.IsInf(end, 0) || math.IsNaN(end) {
		return otherwise
	}
	return end
}
