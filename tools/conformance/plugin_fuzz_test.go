package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"strings"
	"testing"

	"golang.org/x/mod/modfile"
)

// FuzzConstructor: what is accepted is a constructor whose first statement, after
// the patch, is the call of the override, and nothing else has changed.
func FuzzConstructor(f *testing.F) {
	f.Add(tinyConstructor)
	f.Add(strings.Replace(tinyConstructor, "{\n", "{ // {\n", 1))
	f.Add("package p\nfunc NewAllocator(ctx, features, allocatedState, classLister, slices, celCache int) {}")
	f.Fuzz(func(t *testing.T, src string) {
		patched, err := patchConstructor([]byte(src))
		if err != nil {
			return
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), "f.go", patched, parser.SkipObjectResolution)
		if err != nil {
			t.Fatalf("%v in\n%s", err, patched)
		}
		for _, decl := range parsed.Decls {
			f, ok := decl.(*ast.FuncDecl)
			if !ok || f.Recv != nil || f.Body == nil || f.Name.Name != "NewAllocator" {
				continue
			}
			if first, ok := f.Body.List[0].(*ast.IfStmt); !ok || len(first.Body.List) != 1 {
				t.Errorf("the override does not come first:\n%s", patched)
			}
		}
		call := "\n\tif override != nil {\n\t\treturn override(ctx, features, allocatedState, classLister, slices, celCache)\n\t}"
		if before, after, found := strings.Cut(string(patched), call); !found || !strings.Contains(src, call) && before+after != src {
			t.Errorf("more than the call has changed:\n%s", patched)
		}
	})
}

// FuzzPluginGoMod: in what is accepted no directory of upstream's is left, and the
// copy is not one of its own dependencies.
func FuzzPluginGoMod(f *testing.F) {
	f.Add(tinyKubernetes, tinyOurMod)
	f.Add(strings.Replace(tinyKubernetes, "example.com/a v1.2.0", "k8s.io/kubernetes v1.0.0", 1), tinyOurMod)
	f.Fuzz(func(t *testing.T, upstream, ours string) {
		merged, err := pluginGoMod([]byte(upstream), []byte(ours), tinyDRA, tinyKube, "/repo/allocator")
		if err != nil {
			return
		}
		file, err := modfile.Parse("merged", merged, nil)
		if err != nil {
			t.Fatalf("%v in\n%s", err, merged)
		}
		have := required(file)
		if _, found := have[upstreamPath]; found || have[kubernetesPath] == "" || file.Module.Mod.Path != upstreamPath {
			t.Errorf("the copy is not the main module, or requires itself:\n%s", merged)
		}
		for _, r := range file.Replace {
			if r.New.Version == "" && r.New.Path != "/repo/allocator" {
				t.Errorf("%s is replaced by the directory %s:\n%s", r.Old.Path, r.New.Path, merged)
			}
		}
	})
}

// FuzzPluginEvents: a run counts only if as many tests passed as are neither
// excepted nor missing.
func FuzzPluginEvents(f *testing.F) {
	f.Add(pluginEvents)
	f.Add(strings.ReplaceAll(pluginEvents, "fail", "pass"))
	f.Add(`{"Action":"pass","Test":"/"} {"Action":"fail","Test":"TestSelection//x"}`)
	f.Fuzz(func(t *testing.T, events string) {
		o, err := parseEvents(strings.NewReader(events))
		if err != nil {
			return
		}
		r := pluginReport{pluginSuite: tinyPluginSuite(), outcomes: o}
		var out strings.Builder
		r.print(&out)
		if len(r.faults()) == 0 && (r.passed()+len(r.exceptions) != r.want || !r.outcomes.marked(r.mark)) {
			t.Errorf("%d passed, %d are excepted and %d expected, but there is no fault", r.passed(), len(r.exceptions), r.want)
		}
	})
}
