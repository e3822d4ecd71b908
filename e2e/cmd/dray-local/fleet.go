package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/pflag"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/dray-dev/dray/e2e/localcluster"
	"github.com/dray-dev/dray/hwsim/fleet"
	"github.com/dray-dev/dray/hwsim/machine"
)

// fleetFlags say which nodes there are and what their driver publishes. They are named
// as those of hwsim fleet.
type fleetFlags struct {
	machines, files, zones     []string
	labels, capacity, extended []string
	name                       string
	seed                       uint64
	driver                     localcluster.DriverOptions
	set                        *pflag.FlagSet
}

func (f *fleetFlags) add(set *pflag.FlagSet) {
	f.set = set
	set.StringArrayVarP(&f.machines, "machine", "m", nil, "machine and how many nodes of it, `NAME[=COUNT]`, as hwsim machines lists them; can be repeated. Nodes that the folder has stay")
	set.StringArrayVarP(&f.files, "file", "f", nil, "machine `FILE` of your own, whose name --machine can use; can be repeated")
	set.Uint64Var(&f.seed, "seed", 1, "sets UUIDs, serial numbers and hardware addresses apart")
	set.StringVar(&f.name, "name", fleet.DefaultName, "`TEMPLATE` of the names of nodes and racks")
	set.StringArrayVar(&f.zones, "zone", nil, "`ZONE` to deal machines to in turn; can be repeated")
	set.StringArrayVar(&f.labels, "label", nil, "label of nodes, `KEY=TEMPLATE`; can be repeated")
	set.StringArrayVar(&f.capacity, "capacity", nil, "capacity of nodes besides CPUs, memory and pods, or instead of the machine's, `RESOURCE=QUANTITY`: example.com/fpga=2 is what a device plugin would have; can be repeated")
	set.StringVar(&f.driver.Name, "driver-name", "", "`NAME` of the DRA driver; gpu.dray.dev if it is not given")
	set.StringVar(&f.driver.MIG, "mig", "", "partitions of NVIDIA GPUs, `off|static|dynamic`: none, those that exist, every placement, which is what it is if not given")
	set.BoolVar(&f.driver.Evict, "evict", false, "evict the pods that run on a device that breaks, unless they tolerate its taint")
	set.StringArrayVar(&f.extended, "extended-resource", nil, "extended resource of a DeviceClass, `CLASS=NAME`; classes have none otherwise; can be repeated")
}

// driverFlags are those about the driver: where none of them is given, it stays as it
// was.
var driverFlags = []string{"driver-name", "mig", "evict", "extended-resource"}

// apply puts what the flags say into the options of the cluster.
func (f *fleetFlags) apply(options *localcluster.Options) error {
	spec := &options.Fleet
	spec.Seed, spec.Name, spec.Zones = f.seed, f.name, f.zones
	own := map[string]*machine.Machine{}
	for _, file := range f.files {
		m, err := machine.ReadFile(file)
		if err != nil {
			return err
		}
		own[m.Name()] = m
	}
	for _, text := range f.machines {
		name, count, err := fleet.ParseCount(text)
		if err != nil {
			return fmt.Errorf("--machine %w", err)
		}
		m := own[name]
		if m == nil {
			if m, err = machine.Load(name); err != nil {
				return fmt.Errorf("--machine %s: %w", text, err)
			}
		}
		spec.Machines = append(spec.Machines, fleet.Count{Machine: m, Count: count})
	}
	var err error
	if spec.Labels, err = pairs("label", f.labels); err != nil {
		return err
	}
	capacity, err := pairs("capacity", f.capacity)
	if err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(capacity)) {
		quantity, err := resource.ParseQuantity(capacity[name])
		if err != nil {
			return fmt.Errorf("--capacity %s=%s: %w", name, capacity[name], err)
		}
		if spec.Capacity == nil {
			spec.Capacity = corev1.ResourceList{}
		}
		spec.Capacity[corev1.ResourceName(name)] = quantity
	}
	if f.driver.ExtendedResources, err = pairs("extended-resource", f.extended); err != nil {
		return err
	}
	for _, name := range driverFlags {
		if f.set.Changed(name) {
			options.Driver = &f.driver
		}
	}
	return nil
}

// pairs reads a flag that is repeated for each KEY=VALUE.
func pairs(flag string, texts []string) (map[string]string, error) {
	var read map[string]string
	for _, text := range texts {
		key, value, found := strings.Cut(text, "=")
		if !found || key == "" {
			return nil, fmt.Errorf("--%s: %q must look like KEY=VALUE", flag, text)
		}
		if other, ok := read[key]; ok {
			return nil, fmt.Errorf("--%s: %s is there already, as %q", flag, key, other)
		}
		if read == nil {
			read = map[string]string{}
		}
		read[key] = value
	}
	return read, nil
}
