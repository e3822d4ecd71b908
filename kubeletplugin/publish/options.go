package publish

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/util/validation"
)

// The Kubernetes minors whose API this package knows.
const (
	OldestMinor = 34
	NewestMinor = 37
)

// Options say what is published, and how. The zero value publishes whole devices
// under our driver names for the newest Kubernetes.
type Options struct {
	// Drivers are the names under which devices are published; an empty one is
	// that of DrayDrivers.
	Drivers Drivers
	// Minor of the API server, OldestMinor to NewestMinor; 0 is the newest.
	Minor int
	// Features are what the API server keeps of what it is sent.
	Features Features
	// Simulated marks every device with the attribute dray.dev/simulated.
	Simulated bool
	// NUMANodeList publishes resource.kubernetes.io/numaNode as a list with the
	// neighbours that are as near. It needs Features.ListAttributes.
	NUMANodeList bool
	// MIG says how partitions of NVIDIA GPUs are published.
	MIG MIGMode
	// VGPU publishes virtual GPUs on GPUs that host them. It needs
	// Features.PartitionableDevices and Features.CompatibilityGroups.
	VGPU bool
	// AMDPartitions publishes every partition mode of AMD GPUs that have some,
	// instead of the present one. It needs Features.PartitionableDevices and
	// Features.ConsumableCapacity.
	AMDPartitions bool
	// NICs says as what network functions are published.
	NICs NICModel
	// HostManagedIMEX leaves out the daemon device of compute domains: the host
	// runs the daemon itself.
	HostManagedIMEX bool
	// Bitstreams that may be loaded into regions of FPGA cards.
	Bitstreams []Bitstream
	// ResourceNames are names that the SR-IOV driver's policies give to virtual
	// functions, by the interface of their physical function. Functions of others
	// have none. Only NICVirtualFunctions has them.
	ResourceNames map[string]string
	// ExtendedResources are extended resource names by name of DeviceClass. None by
	// default: a fresh installation claims no name that it was not given. They need
	// Features.ExtendedResources.
	ExtendedResources map[string]string
}

// Drivers are names of DRA drivers by kind of device. GPUs of both vendors may
// share one, all others differ: expressions of DeviceClasses ask every device of a
// driver for the same attributes.
type Drivers struct {
	GPU, AMDGPU, NIC, FPGA, ComputeDomain string
}

// DrayDrivers are our own names, the default.
func DrayDrivers() Drivers {
	return Drivers{
		GPU: "gpu.dray.dev", AMDGPU: "gpu.dray.dev", NIC: "nic.dray.dev",
		FPGA: "fpga.dray.dev", ComputeDomain: "compute-domain.dray.dev",
	}
}

// PeerDrivers are the names of the drivers whose models these are, for
// simulations and for clusters where Dray stands in for them. The NIC's depends
// on the model. Nobody else publishes FPGAs; their name stays ours.
func PeerDrivers(nics NICModel) Drivers {
	d := Drivers{
		GPU: "gpu.nvidia.com", AMDGPU: "gpu.amd.com", NIC: "dra.net",
		FPGA: DrayDrivers().FPGA, ComputeDomain: "compute-domain.nvidia.com",
	}
	switch nics {
	case NICVirtualFunctions:
		d.NIC = "sriovnetwork.k8snetworkplumbingwg.io"
	case NICSharedBandwidth:
		d.NIC = DrayDrivers().NIC
	}
	return d
}

// Features are optional parts of the API. An API server drops fields of features
// that are off and says nothing, so a driver finds out by a dry run.
type Features struct {
	PartitionableDevices bool
	DeviceTaints         bool
	CompatibilityGroups  bool // from 1.37
	ListAttributes       bool // from 1.36
	BindingConditions    bool
	ConsumableCapacity   bool
	ExtendedResources    bool
}

// DefaultFeatures are those that an API server of the newest minor keeps with the
// gates as they come.
func DefaultFeatures() Features {
	return Features{
		PartitionableDevices: true, DeviceTaints: true, BindingConditions: true, ConsumableCapacity: true, ExtendedResources: true,
	}
}

// DefaultFeaturesOf are those that an API server of a minor keeps with the gates as
// they come. Before 1.36 all of them are alpha, and off.
func DefaultFeaturesOf(minor int) Features {
	if minor < 36 {
		return Features{}
	}
	return DefaultFeatures()
}

// MIGMode is a way to publish partitions of NVIDIA GPUs.
type MIGMode int

// The ways.
const (
	// MIGOff publishes whole GPUs, and nothing of those in MIG mode.
	MIGOff MIGMode = iota
	// MIGStatic publishes the partitions that exist instead of a GPU in MIG mode.
	MIGStatic
	// MIGDynamic publishes every partition that could be created beside the whole
	// GPU. It needs Features.PartitionableDevices.
	MIGDynamic
)

// NICModel is what network functions are published as.
type NICModel int

// The models.
const (
	// NICFunctions is dranet's: every function is a device.
	NICFunctions NICModel = iota
	// NICVirtualFunctions is the SR-IOV driver's: every virtual function is a device.
	NICVirtualFunctions
	// NICSharedBandwidth is ours: every physical function with virtual ones is a
	// device that many claims share, each with a virtual function and a part of the
	// bandwidth. It needs Features.ConsumableCapacity.
	NICSharedBandwidth
)

// Bitstream is an accelerator that can be loaded into a region of an FPGA card.
type Bitstream struct {
	// Name is a DNS label, part of the names of devices: "nlb0".
	Name string
	// Model of the cards that it is for, as in hardware.FPGA.
	Model string
	// Interface that it was built for, and Function that it implements: 32 hex
	// digits each. A card's regions have the interface of its static part; another
	// one means to load another static part first, for the card as a whole.
	Interface, Function string
}

