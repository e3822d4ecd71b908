package repolint

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path"
	"slices"
	"strings"
)

const whyPackageDoc = "a newcomer reads the package comment first: say what the package is for, its units and its errors"

// CheckPackageDocs reports every directory of Go files without a package doc
// comment that begins as godoc expects: "Package name", or "Command" or the
// command's name for a main package. A test file's comment counts only where
// there is nothing but tests.
func CheckPackageDocs(tree Tree) []Finding {
	byDir := map[string][]string{}
	var dirs []string
	for _, name := range tree.goFiles() {
		dir := path.Dir(name)
		if byDir[dir] == nil {
			dirs = append(dirs, dir)
		}
		byDir[dir] = append(byDir[dir], name)
	}
	slices.Sort(dirs)
	var findings []Finding
	for _, dir := range dirs {
		findings = append(findings, checkPackageDoc(tree, dir, byDir[dir])...)
	}
	return findings
}

func checkPackageDoc(tree Tree, dir string, files []string) []Finding {
	onlyTests := !slices.ContainsFunc(files, func(name string) bool { return !isTest(name) })
	var findings []Finding
	documented := false
	for _, name := range files {
		file, err := parser.ParseFile(token.NewFileSet(), name, tree[name], parser.ParseComments|parser.PackageClauseOnly)
		if err != nil {
			findings = append(findings, Finding{name, 0, "does not parse", err.Error()})
			continue
		}
		if isTest(name) && !onlyTests {
			continue
		}
		doc := file.Doc.Text()
		if doc == "" {
			continue
		}
		documented = true
		if want := docOpening(file, dir); !hasOpening(doc, want) {
			findings = append(findings, Finding{name, 0,
				fmt.Sprintf("package comment does not begin with %q", want[0]), whyPackageDoc})
		}
	}
	if !documented {
		findings = append(findings, Finding{dir, 0, "package has no doc comment", whyPackageDoc})
	}
	return findings
}

// docOpening returns the ways in which a package comment may begin.
func docOpening(file *ast.File, dir string) []string {
	if file.Name.Name == "main" {
		command := path.Base(dir)
		return []string{"Command " + command, strings.ToUpper(command[:1]) + command[1:]}
	}
	return []string{"Package " + strings.TrimSuffix(file.Name.Name, "_test")}
}

func hasOpening(doc string, openings []string) bool {
	words := strings.Join(strings.Fields(doc), " ")
	return slices.ContainsFunc(openings, func(opening string) bool {
		return strings.HasPrefix(words, opening+" ")
	})
}
