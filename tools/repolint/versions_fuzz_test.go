package repolint

import (
	"slices"
	"strings"
	"testing"
)

// FuzzCheckVersions looks for a go.work and a go.mod that make the check panic,
// answer differently the second time, or point to where nothing is.
func FuzzCheckVersions(f *testing.F) {
	good := goodVersions()
	f.Add(good["go.work"], good["allocator/go.mod"])
	f.Add(good["go.work"], good["bench/go.mod"])
	f.Add("go 1.26.0\nuse .\nreplace a v1.0.0 => ./a\n", "go 1.25\ntoolchain go1.26.8\nreplace k8s.io/api => k8s.io/api v0.36.0\n")
	f.Add("go 1.26.0\nuse /\nuse ../x\n", "module (\n\tx\n)\nrequire github.com/dray-dev/dray/ v0.0.0\n")
	f.Fuzz(func(t *testing.T, work, mod string) {
		tree := Tree{"go.work": work, "allocator/go.mod": mod, "bench/go.mod": good["bench/go.mod"]}
		findings := CheckVersions(tree, Kubernetes)
		if !slices.Equal(findings, CheckVersions(tree, Kubernetes)) {
			t.Error("two checks differ")
		}
		for _, finding := range findings {
			content, found := tree[finding.Path]
			if !found || finding.Line < 0 || finding.Line > strings.Count(content, "\n")+1 {
				t.Errorf("no such line: %s", finding)
			}
			if finding.Problem == "" || finding.Why == "" {
				t.Errorf("a finding does not say what is wrong and why: %q", finding)
			}
		}
	})
}
