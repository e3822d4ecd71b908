package gate

import (
	"context"
	"fmt"
	"regexp"
	"strings"

	"github.com/dray-dev/dray/bench/family"
)

// Update returns the content of a file of ranges in which those that a count is
// out of are set anew. Such a row loses its commit, so that the file is refused
// until somebody has seen whether its reason still holds and set the commit.
// Everything else stays as it is, comments included.
func Update(ctx context.Context, content []byte) ([]byte, error) {
	text := string(content)
	entries, err := Parse(content)
	if err != nil {
		return nil, err
	}
	byCase := make(map[string]Entry, len(entries))
	for _, e := range entries {
		byCase[e.Case] = e
	}
	for _, f := range family.All() {
		c := f.Case(f.Gate)
		counted, err := Count(ctx, c)
		if err != nil {
			return nil, fmt.Errorf("count %s: %w", c.Name(), err)
		}
		for _, count := range byCase[c.Name()].counts(counted) {
			if count.allowed.Contains(count.is) {
				continue
			}
			fresh := Range{Min: count.is, Max: count.is}
			if count.name == "allocs" {
				fresh = WithSlack(count.is)
			}
			text = setField(text, c.Name(), count.name, fresh.String())
			text = setField(text, c.Name(), "commit", `""`)
		}
	}
	return []byte(text), nil
}

// setField replaces the value of a field in the row of a case.
func setField(text, caseName, field, value string) string {
	const opening = "- case: "
	start := strings.Index(text, opening+caseName+"\n")
	if start < 0 {
		return text
	}
	row, rest := text[start:], ""
	if next := strings.Index(row[len(opening):], "\n"+opening); next >= 0 {
		row, rest = row[:len(opening)+next], row[len(opening)+next:]
	}
	line := regexp.MustCompile(`(?m)^  ` + regexp.QuoteMeta(field) + `: .*$`)
	return text[:start] + line.ReplaceAllLiteralString(row, "  "+field+": "+value) + rest
}
