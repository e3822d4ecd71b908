package repolint

import "testing"

// goodVersions is a workspace of two modules in which one requires the other.
func goodVersions() Tree {
	return Tree{
		"go.work":          "go 1.26.0\n\nuse (\n\t./allocator\n\t./bench\n)\n",
		"allocator/go.mod": "module " + ours("allocator") + "\n\ngo 1.26.0\n\nrequire (\n\tk8s.io/api v0.37.2\n\tk8s.io/klog/v2 v2.140.0\n)\n",
		"bench/go.mod": "module " + ours("bench") + "\n\ngo 1.26.0\n\nrequire " + ours("allocator") + " v0.0.0\n\n" +
			"require k8s.io/kubernetes v1.37.2\n\nreplace " + ours("allocator") + " => ../allocator\n",
		"bench/testdata/go.mod": "module example.com/other\n",
	}
}

func TestVersionsThatAgreeGiveNoFinding(t *testing.T) {
	expect(t, CheckVersions(goodVersions(), Kubernetes))
}

func TestVersionsThatDisagree(t *testing.T) {
	module := "module " + ours("allocator") + "\n\ngo 1.26.0\n\n"
	bench := "module " + ours("bench") + "\n\ngo 1.26.0\n\nrequire " + ours("allocator")
	for name, test := range map[string]struct {
		file, content string
		want          []string
	}{
		"old Kubernetes module": {"allocator/go.mod", module + "require k8s.io/api v0.36.2\n",
			[]string{"allocator/go.mod:5: has k8s.io/api v0.36.2, want v0.37.2"}},
		"old Kubernetes server": {"allocator/go.mod", module + "require k8s.io/kubernetes v1.37.1\n",
			[]string{"allocator/go.mod:5: has k8s.io/kubernetes v1.37.1, want v1.37.2"}},
		"Kubernetes replaced": {"allocator/go.mod", module + "replace k8s.io/api => k8s.io/api v0.36.0\n",
			[]string{"allocator/go.mod:5: has k8s.io/api v0.36.0, want v0.37.2"}},
		"staging module without a version": {"allocator/go.mod", module + "require k8s.io/api v0.0.0\n",
			[]string{"allocator/go.mod:5: has k8s.io/api v0.0.0, want v0.37.2"}},
		"staging module replaced": {"allocator/go.mod", module + "require k8s.io/api v0.0.0\n\nreplace k8s.io/api => k8s.io/api v0.37.2\n", nil},
		"another Go": {"allocator/go.mod", "module " + ours("allocator") + "\n\ngo 1.25.0\n\ntoolchain go1.26.8\n",
			[]string{"allocator/go.mod:3: says go 1.25.0, go.work says go 1.26.0", "allocator/go.mod:5: has a toolchain directive"}},
		"no Go":              {"allocator/go.mod", "module " + ours("allocator") + "\n", []string{"allocator/go.mod: has no go directive"}},
		"another name":       {"allocator/go.mod", "module example.com/x\n\ngo 1.26.0\n", []string{"allocator/go.mod: module path is not github.com/dray-dev/dray/allocator"}},
		"module outside":     {"hwsim/go.mod", "module " + ours("hwsim") + "\n\ngo 1.26.0\n", []string{"go.work: does not use ./hwsim"}},
		"directory missing":  {"go.work", "go 1.26.0\n\nuse (\n\t./allocator\n\t./bench\n\t./gone\n)\n", []string{"go.work:6: uses ./gone, which has no go.mod"}},
		"workspace replace":  {"go.work", "go 1.26.0\n\nuse (\n\t./allocator\n\t./bench\n)\n\nreplace k8s.io/api => k8s.io/api v0.37.2\n", []string{"go.work:8: replaces k8s.io/api"}},
		"workspace garbage":  {"go.work", "go go go\n", []string{"go.work: does not parse"}},
		"workspace without":  {"go.work", "use ./allocator\n", []string{"go.work: has no go directive"}},
		"module garbage":     {"allocator/go.mod", "modul x\n", []string{"allocator/go.mod: does not parse"}},
		"sibling alone":      {"bench/go.mod", bench + " v0.0.0\n", []string{"bench/go.mod:5: requires github.com/dray-dev/dray/allocator without a replace"}},
		"sibling elsewhere":  {"bench/go.mod", bench + " v0.0.0\n\nreplace " + ours("allocator") + " => ../bench\n", []string{"bench/go.mod:5: replaces github.com/dray-dev/dray/allocator by ../bench"}},
		"sibling by version": {"bench/go.mod", bench + " v0.1.0\n\nreplace " + ours("allocator") + " => ../allocator\n", []string{"bench/go.mod:5: requires github.com/dray-dev/dray/allocator v0.1.0"}},
	} {
		t.Run(name, func(t *testing.T) {
			tree := goodVersions()
			tree[test.file] = test.content
			expect(t, CheckVersions(tree, Kubernetes), test.want...)
		})
	}
}
