package repolint

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"slices"
	"strings"
)

const whySamples = "only what is compiled stays true: put the code into an example_test.go and show the same text here"

// CheckSamples reports Go code in Markdown files that no compiler sees: a code
// block that is not a Go file, and a declaration in one that does not stand
// word for word in a test file of the tree.
func CheckSamples(tree Tree) []Finding {
	parsed := documents(tree)
	var tests []string
	for _, name := range tree.goFiles() {
		if isTest(name) {
			tests = append(tests, tree[name])
		}
	}
	var findings []Finding
	for _, name := range tree.paths(isMarkdown) {
		for _, sample := range parsed[name].samples {
			findings = append(findings, checkSample(name, sample, tests)...)
		}
	}
	return findings
}

func checkSample(name string, sample codeLine, tests []string) []Finding {
	files := token.NewFileSet()
	file, err := parser.ParseFile(files, name, sample.text, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return []Finding{{name, sample.line, fmt.Sprintf("Go sample is not a file of Go: %v", err), whySamples}}
	}
	var findings []Finding
	for _, declaration := range file.Decls {
		if general, ok := declaration.(*ast.GenDecl); ok && general.Tok == token.IMPORT {
			continue
		}
		from, to := files.Position(declaration.Pos()), files.Position(declaration.End())
		text := sample.text[from.Offset:to.Offset]
		if !slices.ContainsFunc(tests, func(test string) bool { return strings.Contains(test, text) }) {
			findings = append(findings, Finding{name, sample.line + from.Line - 1,
				"Go sample is in no test: " + firstLine(text), whySamples})
		}
	}
	return findings
}

func firstLine(text string) string {
	line, _, _ := strings.Cut(text, "\n")
	return line
}
