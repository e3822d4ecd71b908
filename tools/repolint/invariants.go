package repolint

import (
	"fmt"
	"regexp"
	"strings"
)

const (
	invariants         = "docs/invariants.md"
	whyInvariantNumber = "code and people refer to an invariant by its number"
)

var invariantRow = regexp.MustCompile(`^\| (I[0-9]+) \|`)

// CheckInvariants reports every row of the table of invariants whose number another
// row has.
func CheckInvariants(tree Tree) []Finding {
	var findings []Finding
	first := map[string]int{}
	for i, line := range strings.Split(tree[invariants], "\n") {
		row := invariantRow.FindStringSubmatch(line)
		if row == nil {
			continue
		}
		if first[row[1]] > 0 {
			findings = append(findings, Finding{invariants, i + 1, fmt.Sprintf("%s is also in line %d", row[1], first[row[1]]), whyInvariantNumber})
			continue
		}
		first[row[1]] = i + 1
	}
	return findings
}
