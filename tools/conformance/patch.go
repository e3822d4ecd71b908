package main

import (
	"fmt"
	"go/ast"
	"go/token"
	"slices"
	"strconv"
)

// stepCountField is the field of a case that holds how many steps upstream's
// own search takes.
const (
	stepCountField = "expectNumAllocateOneInvocations"
	wantStepCounts = 10
)

// edit replaces src[start:end].
type edit struct {
	start, end int
	text       string
}

// expectAnchor is the error for text that an edit relies on and that is not
// there, or not as often as it was.
func expectAnchor(name string, found, want int) error {
	if found == want {
		return nil
	}
	return fmt.Errorf("anchor %q: found %d times, expected %d", name, found, want)
}

func applyEdits(src []byte, edits []edit) ([]byte, error) {
	edits = slices.SortedFunc(slices.Values(edits), func(a, b edit) int { return a.start - b.start })
	var out []byte
	at := 0
	for _, e := range edits {
		if e.start < at || e.end < e.start || e.end > len(src) {
			return nil, fmt.Errorf("edit of bytes %d to %d: overlaps another one or lies outside of the file", e.start, e.end)
		}
		out = append(out, src[at:e.start]...)
		out = append(out, e.text...)
		at = e.end
	}
	return append(out, src[at:]...), nil
}

// span is the place of a node in the source that it was parsed from.
func (t table) span(n ast.Node) (start, end int) {
	file := t.fset.File(n.Pos())
	return file.Offset(n.Pos()), file.Offset(n.End())
}

func (t table) text(n ast.Node) string {
	start, end := t.span(n)
	return string(t.src[start:end])
}

func (t table) replace(n ast.Node, text string) edit {
	start, end := t.span(n)
	return edit{start: start, end: end, text: text}
}

// stepCountCases lists the cases that assert upstream's number of steps.
func (t table) stepCountCases() []string {
	var names []string
	for _, c := range t.cases {
		if _, ok := c.fields[stepCountField]; ok {
			names = append(names, c.name)
		}
	}
	return names
}

// stripStepCounts sets the asserted number of steps to zero, which upstream's
// runner takes for "not asserted". The runner would otherwise skip the cases,
// answers and all, for an allocator that does not count as upstream does.
func (t table) stripStepCounts(want int) ([]edit, error) {
	var edits []edit
	for _, c := range t.cases {
		value, ok := c.fields[stepCountField]
		if !ok {
			continue
		}
		lit, ok := value.(*ast.BasicLit)
		if !ok || lit.Kind != token.INT {
			return nil, fmt.Errorf("case %s: anchor %q: the value is %s, expected a number", c.name, stepCountField, t.text(value))
		}
		if n, err := strconv.Atoi(lit.Value); err != nil || n <= 0 {
			return nil, fmt.Errorf("case %s: anchor %q: the value is %s, expected a positive number", c.name, stepCountField, lit.Value)
		}
		edits = append(edits, t.replace(lit, "0"))
	}
	if err := expectAnchor(stepCountField, len(edits), want); err != nil {
		return nil, err
	}
	return edits, nil
}

// applyChanges turns the changes of expectations into edits. Each names a case
// that has to be in the table, once.
func (t table) applyChanges(changes []change) ([]edit, error) {
	var edits []edit
	for _, ch := range changes {
		var found []testCase
		for _, c := range t.cases {
			if c.name == ch.name {
				found = append(found, c)
			}
		}
		if err := expectAnchor("case "+ch.name, len(found), 1); err != nil {
			return nil, err
		}
		e, err := ch.kind.edit(t, found[0])
		if err != nil {
			return nil, fmt.Errorf("case %s: %w", ch.name, err)
		}
		edits = append(edits, e)
	}
	return edits, nil
}

// patchSuite is the file of the main table as the scratch copy gets it.
func (s suite) patchSuite(changes []change) ([]byte, error) {
	edits, err := s.main.stripStepCounts(wantStepCounts)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", s.main.file, err)
	}
	if err := expectAnchor(stepCountField+" in "+s.lexical.file, len(s.lexical.stepCountCases()), 0); err != nil {
		return nil, err
	}
	changed, err := s.main.applyChanges(changes)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", s.main.file, err)
	}
	return applyEdits(s.main.src, append(edits, changed...))
}
