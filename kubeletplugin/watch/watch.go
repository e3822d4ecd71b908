// Package watch says how a driver learns that hardware changes, and what is wrong
// with it.
//
// A Watcher is of one kind of hardware, as a prepare.Kind is: package nvidia has that
// of NVIDIA's GPUs. What it finds are Problems, each with the taint that the cluster
// must see. The driver asks it after every discovery, so it says what is, not what
// has happened, and a problem that it names no more is over.
package watch

import (
	"context"
	"strings"

	resourceapi "k8s.io/api/resource/v1"

	"github.com/dray-dev/dray/kubeletplugin/hardware"
)

// Watcher watches one kind of hardware during one boot of the machine.
type Watcher interface {
	// Run calls changed whenever something happens, from any goroutine, until the
	// context ends. It returns only then: what fails it tries again.
	Run(ctx context.Context, changed func())
	// Look says what is wrong with the hardware of a node that was just discovered, and
	// returns that node with those devices that discovery could not read and that are
	// to be published all the same, as they were. It does not change the node.
	Look(ctx context.Context, node *hardware.Node) (*hardware.Node, []Problem)
	// Blind is why the last Look could not see which hardware there is, nil if it could.
	// Where there has never been any nobody is blind.
	Blind() error
}

// Problem is one thing that is wrong with some devices.
type Problem struct {
	// Device is the name of a published device. All that are parts of it have the
	// problem as well: "gpu-0" is "gpu-0-mig-1g5gb-19-0", too.
	Device string
	// Taint has no time: whoever publishes it knows since when.
	Taint resourceapi.DeviceTaint
	// Unhealthy devices cannot be relied on; others have something to say.
	Unhealthy bool
	// Unknown: nobody knows how the devices are. It is never beside Unhealthy.
	Unknown bool
	// Message is a sentence for people.
	Message string
}

// Concerns says whether a device has the problem, by its name.
func (p *Problem) Concerns(device string) bool {
	return device == p.Device || strings.HasPrefix(device, p.Device+"-")
}
