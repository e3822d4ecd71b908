package main

import (
	"fmt"
	"go/ast"
	"os"
	"regexp"
	"strconv"
	"strings"
)

// change is a case in which Dray must not answer as upstream does. The only
// reason for one is an entry in docs/deviations.md.
type change struct {
	name      string // upstream's name of the case
	deviation int
	kind      changeKind
}

// deviating lists every case of the suite that a deviation touches.
var deviating = []change{
	{"all-devices-of-the-incomplete-pool", 1, concernsNodeOnly{}},
	{"multi-host-resource-pool-complete-update-from-node-1-to-node-2", 5, doesNotFit{}},
	{"multi-host-resource-pool-incomplete-update-from-node-1-to-node-2", 5, doesNotFit{}},
}

// changeKind is a way to change what a case expects.
type changeKind interface {
	String() string // what is expected now
	edit(t table, c testCase) (edit, error)
}

// concernsNodeOnly: the error stays, with its text, and must in addition match
// the error that only rules out the node.
type concernsNodeOnly struct{}

func (concernsNodeOnly) String() string {
	return "the expected error must also match ErrFailedAllocationOnNode"
}

func (concernsNodeOnly) edit(t table, c testCase) (edit, error) {
	const anchor = "expectError: gomega.MatchError(…)"
	value, ok := c.fields["expectError"]
	if !ok {
		return edit{}, expectAnchor(anchor, 0, 1)
	}
	if call, ok := value.(*ast.CallExpr); !ok || t.text(call.Fun) != "gomega.MatchError" {
		return edit{}, fmt.Errorf("anchor %q: the value is %s", anchor, t.text(value))
	}
	// MatchError of the sentinel itself would do with any error that has no text:
	// where errors.Is says no, it compares what the chain holds.
	const is = `gomega.MatchError(func(err error) bool { return errors.Is(err, internal.ErrFailedAllocationOnNode) }, "errors.Is ErrFailedAllocationOnNode")`
	return t.replace(value, "gomega.And("+is+", "+t.text(value)+")"), nil
}

// doesNotFit: upstream expects an allocation, Dray must find none and report
// no error.
type doesNotFit struct{}

func (doesNotFit) String() string { return "an allocation was expected, none is now" }

func (doesNotFit) edit(t table, c testCase) (edit, error) {
	const anchor = "expectResults: []any{result, …} without expectError"
	if _, ok := c.fields["expectError"]; ok {
		return edit{}, fmt.Errorf("anchor %q: the case expects an error", anchor)
	}
	value, ok := c.fields["expectResults"]
	if !ok {
		return edit{}, expectAnchor(anchor, 0, 1)
	}
	if lit, ok := value.(*ast.CompositeLit); !ok || len(lit.Elts) == 0 {
		return edit{}, fmt.Errorf("anchor %q: the value is %s", anchor, t.text(value))
	}
	return t.replace(value, "nil"), nil
}

var deviationHeading = regexp.MustCompile(`^## (\d+)\. (.*\S)\s*$`)

// deviationTitles reads the headings "## 1. Title" of the file and fails when
// a change rests on a deviation that is not there. Without changes the file is
// not read.
func deviationTitles(file string, changes []change) (map[int]string, error) {
	if len(changes) == 0 {
		return nil, nil
	}
	src, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("read the deviations that justify changed cases: %w", err)
	}
	titles, err := readTitles(file, src)
	if err != nil {
		return nil, err
	}
	for _, ch := range changes {
		if _, ok := titles[ch.deviation]; !ok {
			return nil, fmt.Errorf("case %s: changed because of deviation %d, but %s has no heading %q", ch.name, ch.deviation, file, fmt.Sprintf("## %d. …", ch.deviation))
		}
	}
	return titles, nil
}

// readTitles reads the headings of the file's content, by number.
func readTitles(file string, src []byte) (map[int]string, error) {
	titles := map[int]string{}
	fenced := false
	for line := range strings.Lines(string(src)) {
		if strings.HasPrefix(line, "```") {
			fenced = !fenced
		}
		m := deviationHeading.FindStringSubmatch(strings.TrimRight(line, "\n"))
		if m == nil || fenced {
			continue
		}
		number, err := strconv.Atoi(m[1])
		if err != nil {
			return nil, fmt.Errorf("%s: heading %q: %w", file, line, err)
		}
		if _, ok := titles[number]; ok {
			return nil, fmt.Errorf("%s: two headings have the number %d", file, number)
		}
		titles[number] = m[2]
	}
	return titles, nil
}
