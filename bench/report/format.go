package report

import (
	"fmt"
	"math"
	"strconv"

	"golang.org/x/perf/benchunit"
)

// none stands where there is nothing to say.
const none = "-"

// time formats a median and its interval: 1.234µ ± 2%.
func (c *Cell) time() string {
	if c == nil {
		return none
	}
	if limit, ok := c.limit(); ok {
		if _, uncompared := c.summary(uncompared); uncompared {
			return beyond(limit) + ", no answer"
		}
		return beyond(limit)
	}
	s, ok := c.summary(secondsPerOp)
	if !ok {
		return none
	}
	return fmt.Sprintf("%s ± %s", benchunit.Scale(s.Center, benchunit.Decimal), s.PctRangeString())
}

// beyond stands for a time that was longer than so many seconds.
func beyond(seconds float64) string {
	return fmt.Sprintf("> %s s", strconv.FormatFloat(seconds, 'g', 3, 64))
}

// count formats what is exact: an integer, without a prefix.
func (c *Cell) count(unit string) string {
	if c == nil {
		return none
	}
	s, ok := c.summary(unit)
	if !ok {
		return none
	}
	return strconv.FormatFloat(math.Round(s.Center), 'f', -1, 64)
}

// String formats a ratio and its interval: 12.3k× [12.1k, 12.5k].
func (r Ratio) String() string {
	switch {
	case r.AtLeast:
		return fmt.Sprintf("> %s×", short(r.Lo))
	case r.Same:
		return "~"
	}
	return fmt.Sprintf("%s× [%s, %s]", short(r.Center), short(r.Lo), short(r.Hi))
}

func ratioText(ours, upstream *Cell) string {
	r, ok := ratio(ours, upstream)
	if !ok {
		return none
	}
	return r.String()
}

// short formats a factor with three significant digits.
func short(x float64) string {
	if math.IsInf(x, 1) {
		return "∞"
	}
	suffix := ""
	for _, s := range []string{"k", "M", "G"} {
		if x < 999.5 {
			break
		}
		x, suffix = x/1000, s
	}
	switch {
	case x >= 99.95:
		return fmt.Sprintf("%.0f%s", x, suffix)
	case x >= 9.995:
		return fmt.Sprintf("%.1f%s", x, suffix)
	}
	return fmt.Sprintf("%.2f%s", x, suffix)
}
