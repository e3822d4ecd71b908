package fleet_test

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	resourceapi "k8s.io/api/resource/v1"

	"github.com/dray-dev/dray/hwsim/fleet"
	"github.com/dray-dev/dray/kubeletplugin/publish"
)

// shown is what a public document says of one attribute of a device or, if the
// kind is "capacity", of one capacity. A value that begins with ~ is a regular
// expression: what sets one machine apart from the next has a shape only.
type shown struct{ device, name, kind, value string }

// machineDump is a public document that shows slices of the kind of machine that
// one of ours is.
type machineDump struct {
	source, machine, driver string
	facts                   []shown
	// complete says that the facts are all of each device but for those in more,
	// which drivers have come to publish since.
	complete bool
	more     []string
	// differs are the names of attributes of which the machine says something else,
	// and the devices that only it has, with the reasons. All others are the same.
	differs map[string]string
}

const uuidShape = `~"GPU-[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}"`

// p5GPUs are the GPUs of an EKS node of type p5.48xlarge.
func p5GPUs() []shown {
	var facts []shown
	for i, place := range []string{"53 44", "64 55", "75 66", "86 77", "97 88", "a8 99", "b9 aa", "ca bb"} {
		device := fmt.Sprintf("gpu-%d", i)
		bus, root, _ := strings.Cut(place, " ")
		facts = append(facts, []shown{
			{device, "addressingMode", "string", `"HMM"`},
			{device, "architecture", "string", `"Hopper"`},
			{device, "brand", "string", `"Nvidia"`},
			{device, "cudaComputeCapability", "version", "9.0.0"},
			{device, "cudaDriverVersion", "version", "13.0.0"},
			{device, "driverVersion", "version", "580.105.8"},
			{device, "productName", "string", `"NVIDIA H100 80GB HBM3"`},
			{device, "resource.kubernetes.io/pciBusID", "string", `"0000:` + bus + `:00.0"`},
			{device, "resource.kubernetes.io/pcieRoot", "string", `"pci0000:` + root + `"`},
			{device, "type", "string", `"gpu"`},
			{device, "uuid", "string", uuidShape},
			{device, "memory", "capacity", "81559Mi"},
		}...)
	}
	return facts
}

// efas are EFA devices as a table of EC2 instance types shows them: the devices of
// each root in their order.
func efas(subsystem string, devices []string, roots []string) []shown {
	var facts []shown
	perRoot := len(devices) / len(roots)
	for i, device := range devices {
		root := i / perRoot
		facts = append(facts, []shown{
			{device, "dra.net/numaNode", "int", strconv.Itoa(2 * root / len(roots))},
			{device, "dra.net/pciDevice", "string", `"Elastic Fabric Adapter (EFA)"`},
			{device, "dra.net/pciSubsystem", "string", `"` + subsystem + `"`},
			{device, "dra.net/pciVendor", "string", `"Amazon.com, Inc."`},
			{device, "dra.net/rdma", "bool", "true"},
			{device, "resource.kubernetes.io/pcieRoot", "string", `"pci0000:` + roots[root] + `"`},
		}...)
	}
	return facts
}

// p5EFAs are the names of the 32, four before each GPU.
func p5EFAs() []string {
	var names []string
	for _, first := range []int{0x4f, 0x60, 0x71, 0x82, 0x93, 0xa4, 0xb5, 0xc6} {
		for n := range 4 {
			names = append(names, fmt.Sprintf("pci-0000-%02x-00-0", first+n))
		}
	}
	return names
}

func trayGPUs() []shown {
	var facts []shown
	for i, domain := range []string{"0008", "0009", "0018", "0019"} {
		device := fmt.Sprintf("gpu-%d", i)
		facts = append(facts, []shown{
			{device, "resource.kubernetes.io/pciBusID", "string", `"` + domain + `:06:00.0"`},
			{device, "resource.kubernetes.io/pcieRoot", "string", `"pci` + domain + `:00"`},
			{device, "resource.kubernetes.io/numaNode", "int", strconv.Itoa(i / 2)},
			{device, "memory", "capacity", "189471Mi"},
		}...)
	}
	return facts
}