// withDefaults returns the options with nothing left open, or why they contradict
// themselves.
func (o Options) withDefaults() (Options, error) {
	if o.Minor == 0 {
		o.Minor = NewestMinor
	}
	ours := DrayDrivers()
	for _, d := range []struct {
		field       string
		name        *string
		defaultName string
	}{
		{"gpu", &o.Drivers.GPU, ours.GPU}, {"amdGPU", &o.Drivers.AMDGPU, ours.AMDGPU}, {"nic", &o.Drivers.NIC, ours.NIC},
		{"fpga", &o.Drivers.FPGA, ours.FPGA}, {"computeDomain", &o.Drivers.ComputeDomain, ours.ComputeDomain},
	} {
		if *d.name == "" {
			*d.name = d.defaultName
		}
		if err := checkDriver(*d.name); err != nil {
			return o, fmt.Errorf("options: drivers.%s: %w", d.field, err)
		}
	}
	kind := map[string]string{}
	for _, d := range []struct{ name, kind string }{
		{o.Drivers.GPU, "GPUs"}, {o.Drivers.AMDGPU, "GPUs"}, {o.Drivers.NIC, "NICs"},
		{o.Drivers.FPGA, "FPGAs"}, {o.Drivers.ComputeDomain, "compute domains"},
	} {
		if other, ok := kind[d.name]; ok && other != d.kind {
			return o, fmt.Errorf("options: drivers: %q is the name of the driver for %s and for %s", d.name, other, d.kind)
		}
		kind[d.name] = d.kind
	}
	return o, o.check()
}

// ErrNotKept matches errors of options that ask for what the API server drops.
var ErrNotKept = errors.New("the API server does not keep it: enable the feature there, or leave the option off")

func (o *Options) check() error {
	if o.Minor < OldestMinor || o.Minor > NewestMinor {
		return fmt.Errorf("options: minor: %d is not from %d to %d", o.Minor, OldestMinor, NewestMinor)
	}
	f := o.Features
	for _, later := range []struct {
		on      bool
		feature string
		since   int
	}{
		{f.ListAttributes, "listAttributes", 36},
		{f.CompatibilityGroups, "compatibilityGroups", 37},
	} {
		if later.on && o.Minor < later.since {
			return fmt.Errorf("options: features.%s: Kubernetes 1.%d has it not, only 1.%d and later", later.feature, o.Minor, later.since)
		}
	}
	if f.CompatibilityGroups && !f.PartitionableDevices {
		return fmt.Errorf("options: features.compatibilityGroups: it needs features.partitionableDevices")
	}
	for _, need := range []struct {
		on              bool
		option, feature string
		kept            bool
	}{
		{o.NUMANodeList, "numaNodeList", "listAttributes", f.ListAttributes},
		{o.MIG == MIGDynamic, "mig: dynamic", "partitionableDevices", f.PartitionableDevices},
		{o.VGPU, "vgpu", "compatibilityGroups", f.CompatibilityGroups},
		{o.AMDPartitions, "amdPartitions", "partitionableDevices", f.PartitionableDevices},
		{o.AMDPartitions, "amdPartitions", "consumableCapacity", f.ConsumableCapacity},
		{o.NICs == NICSharedBandwidth, "nics: shared bandwidth", "consumableCapacity", f.ConsumableCapacity},
		{len(o.ExtendedResources) > 0, "extendedResources", "extendedResources", f.ExtendedResources},
	} {
		if need.on && !need.kept {
			return fmt.Errorf("options: %s: needs features.%s: %w", need.option, need.feature, ErrNotKept)
		}
	}
	if o.VGPU && o.MIG == MIGStatic {
		return errors.New("options: vgpu: virtual GPUs and static MIG cannot be published together; use dynamic MIG or none")
	}
	if len(o.ResourceNames) > 0 && o.NICs != NICVirtualFunctions {
		return errors.New("options: resourceNames: only virtual functions have them; publish NICs as these")
	}
	return o.checkNames()
}

func (o *Options) checkNames() error {
	seen := map[string]bool{}
	for i, b := range o.Bitstreams {
		if problems := validation.IsDNS1123Label(b.Name); len(problems) > 0 {
			return fmt.Errorf("options: bitstreams[%d].name: %q: %s", i, b.Name, problems[0])
		}
		if key := b.Model + "\x00" + b.Name; seen[key] {
			return fmt.Errorf("options: bitstreams[%d].name: there are two of the name %q for model %q", i, b.Name, b.Model)
		} else {
			seen[key] = true
		}
		for _, id := range []struct{ field, value string }{{"interface", b.Interface}, {"function", b.Function}} {
			if !isHexID(id.value) {
				return fmt.Errorf("options: bitstreams[%d].%s: %q is not 32 lower-case hex digits", i, id.field, id.value)
			}
		}
	}
	for _, port := range slices.Sorted(maps.Keys(o.ResourceNames)) {
		if problems := validation.IsQualifiedName(o.ResourceNames[port]); len(problems) > 0 {
			return fmt.Errorf("options: resourceNames[%s]: %q: %s", port, o.ResourceNames[port], problems[0])
		}
	}
	for _, class := range slices.Sorted(maps.Keys(o.ExtendedResources)) {
		if err := checkExtendedResource(o.ExtendedResources[class]); err != nil {
			return fmt.Errorf("options: extendedResources[%s]: %w", class, err)
		}
	}
	return nil
}
