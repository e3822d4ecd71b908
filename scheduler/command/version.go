package command

import (
	"runtime/debug"
	"strings"
	_ "unsafe" // for linkname

	"k8s.io/component-base/version"
)

// What Kubernetes' programs say they are: in the log, at /version, in metrics and
// as the user agent. Their release builds set these with linker flags, which a plain
// go build of this program does not have.
var (
	//go:linkname gitVersion k8s.io/component-base/version.gitVersion
	gitVersion string
	//go:linkname gitMajor k8s.io/component-base/version.gitMajor
	gitMajor string
	//go:linkname gitMinor k8s.io/component-base/version.gitMinor
	gitMinor string
)

// nameVersion lets the program say which kube-scheduler is linked, unless linker
// flags have said so.
func nameVersion() error {
	linked := linkedKubernetes()
	if linked == "" || !strings.HasPrefix(gitVersion, "v0.0.0") {
		return nil
	}
	parts := strings.SplitN(strings.TrimPrefix(linked, "v"), ".", 3)
	gitVersion, gitMajor, gitMinor = linked, parts[0], parts[1]
	return version.SetDynamicVersion(linked)
}

// versionLine says what was linked.
func versionLine() string {
	linked := linkedKubernetes()
	if linked == "" {
		linked = "of an unknown version"
	}
	return "dray-scheduler (kube-scheduler " + linked + ")"
}

// linkedKubernetes is the version of k8s.io/kubernetes in this program, such as
// v1.37.2; empty if the build does not say.
func linkedKubernetes() string {
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, module := range info.Deps {
			if module.Path == "k8s.io/kubernetes" && strings.Count(module.Version, ".") >= 2 {
				return module.Version
			}
		}
	}
	return ""
}
