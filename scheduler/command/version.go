package command

import (
	"cmp"

	"github.com/dray-dev/dray/scheduler/command/linked"
)

// versionLine says what was linked.
func versionLine() string {
	return "dray-scheduler (kube-scheduler " + cmp.Or(linked.Kubernetes, "of an unknown version") + ")"
}
