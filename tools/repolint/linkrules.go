package repolint

import (
	"fmt"
	"slices"
	"strings"

	"github.com/dray-dev/dray/tools/linked"
)

// LinkRule says what no package of a module may link, directly or through
// others; with Tests set, not even in its test binary.
type LinkRule struct {
	Module string   // directory from the root; "" is every module
	Except []string // modules that a rule for every module does not concern
	// But are packages that the rule does not concern: directories from the root.
	But   []string
	Tests bool
	Never []string // import paths; what is below them is meant too
	Why   string
}

// LinkRules are about what a binary contains, so that an import through a third
// party counts as well.
var LinkRules = []LinkRule{
	{
		Module: "allocator", Tests: true,
		Never: []string{"k8s.io/client-go", "k8s.io/kubernetes"},
		Why: "the allocator stays a library that any program can link; upstream's cel and structured packages " +
			"do not need a client either",
	},
	{
		Module: "allocator",
		Never:  []string{"k8s.io/dynamic-resource-allocation/structured/internal"},
		Why:    "a patched copy of upstream's allocator imports ours, which must not lead back to it",
	},
	{
		Module: "bench", But: []string{"bench/scheduling", "bench/cmd/schedbench", "bench/cmd/perfbench"}, Tests: true,
		Never: []string{"k8s.io/client-go", "k8s.io/kubernetes"},
		Why: "`make bench` and the gate compile in seconds; only what measures the scheduler plugin has the " +
			"scheduler's framework around it",
	},
	{
		Tests: true,
		// The end-to-end tests are what runs servers, and dray-scheduler is one: its
		// health endpoints are kube-scheduler's. perfbench measures with an API server.
		// make test leaves all of them out.
		Except: []string{"e2e", "scheduler"}, But: []string{"bench/cmd/perfbench"},
		// The CEL library below k8s.io/apiserver/pkg/cel is no server.
		Never: []string{"k8s.io/apiserver/pkg/server", "k8s.io/kubernetes/cmd", "k8s.io/kubernetes/pkg/controlplane"},
		Why:   "`make test` links no Kubernetes server, so that it runs on a fresh machine in minutes",
	},
}

func (r *LinkRule) concerns(module string) bool {
	return (r.Module == "" || r.Module == module) && !slices.Contains(r.Except, module)
}

// CheckLinked reports each package of the graph that links what the rule
// forbids, with the chain of imports that leads there. The graph holds the
// packages of a module that the rule is about, with their tests if it asks for
// them.
func CheckLinked(graph *linked.Graph, rule LinkRule) []Finding {
	var findings []Finding
	for _, name := range graph.Packages() {
		if slices.Contains(rule.But, strings.TrimPrefix(name, Project+"/")) {
			continue
		}
		for _, never := range rule.Never {
			if chain := graph.Chain(name, linked.Below(never)); chain != nil {
				findings = append(findings, Finding{strings.TrimPrefix(name, Project+"/"), 0,
					fmt.Sprintf("links %s (%s)", never, strings.Join(chain, " -> ")), rule.Why})
			}
		}
	}
	return findings
}
