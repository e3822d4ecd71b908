package explain_test

import (
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

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

// A name of many bytes is cut between characters, and the table stays in line.
func TestALongNameIsCutAtACharacter(t *testing.T) {
	e := &allocator.Explanation{Node: "node-a", Claims: []allocator.ClaimFunnel{{Claim: "default/c", Requests: []allocator.RequestFunnel{
		{Alternatives: []allocator.Funnel{{Name: strings.Repeat("ü", 40)}}},
	}}}}
	page := e.Text()
	if !utf8.ValidString(page) || !strings.Contains(page, " "+strings.Repeat("ü", 27)+"...\n") {
		t.Errorf("the name is not cut after 27 characters:\n%s", page)
	}
}

func TestGroupsThatAreNotListedAreCounted(t *testing.T) {
	e := &allocator.Explanation{Node: "node-a", First: &allocator.Shortage{Binding: allocator.Binding{Cause: "groups",
		Groups: &allocator.GroupConflict{Pool: "d/p", CounterSet: "s", Groups: []string{"a", "b"}, MoreGroups: 3}}}}
	if want := "compatibility groups a, b and 3 more are not shared by all"; !strings.Contains(e.Text(), want) {
		t.Errorf("the page does not have %q:\n%s", want, e.Text())
	}
}
