package driver

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/dynamic-resource-allocation/resourceslice"

	"github.com/dray-dev/dray/kubeletplugin/checkpoint"
	"github.com/dray-dev/dray/kubeletplugin/hardware"
	"github.com/dray-dev/dray/kubeletplugin/prepare"
	"github.com/dray-dev/dray/kubeletplugin/publish"
	"github.com/dray-dev/dray/kubeletplugin/watch"
)

// Options of a Driver. Those without a word about their default are needed.
type Options struct {
	// Name of the DRA driver: one of Publish.Drivers.
	Name string
	// Node is the name of the Node object and of the pool.
	Node   string
	Client kubernetes.Interface
	// Host are the machine's files, and GPUs its GPU library; nil without.
	Host hardware.Host
	GPUs hardware.GPULibrary
	// Kinds of devices that can be prepared. Others are not published.
	Kinds []prepare.Kind
	// Foreign names the devices that exist on the machine and that no claim accounts
	// for; nil where there can be none. What they are in the way of is not published.
	Foreign func(node *hardware.Node, claims []*checkpoint.Claim) ([]string, error)
	// Watchers of hardware, in no order. New ones for each Driver.
	Watchers []watch.Watcher
	// Publish says what is wished for. What the API server does not keep of it is
	// left out; Features and Minor are found out.
	Publish publish.Options
	Folders Folders
	// PodUID, if it is set, allows a second driver beside this one while a DaemonSet is
	// updated: sockets have it in their names. One of the two publishes.
	PodUID types.UID
	// Clock is time's if it is nil.
	Clock Clock
	// PollInterval is how often hardware is looked at that has no events;
	// DefaultPollInterval if it is 0.
	PollInterval time.Duration
	// Metrics may be nil.
	Metrics *Metrics
	// Step, if set, is called before each change to the disk or the machine.
	Step func(what string)
	// Interfere, if its fields are set, makes the driver misbehave.
	Interfere Interference
}

// Folders on the node. The kubelet and container runtime must know them by the same
// paths.
type Folders struct {
	// Registry is where the kubelet looks for drivers: /var/lib/kubelet/plugins_registry.
	Registry string
	// Plugin is this driver's: /var/lib/kubelet/plugins/NAME. It has the checkpoint.
	Plugin string
	// CDI is where container runtimes look: /var/run/cdi.
	CDI string
	// Simulated is empty on real hardware (cdi.Options).
	Simulated string
}

// KubeletFolders are those below the kubelet's directory.
func KubeletFolders(root, driver, cdi string) Folders {
	return Folders{Registry: filepath.Join(root, "plugins_registry"), Plugin: filepath.Join(root, "plugins", driver), CDI: cdi}
}

// DefaultPollInterval follows hardware within a second.
const DefaultPollInterval = 500 * time.Millisecond

// Clock tells the time and waits.
type Clock interface {
	Now() time.Time
	After(d time.Duration) <-chan time.Time
}

type systemClock struct{}

func (systemClock) Now() time.Time                         { return time.Now() }
func (systemClock) After(d time.Duration) <-chan time.Time { return time.After(d) }

// Interference lets a simulation show what a driver in trouble looks like.
type Interference struct {
	// Publish replaces what is about to be published, and is asked in each round.
	Publish func(ctx context.Context, resources resourceslice.DriverResources) resourceslice.DriverResources
	// Prepare comes before the preparation of each claim, and can fail it.
	Prepare func(ctx context.Context, claim *resourceapi.ResourceClaim) error
}

func (o *Options) complete() error {
	if o.Clock == nil {
		o.Clock = systemClock{}
	}
	if o.PollInterval == 0 {
		o.PollInterval = DefaultPollInterval
	}
	for _, need := range []struct {
		option string
		given  bool
	}{
		{"name", o.Name != ""}, {"node", o.Node != ""}, {"client", o.Client != nil}, {"host", o.Host != nil}, {"kinds", len(o.Kinds) > 0},
		{"folders.registry", o.Folders.Registry != ""}, {"folders.plugin", o.Folders.Plugin != ""}, {"folders.CDI", o.Folders.CDI != ""},
	} {
		if !need.given {
			return fmt.Errorf("driver: option %s is missing", need.option)
		}
	}
	if o.PollInterval < 0 {
		return errors.New("driver: option pollInterval is negative")
	}
	return nil
}
