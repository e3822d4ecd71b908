package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

const (
	constructorFile = "structured/allocator.go"
	overrideFile    = "structured/zz_dray.go"
)

const (
	// overrideVariable, in the environment of a test, puts Dray's allocator in
	// place. Without it the same binary runs upstream's.
	overrideVariable = "DRAY_CONFORMANCE_OVERRIDE"
	overrideShared   = "shared" // one inventory for all allocators
	overrideFresh    = "fresh"  // one for each
	// overrideMark is what the copy prints when Dray's allocator is made for the
	// first time: a run on upstream's allocator must not count as one on ours.
	overrideMark = "conformance: NewAllocator returns Dray's allocator"
)

// override is the environment of a test. The variable is set in the baseline too:
// the caller's environment must not turn that into the other.
func (o options) override(inventory string) []string {
	if o.baseline {
		inventory = ""
	}
	return []string{overrideVariable + "=" + inventory}
}

// addOverride adds what lets upstream's public constructor return Dray's
// allocator, with errors as a caller of the constructor expects them.
func addOverride(files map[string][]byte, upstreamDir string) error {
	src, err := os.ReadFile(filepath.Join(upstreamDir, filepath.FromSlash(constructorFile)))
	if err != nil {
		return fmt.Errorf("read upstream's constructor: %w", err)
	}
	if files[constructorFile], err = patchConstructor(src); err != nil {
		return fmt.Errorf("%s: %w", constructorFile, err)
	}
	files[overrideFile], err = adapterFiles.ReadFile("adapter/zz_dray.go.txt")
	return err
}

// constructorParameters are the names that the inserted call uses.
var constructorParameters = []string{"ctx", "features", "allocatedState", "classLister", "slices", "celCache"}

// patchConstructor lets NewAllocator consult the override before all else.
func patchConstructor(src []byte) ([]byte, error) {
	fset := token.NewFileSet()
	parsed, err := parser.ParseFile(fset, constructorFile, src, parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	var found []*ast.FuncDecl
	for _, decl := range parsed.Decls {
		if f, ok := decl.(*ast.FuncDecl); ok && f.Recv == nil && f.Body != nil && f.Name.Name == "NewAllocator" {
			found = append(found, f)
		}
	}
	if err := expectAnchor("func NewAllocator", len(found), 1); err != nil {
		return nil, err
	}
	var names []string
	for _, field := range found[0].Type.Params.List {
		for _, name := range field.Names {
			names = append(names, name.Name)
		}
	}
	if !slices.Equal(names, constructorParameters) {
		return nil, fmt.Errorf("anchor %q: the parameters are %q, expected %q", "func NewAllocator", names, constructorParameters)
	}
	at := fset.File(found[0].Pos()).Offset(found[0].Body.Lbrace) + 1
	call := "\n\tif override != nil {\n\t\treturn override(" + strings.Join(names, ", ") + ")\n\t}"
	return applyEdits(src, []edit{{start: at, end: at, text: call}})
}
