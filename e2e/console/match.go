package console

import (
	"fmt"
	"regexp"
	"strings"
)

const anything = "…"

// Match says where what was printed is not what is shown, and nil where it is.
// Blank lines at the end count for nothing.
func Match(shown []string, printed string) error {
	want, got := trimBlank(shown), trimBlank(strings.Split(printed, "\n"))
	at, ok := match(want, got)
	if ok {
		return nil
	}
	switch {
	case at < len(want):
		return fmt.Errorf("no line is %q; all that was printed:\n%s", fields(want[at]), strings.Join(got, "\n"))
	default:
		return fmt.Errorf("more was printed than is shown:\n%s", strings.Join(got, "\n"))
	}
}

// match returns true if the lines match, or else the first line of want up to which
// no way of reading "…" gets.
func match(want, got []string) (int, bool) {
	if len(want) == 0 {
		return 0, len(got) == 0
	}
	if strings.TrimSpace(want[0]) == anything {
		furthest := 0
		for skipped := 0; skipped <= len(got); skipped++ {
			at, ok := match(want[1:], got[skipped:])
			if ok {
				return 0, true
			}
			furthest = max(furthest, at)
		}
		return furthest + 1, false
	}
	if len(got) == 0 || !lineMatches(want[0], got[0]) {
		return 0, false
	}
	at, ok := match(want[1:], got[1:])
	return at + 1, ok
}

func lineMatches(want, got string) bool {
	parts := strings.Split(fields(want), anything)
	for i := range parts {
		parts[i] = regexp.QuoteMeta(parts[i])
	}
	// (?s) is not needed: a line has no line breaks.
	return regexp.MustCompile("^" + strings.Join(parts, ".*") + "$").MatchString(fields(got))
}

func fields(line string) string { return strings.Join(strings.Fields(line), " ") }

func trimBlank(lines []string) []string {
	for len(lines) > 0 && strings.TrimSpace(lines[len(lines)-1]) == "" {
		lines = lines[:len(lines)-1]
	}
	return lines
}
