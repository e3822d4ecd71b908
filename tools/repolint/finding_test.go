package repolint

import (
	"strings"
	"testing"
)

// expect compares findings with what each must begin with: place and problem.
// A finding without a reason is an error of the check.
func expect(t *testing.T, findings []Finding, want ...string) {
	t.Helper()
	for i, finding := range findings {
		if finding.Why == "" {
			t.Errorf("finding without a reason: %s", finding)
		}
		if i >= len(want) {
			t.Errorf("not expected: %s", finding)
		} else if !strings.HasPrefix(finding.String(), want[i]) {
			t.Errorf("finding %d is\n\t%s\nwant\n\t%s", i, finding, want[i])
		}
	}
	for _, missing := range want[min(len(findings), len(want)):] {
		t.Errorf("not found: %s", missing)
	}
}
