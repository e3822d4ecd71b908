package explain_test

import (
	"strings"
	"testing"
	"unicode"

	"github.com/dray-dev/dray/allocator"
)

func TestThePageDoesNotSteerTheTerminal(t *testing.T) {
	const hostile = "device.driver == '\x1b[2J\u202e'\r\n|| false"
	e := &allocator.Explanation{Node: "node-a", Error: hostile, First: &allocator.Shortage{Claim: "default/c\x1b", Binding: allocator.Binding{Cause: "error"}},
		Claims: []allocator.ClaimFunnel{{Claim: "default/c\x07", Requests: []allocator.RequestFunnel{{Alternatives: []allocator.Funnel{{Name: "r\x9b\n"}}}}}}}
	page := e.Text()
	for line := range strings.Lines(page) {
		for _, r := range strings.TrimSuffix(line, "\n") {
			if !unicode.IsPrint(r) {
				t.Errorf("the page has %q: %q", r, line)
			}
		}
	}
	if !strings.Contains(page, "device.driver == '?[2J?' || false") {
		t.Errorf("the expression is not on the page:\n%s", page)
	}
}
