// Package linked lets the program say which Kubernetes is linked: in the log, in the
// metric kubernetes_build_info, as the user agent, and where a server has it, at
// /version. Release builds of Kubernetes set this with linker flags, which a plain go
// build does not have. To import it is enough.
//
// What must stay true: the package imports component-base/version and the standard
// library alone. Go initializes packages in the order of their paths as soon as all
// that they import is initialized, so this one goes before those of k8s.io that read
// the version while they are initialized, such as that of the metric.
package linked

import (
	"runtime/debug"
	"strings"
	_ "unsafe" // for linkname

	"k8s.io/component-base/version"
)

var (
	//go:linkname gitVersion k8s.io/component-base/version.gitVersion
	gitVersion string
	//go:linkname gitMajor k8s.io/component-base/version.gitMajor
	gitMajor string
	//go:linkname gitMinor k8s.io/component-base/version.gitMinor
	gitMinor string
)

// Kubernetes is the version of k8s.io/kubernetes in this program, such as v1.37.2;
// empty if the build does not say.
var Kubernetes = kubernetes()

// Err is why the program cannot say its version; nil, but for a version that is none.
var Err = name()

// name sets the version, unless linker flags have set it.
func name() error {
	if Kubernetes == "" || !strings.HasPrefix(gitVersion, "v0.0.0") {
		return nil
	}
	parts := strings.SplitN(strings.TrimPrefix(Kubernetes, "v"), ".", 3)
	gitVersion, gitMajor, gitMinor = Kubernetes, parts[0], parts[1]
	return version.SetDynamicVersion(Kubernetes)
}

func kubernetes() string {
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, module := range info.Deps {
			if module.Path == "k8s.io/kubernetes" && strings.Count(module.Version, ".") >= 2 {
				return module.Version
			}
		}
	}
	return ""
}
