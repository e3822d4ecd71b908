package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
)

// Where the suite lies in upstream's module, and where the adapter goes.
const (
	suiteDir   = "structured/internal/allocatortesting"
	adapterDir = "structured/internal/dray"
)

// What the tables held when the deviations were last read against them.
const (
	readVersion   = "v0.37.2"
	wantCases     = 275
	wantInterrupt = 4
	wantLexical   = 4
)

// table is one map of test cases in the body of a function of the suite.
type table struct {
	file     string // relative to the module
	function string
	src      []byte
	fset     *token.FileSet
	cases    []testCase
}

type testCase struct {
	name   string
	fields map[string]ast.Expr
}

// suite is all that the adapter will run.
type suite struct {
	main, lexical table
	interrupts    []string
}

func readSuite(moduleDir string) (suite, error) {
	var s suite
	var body *ast.BlockStmt
	var err error
	if s.main, body, err = readTable(moduleDir, suiteDir+"/allocator_testing.go", "TestAllocator"); err != nil {
		return suite{}, err
	}
	if s.interrupts, err = readInterrupts(body); err != nil {
		return suite{}, fmt.Errorf("%s: %w", s.main.file, err)
	}
	if s.lexical, _, err = readTable(moduleDir, suiteDir+"/lexicographical_testing.go", "TestLexicographicalAllocator"); err != nil {
		return suite{}, err
	}
	return s, nil
}

func readTable(moduleDir, file, function string) (table, *ast.BlockStmt, error) {
	src, err := os.ReadFile(filepath.Join(moduleDir, filepath.FromSlash(file)))
	if err != nil {
		return table{}, nil, fmt.Errorf("read upstream's suite: %w", err)
	}
	t, body, err := parseTable(file, function, src)
	if err != nil {
		return table{}, nil, fmt.Errorf("%s: %w", file, err)
	}
	return t, body, nil
}

// parseTable finds the function and, in it, the one map literal from names to
// test cases.
func parseTable(file, function string, src []byte) (table, *ast.BlockStmt, error) {
	t := table{file: file, function: function, src: src, fset: token.NewFileSet()}
	parsed, err := parser.ParseFile(t.fset, file, src, parser.SkipObjectResolution)
	if err != nil {
		return table{}, nil, err
	}
	var bodies []*ast.BlockStmt
	for _, decl := range parsed.Decls {
		if f, ok := decl.(*ast.FuncDecl); ok && f.Recv == nil && f.Body != nil && f.Name.Name == function {
			bodies = append(bodies, f.Body)
		}
	}
	if err := expectAnchor("func "+function, len(bodies), 1); err != nil {
		return table{}, nil, err
	}
	var maps []*ast.CompositeLit
	ast.Inspect(bodies[0], func(n ast.Node) bool {
		if lit, ok := n.(*ast.CompositeLit); ok && isCaseMap(lit.Type) {
			maps = append(maps, lit)
		}
		return true
	})
	if err := expectAnchor("map[string]AllocatorTestCase in func "+function, len(maps), 1); err != nil {
		return table{}, nil, err
	}
	for _, element := range maps[0].Elts {
		c, err := parseCase(element)
		if err != nil {
			return table{}, nil, fmt.Errorf("%s: %w", t.fset.Position(element.Pos()), err)
		}
		t.cases = append(t.cases, c)
	}
	return t, bodies[0], nil
}

func isCaseMap(expr ast.Expr) bool {
	m, ok := expr.(*ast.MapType)
	if !ok {
		return false
	}
	value, ok := m.Value.(*ast.Ident)
	return ok && value.Name == "AllocatorTestCase"
}

