package hollow

import (
	"errors"
	"fmt"
	"path/filepath"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/client-go/kubernetes"
	"k8s.io/utils/clock"
)

// Options of a Node. Name, Client and Dir must be given.
type Options struct {
	// Name of the Node object.
	Name string
	// Client of the API server, with the node's credentials: user system:node:NAME in
	// the group system:nodes.
	Client kubernetes.Interface
	// Dir is the kubelet's folder, which drivers know as --kubelet-root: sockets are in
	// its plugins_registry and plugins, the state file of the DRA manager in itself.
	Dir string
	// CDIDir is where CDI files are, which drivers know as --cdi-root; DIR/cdi if empty.
	CDIDir string
	// Labels of the node, besides those for its name, system and architecture.
	Labels map[string]string
	// Architecture is amd64 if empty.
	Architecture string
	// Capacity of the node. Resources of a device plugin, such as example.com/fpga, are
	// among it. What is not said of CPUs, memory and pods is [DefaultCapacity].
	Capacity corev1.ResourceList
	// Address and Port are where the API server finds the node's kubelet, for the logs of
	// containers (Node.Log); it has none if Port is 0.
	Address string
	Port    int32
	// Clock is time's if it is nil.
	Clock clock.WithTicker
}

// Registry is where drivers put the sockets by which they register.
func (o *Options) Registry() string { return filepath.Join(o.Dir, "plugins_registry") }

func (o *Options) complete() error {
	switch {
	case o.Name == "":
		return errors.New("hollow: option name is missing")
	case o.Client == nil:
		return errors.New("hollow: option client is missing")
	case o.Dir == "":
		return errors.New("hollow: option dir is missing")
	}
	if problems := validation.IsDNS1123Subdomain(o.Name); len(problems) > 0 {
		return fmt.Errorf("hollow: option name: no node can be called %q: %s", o.Name, problems[0])
	}
	if o.CDIDir == "" {
		o.CDIDir = filepath.Join(o.Dir, "cdi")
	}
	if o.Architecture == "" {
		o.Architecture = "amd64"
	}
	if o.Clock == nil {
		o.Clock = clock.RealClock{}
	}
	return nil
}
