package allocator

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// What Explain returns can be named, switched on and read about from outside: the
// types of package explain and their constants all have a name in this package.
func TestAllThatAnExplanationIsMadeOfHasANameHere(t *testing.T) {
	facade, err := os.ReadFile("explain.go")
	if err != nil {
		t.Fatal(err)
	}
	names := 0
	for _, name := range []string{"explanation.go", "binding.go", "cluster.go"} {
		file, err := parser.ParseFile(token.NewFileSet(), filepath.Join("internal", "explain", name), nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, declaration := range file.Decls {
			general, ok := declaration.(*ast.GenDecl)
			if !ok {
				continue
			}
			for _, name := range namesOf(general) {
				if !ast.IsExported(name) {
					continue
				}
				names++
				if !strings.Contains(string(facade), "= explain."+name+"\n") && !strings.Contains(string(facade), "= explain."+name+" ") {
					t.Errorf("explain.%s has no name in explain.go", name)
				}
			}
		}
	}
	if names < 40 {
		t.Errorf("only %d names were looked for", names)
	}
}

func namesOf(d *ast.GenDecl) (names []string) {
	for _, spec := range d.Specs {
		switch spec := spec.(type) {
		case *ast.TypeSpec:
			names = append(names, spec.Name.Name)
		case *ast.ValueSpec:
			for _, name := range spec.Names {
				names = append(names, name.Name)
			}
		}
	}
	return names
}
