package command

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/dray-dev/dray/kubeletplugin/driver"
	"github.com/dray-dev/dray/kubeletplugin/publish"
)

// Flags are those that all binaries have.
type Flags struct {
	Kubeconfig  string
	QPS         float32
	Burst       int
	DriverName  string
	Peer        bool
	KubeletRoot string
	CDIRoot     string
	PodUID      string
	MIG         string
	Evict       bool
	HealthPort  int
	MetricsPort int
	Poll        time.Duration
}

// NodePlaceholder in a path stands for the name of the node, where a process serves
// several.
const NodePlaceholder = "{node}"

func (f *Flags) add(set *pflag.FlagSet) {
	set.StringVar(&f.Kubeconfig, "kubeconfig", "", "`FILE` that says how to reach the API server; "+NodePlaceholder+" stands for the node's name; without it, as a pod in the cluster")
	set.Float32Var(&f.QPS, "kube-api-qps", 5, "requests a second to the API server")
	set.IntVar(&f.Burst, "kube-api-burst", 10, "requests at once to the API server")
	set.StringVar(&f.DriverName, "driver-name", publish.DrayDrivers().GPU, "`NAME` of the DRA driver")
	set.BoolVar(&f.Peer, "as-peer", false, "allow a --driver-name that is another project's: never beside that driver")
	set.StringVar(&f.KubeletRoot, "kubelet-root", "/var/lib/kubelet",
		"the kubelet's `DIR`, as k3s and RKE2 have it elsewhere; "+NodePlaceholder+" stands for the node's name")
	set.StringVar(&f.CDIRoot, "cdi-root", "/var/run/cdi", "`DIR` where container runtimes look for CDI files; "+NodePlaceholder+" stands for the node's name")
	set.StringVar(&f.PodUID, "pod-uid", "", "`UID` of the driver's pod: allows a second one beside it during an update")
	set.StringVar(&f.MIG, "mig", "dynamic", "partitions of NVIDIA GPUs, `off|static|dynamic`: none, those that exist, those that could be made")
	set.BoolVar(&f.Evict, "evict", false, "evict the pods that run on a device that breaks, unless they tolerate its taint (NoExecute in place of NoSchedule)")
	set.IntVar(&f.HealthPort, "healthcheck-port", 51515, "`PORT` of the gRPC health service; 0 for none")
	set.IntVar(&f.MetricsPort, "metrics-port", 8080, "`PORT` of the metrics, over HTTP; 0 for none")
	set.DurationVar(&f.Poll, "poll-interval", driver.DefaultPollInterval, "how often hardware is looked at that has no events")
}

// Variable is the environment variable of a flag: --cdi-root is CDI_ROOT.
func Variable(flag string) string { return strings.ToUpper(strings.ReplaceAll(flag, "-", "_")) }

// unset are flags that are no option of the driver's.
var unset = []string{"help", "version"}

// fromEnvironment sets the flags that were not given on the command line. In the help
// each flag names its variable.
func fromEnvironment(set *pflag.FlagSet, lookup func(string) (string, bool)) error {
	var errs []error
	set.VisitAll(func(f *pflag.Flag) {
		if f.Changed || slices.Contains(unset, f.Name) {
			return
		}
		if value, ok := lookup(Variable(f.Name)); ok && value != "" {
			if err := set.Set(f.Name, value); err != nil {
				errs = append(errs, fmt.Errorf("environment variable %s: %w", Variable(f.Name), err))
			}
		}
	})
	return errors.Join(errs...)
}

// Variables are the environment variables that a binary reads, in order.
func Variables(machine Machine) []string {
	var names []string
	newCommand("", machine, &Flags{}).Flags().VisitAll(func(f *pflag.Flag) {
		if !slices.Contains(unset, f.Name) {
			names = append(names, Variable(f.Name))
		}
	})
	return names
}

func nameVariables(set *pflag.FlagSet) {
	set.VisitAll(func(f *pflag.Flag) {
		if !slices.Contains(unset, f.Name) {
			f.Usage += " [" + Variable(f.Name) + "]"
		}
	})
}

// check says what is wrong with the flags, by name, and makes paths absolute. Several
// nodes need folders apart.
func (f *Flags) check(simulated bool, nodes int) error {
	if !slices.Contains(migModes, f.MIG) {
		return fmt.Errorf("--mig is %q: it can be %s", f.MIG, strings.Join(migModes, ", "))
	}
	if problems := validation.IsDNS1123Subdomain(f.DriverName); len(problems) > 0 {
		return fmt.Errorf("--driver-name is %q: %s", f.DriverName, problems[0])
	}
	peers := publish.PeerDrivers(publish.NICFunctions)
	isPeer := slices.Contains([]string{peers.GPU, peers.AMDGPU, peers.NIC, peers.ComputeDomain}, f.DriverName)
	if isPeer && !simulated && !f.Peer {
		return fmt.Errorf("--driver-name: %s is another project's driver; add --as-peer to stand in for it", f.DriverName)
	}
	if f.Poll <= 0 {
		return fmt.Errorf("--poll-interval is %s: it must be more than 0", f.Poll)
	}
	for _, port := range []struct {
		flag  string
		value int
	}{{"healthcheck-port", f.HealthPort}, {"metrics-port", f.MetricsPort}} {
		if port.value < 0 || port.value > 65535 {
			return fmt.Errorf("--%s is %d: there is no such port", port.flag, port.value)
		}
	}
	for _, path := range []struct {
		flag  string
		value *string
	}{{"kubelet-root", &f.KubeletRoot}, {"cdi-root", &f.CDIRoot}} {
		if *path.value == "" {
			return fmt.Errorf("--%s is empty", path.flag)
		}
		if nodes > 1 && !strings.Contains(*path.value, NodePlaceholder) {
			return fmt.Errorf("--%s is %q: %d nodes need one each, with %s in it", path.flag, *path.value, nodes, NodePlaceholder)
		}
		// The kubelet and container runtimes are told what is below it.
		absolute, err := filepath.Abs(*path.value)
		if err != nil {
			return fmt.Errorf("--%s: %w", path.flag, err)
		}
		*path.value = absolute
	}
	return nil
}

var migModes = []string{"off", "static", "dynamic"}

// publish are the options of what is published.
func (f *Flags) publish(simulated bool) publish.Options {
	return publish.Options{
		Drivers: publish.Drivers{GPU: f.DriverName, AMDGPU: f.DriverName}, Simulated: simulated,
		MIG: map[string]publish.MIGMode{"off": publish.MIGOff, "static": publish.MIGStatic, "dynamic": publish.MIGDynamic}[f.MIG],
	}
}

// folders of a node.
func (f *Flags) folders(node string) driver.Folders {
	return driver.KubeletFolders(here(f.KubeletRoot, node), f.DriverName, here(f.CDIRoot, node))
}

// here is a path on a node.
func here(path, node string) string { return strings.ReplaceAll(path, NodePlaceholder, node) }

func (f *Flags) podUID() types.UID { return types.UID(f.PodUID) }

var environment = os.LookupEnv
