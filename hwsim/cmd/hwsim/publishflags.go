package main

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/pflag"

	"github.com/dray-dev/dray/hwsim/fleet"
	"github.com/dray-dev/dray/hwsim/machine"
	"github.com/dray-dev/dray/kubeletplugin/publish"
)

// features are the names that --feature knows. Those that the newest API server
// keeps by default are for older ones.
var features = map[string]func(*publish.Features) *bool{
	"bindingConditions":    func(f *publish.Features) *bool { return &f.BindingConditions },
	"compatibilityGroups":  func(f *publish.Features) *bool { return &f.CompatibilityGroups },
	"consumableCapacity":   func(f *publish.Features) *bool { return &f.ConsumableCapacity },
	"deviceTaints":         func(f *publish.Features) *bool { return &f.DeviceTaints },
	"extendedResources":    func(f *publish.Features) *bool { return &f.ExtendedResources },
	"listAttributes":       func(f *publish.Features) *bool { return &f.ListAttributes },
	"partitionableDevices": func(f *publish.Features) *bool { return &f.PartitionableDevices },
}

func featureNames() []string { return slices.Sorted(maps.Keys(features)) }

// publishFlags say how devices become slices.
type publishFlags struct {
	drivers, mig, nics, kubernetes string
	features                       []string
	extended, resourceNames        pairs
	bitstreams                     pairs
	vgpu, amdPartitions, unmarked  bool
	hostManagedIMEX                bool
}

func (p *publishFlags) add(f *pflag.FlagSet) {
	f.StringVar(&p.drivers, "drivers", "dray", "names of the drivers, `dray|peers`: gpu.dray.dev, or gpu.nvidia.com, dra.net and so on; extended resources are those of --extended-resource alone")
	f.StringVar(&p.mig, "mig", "off", "partitions of NVIDIA GPUs, `off|static|dynamic`: none, those that exist, every placement")
	f.StringVar(&p.nics, "nics", "functions", "network devices, `functions|vfs|bandwidth`: as dranet, as the SR-IOV driver, ports with shared bandwidth")
	f.BoolVar(&p.vgpu, "vgpu", false, "virtual GPUs beside MIG, where a machine hosts some; needs --feature compatibilityGroups")
	f.BoolVar(&p.amdPartitions, "amd-partitions", false, "every partition mode of AMD GPUs")
	f.Var(&p.bitstreams, "bitstream", "what can be loaded into regions of FPGA cards, `NAME=BITSTREAM`, which is MODEL,INTERFACE,FUNCTION with IDs of 32 hex digits; can be repeated")
	f.BoolVar(&p.hostManagedIMEX, "host-managed-imex", false, "no daemon devices of compute domains: the hosts run the daemons")
	f.StringVar(&p.kubernetes, "kubernetes", fmt.Sprintf("1.%d", publish.NewestMinor), "`VERSION` of the API server")
	f.StringArrayVar(&p.features, "feature", nil, "`NAME` of what the API server keeps besides its defaults: "+strings.Join(featureNames(), ", ")+"; can be repeated")
	f.Var(&p.extended, "extended-resource", "extended resource of a class, `CLASS=NAME`; classes have none otherwise; can be repeated")
	f.Var(&p.resourceNames, "vf-resource", "resource name of the virtual functions of a port, `INTERFACE=NAME`; needs --nics vfs; can be repeated")
	f.BoolVar(&p.unmarked, "unmarked", false, "leave out the attribute that says that a device is simulated")
}

func (p *publishFlags) options() (publish.Options, error) {
	options := publish.Options{
		Simulated: !p.unmarked, VGPU: p.vgpu, AMDPartitions: p.amdPartitions,
		ExtendedResources: p.extended, ResourceNames: p.resourceNames, HostManagedIMEX: p.hostManagedIMEX,
	}
	for _, choice := range []struct {
		flag, value string
		set         map[string]func()
	}{
		{"mig", p.mig, map[string]func(){
			"off":     func() { options.MIG = publish.MIGOff },
			"static":  func() { options.MIG = publish.MIGStatic },
			"dynamic": func() { options.MIG = publish.MIGDynamic },
		}},
		{"nics", p.nics, map[string]func(){
			"functions": func() { options.NICs = publish.NICFunctions },
			"vfs":       func() { options.NICs = publish.NICVirtualFunctions },
			"bandwidth": func() { options.NICs = publish.NICSharedBandwidth },
		}},
		{"drivers", p.drivers, map[string]func(){
			"dray":  func() { options.Drivers = publish.DrayDrivers() },
			"peers": func() { options.Drivers = publish.PeerDrivers(options.NICs) },
		}},
	} {
		set, ok := choice.set[choice.value]
		if !ok {
			return options, usageError{fmt.Errorf("--%s is %q: it can be %s", choice.flag, choice.value,
				strings.Join(slices.Sorted(maps.Keys(choice.set)), ", "))}
		}
		set()
	}
	minor, found := strings.CutPrefix(p.kubernetes, "1.")
	number, err := strconv.Atoi(minor)
	if !found || err != nil || number < publish.OldestMinor || number > publish.NewestMinor {
		return options, usageError{fmt.Errorf("--kubernetes is %q: it can be 1.%d to 1.%d",
			p.kubernetes, publish.OldestMinor, publish.NewestMinor)}
	}
	options.Minor = number
	options.Features = publish.DefaultFeaturesOf(number)
	for _, name := range p.features {
		keep, ok := features[name]
		if !ok {
			return options, usageError{fmt.Errorf("--feature is %q: it can be %s", name, strings.Join(featureNames(), ", "))}
		}
		*keep(&options.Features) = true
	}
	options.NUMANodeList = options.Features.ListAttributes
	return options, nil
}

// parseBitstreams reads --bitstream. Models are those of the fleet's FPGA cards: by
// the name in the machine's file, or by the product, as devices show it.
func (p *publishFlags) parseBitstreams(machines []fleet.Count) ([]publish.Bitstream, error) {
	if len(p.bitstreams) == 0 {
		return nil, nil
	}
	products := map[string]string{}
	for _, count := range machines {
		addFPGAs(products, count.Machine.Resolved())
	}
	known := slices.Sorted(maps.Keys(products))
	for _, name := range known {
		products[products[name]] = products[name]
	}
	var bitstreams []publish.Bitstream
	for _, name := range slices.Sorted(maps.Keys(p.bitstreams)) {
		text := p.bitstreams[name]
		parts := strings.Split(text, ",")
		if len(parts) != 3 {
			return nil, usageError{fmt.Errorf("--bitstream %s=%s: a bitstream must look like MODEL,INTERFACE,FUNCTION", name, text)}
		}
		product, ok := products[parts[0]]
		if !ok {
			return nil, fmt.Errorf("--bitstream %s=%s: no machine of the fleet has FPGA cards of model %q; there are %s",
				name, text, parts[0], cmp.Or(strings.Join(known, ", "), "none"))
		}
		bitstreams = append(bitstreams, publish.Bitstream{Name: name, Model: product, Interface: parts[1], Function: parts[2]})
	}
	return bitstreams, nil
}

// addFPGAs adds the products of a machine's FPGA cards, by model.
func addFPGAs(products map[string]string, file *machine.File) {
	if file.Models != nil {
		for i := range file.Models.FPGAs {
			products[file.Models.FPGAs[i].Name] = file.Models.FPGAs[i].Product
		}
	}
	for i := range file.Machines { // of a rack
		addFPGAs(products, &file.Machines[i])
	}
}
