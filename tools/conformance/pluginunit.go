package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

const (
	// pluginTestFile has TestPlugin and what sets plugins up for most of the tests.
	pluginTestFile   = "dynamicresources_test.go"
	extendedTestFile = "extendeddynamicresources_test.go"
)

// pluginAnchors let the setup of upstream's tests make our plugin. The manager
// beneath it stays the copied one, whose state the tests look at.
var pluginAnchors = []anchor{
	{"\tp               *DynamicResources\n", 1, "\tp               *drayPlugin\n"},
	{"pl, err := New(tCtx, args, fh, features)", 1, "pl, err := newDray(tCtx, args, fh, features)"},
	{"tc.p = pl.(*DynamicResources)", 1, "tc.p = pl"},
	// The state of a pod without claims: as our own PreFilter leaves it.
	{"state.Write(stateKey, &stateData{})", 1, "drayStateOf(state, pod)"},
	// The state of a group of which a claim cannot be used: as Filter leaves it.
	{"_, gotStatus := testCtx.p.", 1, "_, gotStatus := drayFiltered(tCtx, testCtx, podGroupCycleState, tc.unscheduledPods, tc.unavailableClaimNames)."},
}

// extendedAnchors let our plugin bind a pod where a function of upstream's is called.
var extendedAnchors = []anchor{
	{"createRequestsAndMappings(tc.pod,", 2, "drayRequestsAndMappings(tc.pod,"},
}

// ownPlugins are the tests that make a plugin by themselves, and how many places in
// each do.
var ownPlugins = map[string]int{
	"TestPostFilterNoOpStatusHasNoUserVisibleReason":  2,
	"TestNormalizeScore":                              1,
	"TestDynamicResources_DeferredResizeSkipped":      1,
	"TestPreQueueingHint":                             1,
	"TestPreQueueingHint_WithPodInIndexer":            1,
	"TestPreQueueingHint_SharedClaimMultiplePods":     1,
	"TestPreQueueingHint_PodNotYetIndexed":            1,
	"TestPreQueueingHint_DeleteEventWithPodInIndexer": 1,
}

// addPluginCopy adds upstream's plugin with its tests, in which those tests that
// can reach our plugin do.
func addPluginCopy(files map[string][]byte, kubernetesDir string) error {
	relative := strings.TrimPrefix(pluginPackage, kubernetesPath+"/")
	names, err := addGoFiles(files, filepath.Join(kubernetesDir, filepath.FromSlash(relative)), pluginCopy)
	if err != nil {
		return err
	}
	for _, edited := range []struct {
		name    string
		anchors []anchor
	}{{pluginTestFile, pluginAnchors}, {extendedTestFile, extendedAnchors}} {
		name := path.Join(pluginCopy, edited.name)
		if files[name], err = replaceAnchors(files[name], edited.anchors); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	found := map[string]bool{}
	for _, name := range names {
		if !strings.HasSuffix(name, "_test.go") {
			continue
		}
		tests, err := testsOf(name, files[name])
		if err != nil {
			return err
		}
		for _, test := range tests {
			found[test] = true
		}
		if files[name], err = replaceOwnPlugins(name, files[name]); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	if err := checkPluginTests(found); err != nil {
		return err
	}
	for _, adapter := range []string{"plugin_test.go", "extended_test.go"} {
		if files[path.Join(pluginCopy, "zz_dray_"+adapter)], err = adapterFiles.ReadFile("adapter/" + adapter + ".txt"); err != nil {
			return err
		}
	}
	return nil
}

// testsOf lists the tests of a file.
func testsOf(name string, src []byte) ([]string, error) {
	parsed, err := parser.ParseFile(token.NewFileSet(), name, src, parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	var tests []string
	for _, decl := range parsed.Decls {
		if f, ok := decl.(*ast.FuncDecl); ok && f.Recv == nil && strings.HasPrefix(f.Name.Name, "Test") {
			tests = append(tests, f.Name.Name)
		}
	}
	return tests, nil
}

// replaceOwnPlugins lets each &DynamicResources{…} in the tests of ownPlugins be
// our plugin, made with what upstream's was to have.
func replaceOwnPlugins(name string, src []byte) ([]byte, error) {
	fset := token.NewFileSet()
	parsed, err := parser.ParseFile(fset, name, src, parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	var edits []edit
	for _, decl := range parsed.Decls {
		f, ok := decl.(*ast.FuncDecl)
		if !ok || f.Recv != nil || ownPlugins[f.Name.Name] == 0 {
			continue
		}
		n := 0
		ast.Inspect(f, func(node ast.Node) bool {
			if unary, ok := node.(*ast.UnaryExpr); ok && unary.Op == token.AND && isPluginLiteral(unary.X) {
				n++
				at := fset.File(node.Pos())
				edits = append(edits,
					edit{at.Offset(node.Pos()), at.Offset(node.Pos()), "drayFrom("},
					edit{at.Offset(node.End()), at.Offset(node.End()), ")"})
			}
			return true
		})
		if err := expectAnchor("&DynamicResources{…} in "+f.Name.Name, n, ownPlugins[f.Name.Name]); err != nil {
			return nil, err
		}
	}
	return applyEdits(src, edits)
}

func isPluginLiteral(x ast.Expr) bool {
	literal, ok := x.(*ast.CompositeLit)
	if !ok {
		return false
	}
	name, ok := literal.Type.(*ast.Ident)
	return ok && name.Name == "DynamicResources"
}

// checkPluginTests fails unless each test of the package is one that runs on our
// plugin or one of which it is known why not.
func checkPluginTests(found map[string]bool) error {
	known := append([]string{"TestPlugin"}, portedTests...)
	for _, left := range leftOut {
		known = append(known, left.tests...)
	}
	for _, test := range known {
		if !found[test] {
			return fmt.Errorf("anchor %q: there is no such test", test)
		}
		delete(found, test)
	}
	for test := range found {
		return fmt.Errorf("%s: upstream's plugin has %d tests of which nothing is known, such as %s: run it on our plugin, or say why not", pluginTestFile, len(found), test)
	}
	return nil
}

// portedPattern selects the tests besides TestPlugin that run on our plugin.
func portedPattern() string {
	return "^(" + strings.Join(slices.Sorted(slices.Values(portedTests)), "|") + ")$"
}