func parseCase(element ast.Expr) (testCase, error) {
	entry, ok := element.(*ast.KeyValueExpr)
	if !ok {
		return testCase{}, fmt.Errorf("anchor %q: the entry is not of that form", `"name": {fields}`)
	}
	name, ok := stringLiteral(entry.Key)
	if !ok {
		return testCase{}, fmt.Errorf("anchor %q: the name of the case is not a string literal", `"name": {fields}`)
	}
	body, ok := entry.Value.(*ast.CompositeLit)
	if !ok {
		return testCase{}, fmt.Errorf("case %s: anchor %q: the case is not a literal", name, `"name": {fields}`)
	}
	c := testCase{name: name, fields: map[string]ast.Expr{}}
	for _, e := range body.Elts {
		field, ok := e.(*ast.KeyValueExpr)
		if !ok {
			return testCase{}, fmt.Errorf("case %s: anchor %q: a field has no name", name, "field: value")
		}
		key, ok := field.Key.(*ast.Ident)
		if !ok {
			return testCase{}, fmt.Errorf("case %s: anchor %q: a field's name is not an identifier", name, "field: value")
		}
		c.fields[key.Name] = field.Value
	}
	return c, nil
}

// readInterrupts finds the names over which the subtest "interrupt" loops.
func readInterrupts(body *ast.BlockStmt) ([]string, error) {
	const anchor = `t.Run("interrupt", …) with one loop over []string`
	var runs, lists []ast.Node
	ast.Inspect(body, func(n ast.Node) bool {
		if call, ok := n.(*ast.CallExpr); ok && len(call.Args) == 2 {
			if name, ok := stringLiteral(call.Args[0]); ok && name == "interrupt" {
				runs = append(runs, call)
			}
		}
		return true
	})
	if err := expectAnchor(anchor, len(runs), 1); err != nil {
		return nil, err
	}
	ast.Inspect(runs[0], func(n ast.Node) bool {
		if loop, ok := n.(*ast.RangeStmt); ok {
			lists = append(lists, loop.X)
		}
		return true
	})
	if err := expectAnchor(anchor, len(lists), 1); err != nil {
		return nil, err
	}
	list, ok := lists[0].(*ast.CompositeLit)
	if !ok {
		return nil, fmt.Errorf("anchor %q: the loop is not over a literal", anchor)
	}
	var names []string
	for _, element := range list.Elts {
		name, ok := stringLiteral(element)
		if !ok {
			return nil, fmt.Errorf("anchor %q: a name is not a string literal", anchor)
		}
		names = append(names, name)
	}
	return names, nil
}

func stringLiteral(expr ast.Expr) (string, bool) {
	lit, ok := expr.(*ast.BasicLit)
	if !ok || lit.Kind != token.STRING {
		return "", false
	}
	value, err := strconv.Unquote(lit.Value)
	return value, err == nil
}

// size is T: the number of subtests without subtests of their own.
func (s suite) size() int { return len(s.main.cases) + len(s.interrupts) + len(s.lexical.cases) }

// checkSize fails when the suite is not the one that was read to find the
// cases in which Dray deviates, so that neither a lost nor a new case goes
// unnoticed.
func (s suite) checkSize(version string) error {
	if version != readVersion {
		return fmt.Errorf("%s %s: the suite was last read at %s: compare its cases with docs/deviations.md, then correct the constants in suite.go", upstreamPath, version, readVersion)
	}
	if c, i, l := len(s.main.cases), len(s.interrupts), len(s.lexical.cases); c != wantCases || i != wantInterrupt || l != wantLexical {
		return fmt.Errorf("%s %s: the suite holds %d cases, %d interrupts and %d lexicographical cases, %d together; expected %d, %d and %d, %d together",
			upstreamPath, version, c, i, l, s.size(), wantCases, wantInterrupt, wantLexical, wantCases+wantInterrupt+wantLexical)
	}
	return nil
}

// leaves lists the tests, in the order of the tables, whose case name matches
// only; all of them if it is nil. The names are those that go test reports.
func (s suite) leaves(only *regexp.Regexp) []string {
	var leaves []string
	add := func(prefix, name string) {
		if only == nil || only.MatchString(name) {
			leaves = append(leaves, prefix+"/"+name)
		}
	}
	for _, c := range s.main.cases {
		add(s.main.function, c.name)
	}
	for _, name := range s.interrupts {
		add(s.main.function, "interrupt/"+name)
	}
	for _, c := range s.lexical.cases {
		add(s.lexical.function, c.name)
	}
	return leaves
}
