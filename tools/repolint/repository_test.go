package repolint

import (
	"path/filepath"
	"testing"

	"github.com/dray-dev/dray/tools/linked"
)

// root of the repository, seen from this package.
const root = "../.."

func repository(t *testing.T) Tree {
	t.Helper()
	tree, err := Load(root)
	if err != nil {
		t.Fatal(err)
	}
	// A check over nothing finds nothing.
	for _, name := range []string{"go.work", "Makefile", "README.md", "tools/go.mod", "allocator/go.mod"} {
		if tree[name] == "" {
			t.Fatalf("the repository at %s has no %s", root, name)
		}
	}
	return tree
}

func report(t *testing.T, findings []Finding) {
	t.Helper()
	for _, finding := range findings {
		t.Error(finding)
	}
}

func TestRepositoryImports(t *testing.T) {
	tree := repository(t)
	report(t, CheckImports(tree, Modules, ImportRules))
	report(t, CheckRulesApply(tree, ImportRules))
}

func TestRepositoryLinks(t *testing.T) { report(t, CheckLinks(repository(t))) }

func TestRepositoryMakeCommands(t *testing.T) { report(t, CheckMakeCommands(repository(t))) }

func TestRepositorySamples(t *testing.T) { report(t, CheckSamples(repository(t))) }

func TestRepositoryVersions(t *testing.T) { report(t, CheckVersions(repository(t), Kubernetes)) }

func TestRepositoryPaths(t *testing.T) { report(t, CheckPaths(repository(t), PathRules)) }

func TestRepositoryPackageDocs(t *testing.T) { report(t, CheckPackageDocs(repository(t))) }

func TestRepositoryInvariants(t *testing.T) {
	tree := repository(t)
	if tree[invariants] == "" {
		t.Fatalf("%s is missing", invariants)
	}
	report(t, CheckInvariants(tree))
}

func TestRepositoryBinaries(t *testing.T) {
	for _, module := range repository(t).modules() {
		for _, tests := range []bool{false, true} {
			graph, err := linked.List(filepath.Join(root, module), tests, "./...")
			if err != nil {
				t.Fatal(err)
			}
			if len(graph.Packages()) == 0 {
				t.Errorf("module %s has no packages: the rules about it guard nothing", module)
			}
			for _, rule := range LinkRules {
				if rule.Tests == tests && rule.concerns(module) {
					report(t, CheckLinked(graph, rule))
				}
			}
		}
	}
}
