package repolint

import (
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/mod/modfile"
	"golang.org/x/mod/module"
)

// Kubernetes is the one version of Kubernetes that every module is built with,
// as its published modules and as k8s.io/kubernetes count it.
var Kubernetes = KubernetesVersion{Modules: "v0.37.2", Server: "v1.37.2"}

// KubernetesVersion names one release of Kubernetes.
type KubernetesVersion struct {
	Modules string // of k8s.io/api and the others published with it
	Server  string // of k8s.io/kubernetes
}

// ownVersions are the modules under k8s.io that are released on their own.
var ownVersions = []string{"k8s.io/gengo", "k8s.io/klog", "k8s.io/kube-openapi", "k8s.io/system-validators", "k8s.io/utils"}

// of returns the version that a module must have, or "" if it is free.
func (v KubernetesVersion) of(modulePath string) string {
	base, _, _ := module.SplitPathVersion(modulePath)
	switch {
	case base == "k8s.io/kubernetes":
		return v.Server
	case strings.HasPrefix(base, "k8s.io/") && !slices.Contains(ownVersions, base):
		return v.Modules
	}
	return ""
}

const (
	whyOneVersion = "one Kubernetes version everywhere: an allocator and a scheduler of different releases " +
		"disagree about the same objects"
	whyOneGo      = "one go directive everywhere, or the workspace builds with another language version than a module alone"
	whyWorkspace  = "go.work lists every module, so that `make test` leaves none out"
	whyStandalone = "each module builds with GOWORK=off too: require the sibling at v0.0.0 and replace it by its directory"
)

// CheckVersions reads go.work and every go.mod and reports where they disagree:
// on the Kubernetes version, on the go directive, on which modules there are,
// and on how siblings find each other without the workspace.
func CheckVersions(tree Tree, kubernetes KubernetesVersion) []Finding {
	work, err := modfile.ParseWork("go.work", []byte(tree["go.work"]), nil)
	if err != nil {
		return []Finding{{"go.work", 0, "does not parse", err.Error()}}
	}
	if work.Go == nil {
		return []Finding{{"go.work", 0, "has no go directive", whyOneGo}}
	}
	findings := checkWorkspace(tree, work)
	for _, dir := range tree.modules() {
		name := path.Join(dir, "go.mod")
		file, err := modfile.Parse(name, []byte(tree[name]), nil)
		if err != nil {
			findings = append(findings, Finding{name, 0, "does not parse", err.Error()})
			continue
		}
		m := moduleFile{name, dir, file}
		findings = append(findings, m.checkHead(work.Go.Version)...)
		findings = append(findings, m.checkKubernetes(kubernetes)...)
		findings = append(findings, m.checkSiblings(tree)...)
	}
	return findings
}

func checkWorkspace(tree Tree, work *modfile.WorkFile) []Finding {
	var findings []Finding
	used := map[string]bool{}
	for _, use := range work.Use {
		dir := path.Clean(filepath.ToSlash(use.Path))
		used[dir] = true
		if _, ok := tree[path.Join(dir, "go.mod")]; !ok {
			findings = append(findings, Finding{"go.work", use.Syntax.Start.Line,
				fmt.Sprintf("uses %s, which has no go.mod", use.Path), whyWorkspace})
		}
	}
	for _, dir := range tree.modules() {
		if !used[dir] {
			findings = append(findings, Finding{"go.work", 0, fmt.Sprintf("does not use ./%s", dir), whyWorkspace})
		}
	}
	for _, replace := range work.Replace {
		findings = append(findings, Finding{"go.work", replace.Syntax.Start.Line,
			fmt.Sprintf("replaces %s", replace.Old.Path), "a replace here is missing when a module is built alone; " + whyStandalone})
	}
	return findings
}

// moduleFile is one go.mod with its place in the repository.
type moduleFile struct {
	name, dir string
	*modfile.File
}

func (m moduleFile) checkHead(goVersion string) []Finding {
	var findings []Finding
	if want := ours(m.dir); m.Module == nil || m.Module.Mod.Path != want {
		findings = append(findings, Finding{m.name, 0, "module path is not " + want,
			"a module is named after its directory, so that an import tells where the code is"})
	}
	switch {
	case m.Go == nil:
		findings = append(findings, Finding{m.name, 0, "has no go directive", whyOneGo})
	case m.Go.Version != goVersion:
		findings = append(findings, Finding{m.name, m.Go.Syntax.Start.Line,
			fmt.Sprintf("says go %s, go.work says go %s", m.Go.Version, goVersion), whyOneGo})
	}
	if m.Toolchain != nil {
		findings = append(findings, Finding{m.name, m.Toolchain.Syntax.Start.Line, "has a toolchain directive",
			"the go directive is enough; a toolchain line makes the go command download another Go"})
	}
	return findings
}

func (m moduleFile) checkKubernetes(kubernetes KubernetesVersion) []Finding {
	var findings []Finding
	check := func(mod module.Version, line int) {
		if want := kubernetes.of(mod.Path); want != "" && mod.Version != want {
			findings = append(findings, Finding{m.name, line,
				fmt.Sprintf("has %s %s, want %s", mod.Path, mod.Version, want), whyOneVersion})
		}
	}
	// k8s.io/kubernetes requires its staging modules at v0.0.0, which only means
	// something with a replacement: that one is then what is built.
	replaced := map[string]bool{}
	for _, replace := range m.Replace {
		if replace.New.Version != "" {
			replaced[replace.Old.Path] = replace.Old.Version == ""
			check(replace.New, replace.Syntax.Start.Line)
		}
	}
	for _, require := range m.Require {
		if !(require.Mod.Version == "v0.0.0" && replaced[require.Mod.Path]) {
			check(require.Mod, require.Syntax.Start.Line)
		}
	}
	return findings
}

func (m moduleFile) checkSiblings(tree Tree) []Finding {
	replaced := map[string]string{}
	for _, replace := range m.Replace {
		replaced[replace.Old.Path] = replace.New.Path
	}
	var findings []Finding
	for _, require := range m.Require {
		dir, ok := strings.CutPrefix(require.Mod.Path, Project+"/")
		if !ok {
			continue
		}
		line := require.Syntax.Start.Line
		if require.Mod.Version != "v0.0.0" {
			findings = append(findings, Finding{m.name, line,
				fmt.Sprintf("requires %s %s", require.Mod.Path, require.Mod.Version), whyStandalone})
		}
		target, ok := replaced[require.Mod.Path]
		if !ok {
			findings = append(findings, Finding{m.name, line,
				fmt.Sprintf("requires %s without a replace", require.Mod.Path), whyStandalone})
		} else if path.Join(m.dir, target) != dir || tree[path.Join(dir, "go.mod")] == "" {
			findings = append(findings, Finding{m.name, line,
				fmt.Sprintf("replaces %s by %s, which is not its directory", require.Mod.Path, target), whyStandalone})
		}
	}
	return findings
}
