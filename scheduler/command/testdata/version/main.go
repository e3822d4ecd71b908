// Command version says which Kubernetes is linked into it, of which it has the smallest
// package that there is.
package main

import (
	"fmt"
	"os"

	"k8s.io/component-base/version"
	_ "k8s.io/kubernetes/pkg/scheduler/framework/plugins/names"

	"github.com/dray-dev/dray/scheduler/command/linked"
)

func main() {
	if linked.Err != nil {
		fmt.Fprintln(os.Stderr, linked.Err)
		os.Exit(1)
	}
	got := version.Get()
	fmt.Printf("linked %s, version %s, %s.%s\n", linked.Kubernetes, got.GitVersion, got.Major, got.Minor)
}
