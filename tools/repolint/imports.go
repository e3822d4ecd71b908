package repolint

import (
	"fmt"
	"go/parser"
	"go/token"
	"path"
	"slices"
	"strconv"
	"strings"
)

// CheckImports reports every import that a module rule or an import rule
// forbids, and every module that no module rule knows. Only direct imports are
// looked at, in every file whatever its build constraints; what a package links
// in the end is [CheckLinked]'s part.
func CheckImports(tree Tree, modules []ModuleRule, rules []ImportRule) []Finding {
	var findings []Finding
	known := map[string]bool{}
	rules = slices.Clone(rules)
	for _, m := range modules {
		known[m.Dir] = true
		allowed := []string{ours(m.Dir + "/...")}
		for _, dir := range m.MayImport {
			allowed = append(allowed, ours(dir))
		}
		rules = append(rules, ImportRule{
			From: []string{m.Dir + "/..."}, InTests: true,
			Of: []string{ours("...")}, Allowed: allowed, Why: m.Why,
		})
	}
	for _, dir := range tree.modules() {
		if !known[dir] {
			findings = append(findings, Finding{dir, 0, "module is not in the import table",
				"say in repolint's Modules what it may import of ours, and why"})
		}
	}
	for _, name := range tree.goFiles() {
		imports, problem := readImports(name, tree[name])
		if problem != nil {
			findings = append(findings, *problem)
		}
		for _, rule := range rules {
			findings = append(findings, rule.check(name, imports)...)
		}
	}
	return findings
}

// CheckRulesApply reports patterns of rules that name no package of a module
// that exists: a package was renamed or has gone, and the rule guards nothing.
// Patterns of modules that have no code yet are passed over.
func CheckRulesApply(tree Tree, rules []ImportRule) []Finding {
	packages := map[string]bool{}
	for _, name := range tree.goFiles() {
		packages[path.Dir(name)] = true
	}
	modules := tree.modules()
	var findings []Finding
	seen := map[string]bool{}
	for _, rule := range rules {
		for _, pattern := range slices.Concat(rule.From, rule.Except) {
			module, _, _ := strings.Cut(pattern, "/")
			if seen[pattern] || !slices.Contains(modules, module) {
				continue
			}
			seen[pattern] = true
			found := false
			for dir := range packages {
				found = found || matches(pattern, dir)
			}
			if !found {
				findings = append(findings, Finding{pattern, 0, "an import rule names a package that does not exist",
					"correct the rule that says: " + rule.Why})
			}
		}
	}
	return findings
}

// importLine is one import of a file.
type importLine struct {
	path string
	line int
}

func readImports(name, content string) ([]importLine, *Finding) {
	files := token.NewFileSet()
	file, err := parser.ParseFile(files, name, content, parser.ImportsOnly)
	if err != nil {
		return nil, &Finding{name, 0, "does not parse", err.Error()}
	}
	var imports []importLine
	for _, spec := range file.Imports {
		imported, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			return nil, &Finding{name, files.Position(spec.Pos()).Line, "import path is not a string", err.Error()}
		}
		imports = append(imports, importLine{imported, files.Position(spec.Pos()).Line})
	}
	return imports, nil
}

func (r ImportRule) check(file string, imports []importLine) []Finding {
	dir := path.Dir(file)
	if !anyMatches(r.From, dir) || anyMatches(r.Except, dir) || isTest(file) && !r.InTests {
		return nil
	}
	var findings []Finding
	for _, imported := range imports {
		if anyImport(r.Of, imported.path) && !anyImport(r.Allowed, imported.path) {
			findings = append(findings, Finding{file, imported.line,
				fmt.Sprintf("%s must not import %s", dir, imported.path), r.Why})
		}
	}
	return findings
}

// anyImport is anyMatches for import paths, where "..." stands for everything
// outside the standard library.
func anyImport(patterns []string, imported string) bool {
	return slices.ContainsFunc(patterns, func(pattern string) bool {
		return pattern == "..." && !isStandard(imported) || pattern != "..." && matches(pattern, imported)
	})
}

// isStandard says whether an import path belongs to the standard library, whose
// first element has no dot. "C" is not a package.
func isStandard(imported string) bool {
	first, _, _ := strings.Cut(imported, "/")
	return imported != "C" && !strings.Contains(first, ".")
}

func anyMatches(patterns []string, name string) bool {
	return slices.ContainsFunc(patterns, func(pattern string) bool { return matches(pattern, name) })
}

// matches compares a slash-separated name with a pattern: "..." matches
// everything, "x/..." x and what is below it, anything else itself.
func matches(pattern, name string) bool {
	if pattern == "..." {
		return true
	}
	if prefix, ok := strings.CutSuffix(pattern, "/..."); ok {
		return name == prefix || strings.HasPrefix(name, prefix+"/")
	}
	return name == pattern
}