func trayNICs() []shown {
	var facts []shown
	for i, place := range []string{"0000 0", "0000 1", "0002 0", "0002 1", "0010 0", "0010 1", "0012 0", "0012 1"} {
		domain, function, _ := strings.Cut(place, " ")
		device := "pci-" + domain + "-03-00-" + function
		facts = append(facts, []shown{
			{device, "dra.net/ifName", "string", fmt.Sprintf(`"rdma%d"`, i)},
			{device, "dra.net/pciAddress", "string", `"` + domain + ":03:00." + function + `"`},
			{device, "dra.net/numaNode", "int", strconv.Itoa(i / 4)},
			{device, "dra.net/rdma", "bool", "true"},
			{device, "dra.net/virtual", "bool", "false"},
			{device, "resource.kubernetes.io/pcieRoot", "string", `"pci` + domain + `:00"`},
		}...)
	}
	return facts
}

const (
	p5Slice   = "CNCF AI conformance evidence for secure accelerator access, an EKS node of type p5.48xlarge, 2026-02-19"
	ec2Table  = "attributes of EFA devices by EC2 instance type in Karpenter (package drametadata)"
	trayPage  = "kubernetes-sigs/dranet examples/oke-bm-gpu-gb200-rocev2-dranet/README.md at b80c3c09"
	toGateway = "the way to the default gateway, which dranet leaves out"
)

var machineDumps = []machineDump{
	{
		source: p5Slice, machine: "aws-p5", driver: "gpu.nvidia.com", facts: p5GPUs(),
		complete: true, more: []string{"resource.kubernetes.io/numaNode"},
	},
	{
		source: p5Slice, machine: "aws-p5", driver: "compute-domain.nvidia.com", complete: true,
		facts: []shown{
			{"channel-0", "type", "string", `"channel"`}, {"channel-0", "id", "int", "0"},
			{"daemon-0", "type", "string", `"daemon"`}, {"daemon-0", "id", "int", "0"},
		},
	},
	{
		source: ec2Table, machine: "aws-p5", driver: "dra.net",
		facts:   efas("efa1", p5EFAs(), []string{"44", "55", "66", "77", "88", "99", "aa", "bb"}),
		differs: map[string]string{"pci-0000-00-06-0": toGateway},
	},
	{
		source: ec2Table, machine: "aws-p4d", driver: "dra.net",
		facts: efas("efa0", []string{"pci-0000-10-1b-0", "pci-0000-20-1b-0", "pci-0000-90-1b-0", "pci-0000-a0-1b-0"},
			[]string{"10", "20", "90", "a0"}),
		differs: map[string]string{
			"pci-0000-10-01-0": toGateway, "pci-0000-20-01-0": "the table has EFA only",
			"pci-0000-90-01-0": "the table has EFA only", "pci-0000-a0-01-0": "the table has EFA only",
		},
	},
	{source: trayPage + ", GPUs", machine: "gb200-nvl72-tray", driver: "gpu.nvidia.com", facts: trayGPUs()},
	{
		source: trayPage + ", NICs", machine: "gb200-nvl72-tray", driver: "dra.net", facts: trayNICs(),
		differs: map[string]string{
			"pci-0007-01-00-0": "for management; the page lists RDMA only", "pci-0017-01-00-0": "for management; the page lists RDMA only",
		},
	},
	{
		// The GPU is the same, its board is not.
		source: p5Slice + ", for another board with the GPU", machine: "dgx-h100", driver: "gpu.nvidia.com", facts: p5GPUs(),
		complete: true, more: []string{"resource.kubernetes.io/numaNode"},
		differs: map[string]string{
			"resource.kubernetes.io/pciBusID": "DGX has addresses of its own",
			"resource.kubernetes.io/pcieRoot": "DGX has roots of its own",
			"driverVersion":                   "the version of other slices",
			"addressingMode":                  "no slice of a DGX was found that says it",
		},
	},
}

