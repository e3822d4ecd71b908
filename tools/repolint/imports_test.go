package repolint

import (
	"testing"

	"github.com/dray-dev/dray/tools/linked"
)

func importing(paths ...string) string {
	source := "package p\n\nimport (\n"
	for _, path := range paths {
		source += "\t\"" + path + "\"\n"
	}
	return source + ")\n"
}

func TestModulesImportOnlyTheModulesOfTheTable(t *testing.T) {
	tree := Tree{
		"allocator/go.mod":       "",
		"allocator/a.go":         importing(ours("allocator/internal/bitset"), ours("hwsim/machine")),
		"allocator/a_test.go":    importing(ours("scheduler")),
		"scheduler/go.mod":       "",
		"scheduler/s.go":         importing(ours("allocator"), ours("kubeletplugin")),
		"e2e/suite/s.go":         importing(ours("kubeletplugin/driver"), "testing"),
		"hwsim/machine/m.go":     importing(ours("kubeletplugin/hardware")),
		"hwsim/machine/store.go": importing(ours("kubeletplugin/driver"), "k8s.io/client-go/rest", "C"),
		"surprise/go.mod":        "",
	}
	expect(t, CheckImports(tree, Modules, ImportRules),
		"surprise: module is not in the import table",
		"allocator/a.go:5: allocator must not import github.com/dray-dev/dray/hwsim/machine",
		"allocator/a_test.go:4: allocator must not import github.com/dray-dev/dray/scheduler",
		"hwsim/machine/store.go:4: hwsim/machine must not import github.com/dray-dev/dray/kubeletplugin/driver",
		"hwsim/machine/store.go:5: hwsim/machine must not import k8s.io/client-go/rest",
		"hwsim/machine/store.go:6: hwsim/machine must not import C",
		"scheduler/s.go:5: scheduler must not import github.com/dray-dev/dray/kubeletplugin",
	)
}

func TestAllocatorImportRules(t *testing.T) {
	const (
		structured = "k8s.io/dynamic-resource-allocation/structured"
		dracel     = "k8s.io/dynamic-resource-allocation/cel"
		api        = "k8s.io/api/resource/v1"
	)
	for name, test := range map[string]struct {
		file    string
		imports []string
		want    []string
	}{
		"no client":                  {"allocator/a.go", []string{"k8s.io/client-go/listers/core/v1"}, []string{"allocator/a.go:4: allocator must not"}},
		"no client in tests":         {"allocator/a_test.go", []string{"k8s.io/client-go/rest"}, []string{"allocator/a_test.go:4: "}},
		"no server code":             {"allocator/difftest/d_test.go", []string{"k8s.io/kubernetes/pkg/apis/core"}, []string{"allocator/difftest/d_test.go:4: "}},
		"no structured":              {"allocator/a.go", []string{structured + "/schedulerapi", structured}, []string{"allocator/a.go:5: "}},
		"structured in tests":        {"allocator/a_test.go", []string{structured}, nil},
		"structured in test package": {"allocator/difftest/d.go", []string{structured}, []string{"allocator/difftest/d.go:4: "}},
		"façade":                     {"allocator/a.go", []string{api, dracel, "context"}, nil},
		"bitset":                     {"allocator/internal/bitset/b.go", []string{"math/bits", ours("allocator/internal/index")}, []string{"allocator/internal/bitset/b.go:5: "}},
		"index":                      {"allocator/internal/index/i.go", []string{ours("allocator/internal/bitset"), "example.com/maps"}, []string{"allocator/internal/index/i.go:5: "}},
		"search":                     {"allocator/internal/search/s.go", []string{ours("allocator/internal/index"), ours("allocator/internal/request")}, []string{"allocator/internal/search/s.go:5: "}},
		"hot path tests":             {"allocator/internal/search/s_test.go", []string{"pgregory.net/rapid", api}, []string{"allocator/internal/search/s_test.go:5: "}},
		"selector knows CEL":         {"allocator/internal/selector/s.go", []string{dracel, "github.com/google/cel-go/common/ast", api}, nil},
		"request does not":           {"allocator/internal/request/r.go", []string{api, dracel}, []string{"allocator/internal/request/r.go:5: "}},
		"API types inside":           {"allocator/internal/ledger/l.go", []string{api}, []string{"allocator/internal/ledger/l.go:4: "}},
		"API types in tests":         {"allocator/internal/ledger/l_test.go", []string{api}, nil},
		"testing in product code":    {"allocator/internal/result/r.go", []string{"testing/quick", "testing"}, []string{"allocator/internal/result/r.go:4: ", "allocator/internal/result/r.go:5: "}},
		"testing in a test package":  {"allocator/allocatortest/a.go", []string{"testing", dracel, api}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			tree := Tree{"allocator/go.mod": "", test.file: importing(test.imports...)}
			expect(t, CheckImports(tree, Modules, ImportRules), test.want...)
		})
	}
}

func TestCheckImportsReportsWhatDoesNotParse(t *testing.T) {
	expect(t, CheckImports(Tree{"allocator/a.go": "packag p\n"}, Modules, nil), "allocator/a.go: does not parse")
}

func TestRulesOfModulesThatExistMustNameTheirPackages(t *testing.T) {
	tree := Tree{"allocator/go.mod": "", "allocator/search/s.go": "package search\n"}
	rules := []ImportRule{
		{From: []string{"allocator/search"}, Why: "fine"},
		{From: []string{"..."}, Except: []string{"allocator/gone/..."}, Why: "stale"},
		{From: []string{"hwsim/..."}, Why: "not written yet"},
	}
	expect(t, CheckRulesApply(tree, rules), "allocator/gone/...: an import rule names a package that does not exist")
}

func TestLinkRulesReportTheChain(t *testing.T) {
	graph := &linked.Graph{
		Imports: map[string][]string{
			ours("allocator"):            {"k8s.io/dynamic-resource-allocation/cel"},
			"example.com/cached":         {"k8s.io/client-go/rest"},
			ours("allocator/clean"):      {"k8s.io/api/resource/v1"},
			ours("allocator") + ".test":  {ours("allocator"), "example.com/cached"},
			"k8s.io/client-go/rest":      nil,
			"k8s.io/api/resource/v1":     nil,
			"k8s.io/client-gopher/other": nil,
		},
		Nodes: map[string][]string{
			ours("allocator"):       {ours("allocator"), ours("allocator") + ".test"},
			ours("allocator/clean"): {ours("allocator/clean")},
		},
	}
	expect(t, CheckLinked(graph, LinkRule{Never: []string{"k8s.io/client-go"}, Why: "pure"}),
		"allocator: links k8s.io/client-go (github.com/dray-dev/dray/allocator.test -> example.com/cached -> k8s.io/client-go/rest): pure")
	expect(t, CheckLinked(graph, LinkRule{But: []string{"allocator"}, Never: []string{"k8s.io/client-go"}, Why: "pure"}))
}