// Of the machines that are shown in public slices, we publish what is there.
func TestMachinesPublishWhatPublicDumpsShow(t *testing.T) {
	for _, d := range machineDumps {
		t.Run(d.machine+" "+d.driver, func(t *testing.T) {
			s := spec(t, d.machine)
			s.Publish = publish.Options{
				Drivers: publish.PeerDrivers(publish.NICFunctions), Features: publish.DefaultFeatures(), MIG: publish.MIGStatic,
			}
			d.compare(t, publishedBy(t, s, d.driver))
		})
	}
}

func publishedBy(t *testing.T, s fleet.Spec, driver string) []resourceapi.Device {
	t.Helper()
	f, err := fleet.New(s)
	if err != nil {
		t.Fatal(err)
	}
	var devices []resourceapi.Device
	for member, err := range f.Members() {
		if err != nil {
			t.Fatal(err)
		}
		for _, pool := range member.Pools {
			for i := range pool.Slices {
				if pool.Driver == driver {
					devices = append(devices, pool.Slices[i].Spec.Devices...)
				}
			}
		}
	}
	return devices
}

func (d *machineDump) compare(t *testing.T, devices []resourceapi.Device) {
	names, published := facts(devices)
	var documented []string
	said := map[string]bool{} // devices, and their attributes
	used := map[string]bool{} // of differs
	for _, f := range d.facts {
		if !said[f.device] {
			documented = append(documented, f.device)
		}
		said[f.device], said[f.device+" "+f.name] = true, true
		if got := published[f.device+" "+f.name]; !f.admits(got) {
			used[f.name] = true
			if d.differs[f.name] == "" {
				t.Errorf("%s: %s is %s, in %s %s of type %s", f.device, f.name, got, d.source, f.value, f.kind)
			}
		}
	}
	names = slices.DeleteFunc(names, func(name string) bool {
		ours := !said[name] && d.differs[name] != ""
		used[name] = used[name] || ours
		return ours
	})
	if !slices.Equal(names, documented) {
		t.Errorf("devices are %v, in %s %v", names, d.source, documented)
	}
	for name, reason := range d.differs {
		if !used[name] {
			t.Errorf("%s is not different any more (%s): take it off the list", name, reason)
		}
	}
	for key := range published {
		device, name, _ := strings.Cut(key, " ")
		if d.complete && said[device] && !said[key] && !slices.Contains(d.more, name) {
			t.Errorf("%s has %s, which %s does not", device, name, d.source)
		}
	}
}

// facts are names of devices in their order, and "type value" by device and name.
func facts(devices []resourceapi.Device) ([]string, map[string]string) {
	var names []string
	published := map[string]string{}
	for i := range devices {
		device := &devices[i]
		names = append(names, device.Name)
		for name, a := range device.Attributes {
			published[device.Name+" "+string(name)] = kindOf(&a) + " " + strings.TrimPrefix(valueOf(&a), "v")
		}
		for name, c := range device.Capacity {
			published[device.Name+" "+string(name)] = "capacity " + c.Value.String()
		}
	}
	return names, published
}

func kindOf(a *resourceapi.DeviceAttribute) string {
	switch {
	case a.StringValue != nil:
		return "string"
	case a.IntValue != nil:
		return "int"
	case a.BoolValue != nil:
		return "bool"
	case a.VersionValue != nil:
		return "version"
	}
	return "list"
}

func (f *shown) admits(published string) bool {
	if pattern, ok := strings.CutPrefix(f.value, "~"); ok {
		return regexp.MustCompile("^" + f.kind + " " + pattern + "$").MatchString(published)
	}
	return published == f.kind+" "+f.value
}
