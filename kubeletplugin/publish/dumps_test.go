package publish_test

import (
	"slices"
	"testing"

	"github.com/dray-dev/dray/kubeletplugin/hardware"
	"github.com/dray-dev/dray/kubeletplugin/publish"
)

// fact is what a public document says of one attribute or, if its kind is
// "capacity", of one capacity.
type fact struct{ device, name, kind, value string }

// dump is a public document that shows a ResourceSlice.
type dump struct {
	source  string
	options publish.Options
	node    func(*testing.T) *hardware.Node
	driver  string
	// devices in their order; nil if the document shows a part only.
	devices []string
	facts   []fact
	// complete says that the facts are all of a device but for those in more,
	// which the driver has come to publish since, or which need more than
	// hardware to know.
	complete bool
	more     []string
}

var peersDynamic = publish.Options{Drivers: publish.PeerDrivers(publish.NICFunctions), Features: publish.DefaultFeatures(), MIG: publish.MIGDynamic}
var peersStatic = publish.Options{Drivers: publish.PeerDrivers(publish.NICFunctions), Features: publish.DefaultFeatures(), MIG: publish.MIGStatic}

const nvidiaDocument = "kubernetes-sigs/dra-driver-nvidia-gpu site/content/docs/reference/resourceslice-attributes.md at 20c35fe2"

// gpuFacts are what that document says of a GPU and of its partitions alike.
func gpuFacts(device string) []fact {
	return []fact{
		{device, "addressingMode", "string", `"HMM"`},
		{device, "architecture", "string", `"Ampere"`},
		{device, "brand", "string", `"Nvidia"`},
		{device, "cudaComputeCapability", "version", "8.0.0"},
		{device, "cudaDriverVersion", "version", "13.0.0"},
		{device, "driverVersion", "version", "580.126.20"},
		{device, "productName", "string", `"NVIDIA A100-PCIE-40GB"`},
		{device, "resource.kubernetes.io/pciBusID", "string", `"0000:65:00.0"`},
		{device, "resource.kubernetes.io/pcieRoot", "string", `"pci0000:64"`},
		{device, "resource.kubernetes.io/numaNode", "int", "0"},
	}
}

var dumps = []dump{
	{
		source: nvidiaDocument + ", full GPU", options: peersDynamic, driver: "gpu.nvidia.com",
		node: func(t *testing.T) *hardware.Node {
			node := readNode(t, "a100")
			node.GPUs[0].MIG = nil
			return node
		},
		devices: []string{"gpu-0"}, complete: true,
		facts: append(gpuFacts("gpu-0"),
			fact{"gpu-0", "type", "string", `"gpu"`},
			fact{"gpu-0", "uuid", "string", `"GPU-2fa81118-5a5f-aa66-7660-471eed407181"`},
			fact{"gpu-0", "memory", "capacity", "40Gi"}),
	},
	{
		// The document calls it gpu-0-mig-1g.5gb-0, which is no legal name; the
		// driver's code makes the one here, and adds the memory slice.
		source: nvidiaDocument + ", MIG slice", options: peersStatic, driver: "gpu.nvidia.com",
		node:     func(t *testing.T) *hardware.Node { return readNode(t, "a100") },
		complete: true, more: []string{"memorySlice0"},
		facts: append(gpuFacts("gpu-0-mig-1g5gb-19-0"), []fact{
			{"gpu-0-mig-1g5gb-19-0", "type", "string", `"mig"`},
			{"gpu-0-mig-1g5gb-19-0", "uuid", "string", `"MIG-7a2b3c4d-5e6f-7a8b-9c0d-1e2f3a4b5c6d"`},
			{"gpu-0-mig-1g5gb-19-0", "parentUUID", "string", `"GPU-2fa81118-5a5f-aa66-7660-471eed407181"`},
			{"gpu-0-mig-1g5gb-19-0", "profile", "string", `"1g.5gb"`},
			{"gpu-0-mig-1g5gb-19-0", "copyEngines", "capacity", "1"},
			{"gpu-0-mig-1g5gb-19-0", "decoders", "capacity", "0"},
			{"gpu-0-mig-1g5gb-19-0", "encoders", "capacity", "0"},
			{"gpu-0-mig-1g5gb-19-0", "jpegEngines", "capacity", "0"},
			{"gpu-0-mig-1g5gb-19-0", "ofaEngines", "capacity", "0"},
			{"gpu-0-mig-1g5gb-19-0", "memory", "capacity", "4864Mi"},
			{"gpu-0-mig-1g5gb-19-0", "multiprocessors", "capacity", "14"},
		}...),
	},
	{
		source: "kubernetes-sigs/dranet examples/oke-bm-gpu-gb200-rocev2-dranet/README.md at b80c3c09, GPUs", options: peersDynamic,
		node: func(t *testing.T) *hardware.Node { return readNode(t, "gb200-tray") }, driver: "gpu.nvidia.com",
		devices: []string{"gpu-0", "gpu-1", "gpu-2", "gpu-3"},
		facts: []fact{
			{"gpu-0", "resource.kubernetes.io/pciBusID", "string", `"0008:06:00.0"`},
			{"gpu-0", "resource.kubernetes.io/pcieRoot", "string", `"pci0008:00"`},
			{"gpu-0", "resource.kubernetes.io/numaNode", "int", "0"},
			{"gpu-1", "resource.kubernetes.io/pciBusID", "string", `"0009:06:00.0"`},
			{"gpu-1", "resource.kubernetes.io/pcieRoot", "string", `"pci0009:00"`},
			{"gpu-2", "resource.kubernetes.io/pciBusID", "string", `"0018:06:00.0"`},
			{"gpu-2", "resource.kubernetes.io/pcieRoot", "string", `"pci0018:00"`},
			{"gpu-2", "resource.kubernetes.io/numaNode", "int", "1"},
			{"gpu-3", "resource.kubernetes.io/pciBusID", "string", `"0019:06:00.0"`},
			{"gpu-3", "resource.kubernetes.io/pcieRoot", "string", `"pci0019:00"`},
			{"gpu-3", "memory", "capacity", "189471Mi"},
		},
	},
	{
		source: "kubernetes-sigs/dranet examples/oke-bm-gpu-gb200-rocev2-dranet/README.md at b80c3c09, NICs", options: peersDynamic,
		node: func(t *testing.T) *hardware.Node { return readNode(t, "gb200-tray") }, driver: "dra.net",
		devices: []string{"pci-0000-03-00-0", "pci-0000-03-00-1", "pci-0002-03-00-0", "pci-0002-03-00-1",
			"pci-0010-03-00-0", "pci-0010-03-00-1", "pci-0012-03-00-0", "pci-0012-03-00-1"},
		facts: []fact{
			{"pci-0000-03-00-0", "dra.net/ifName", "string", `"rdma0"`},
			{"pci-0000-03-00-0", "dra.net/pciAddress", "string", `"0000:03:00.0"`},
			{"pci-0000-03-00-0", "dra.net/numaNode", "int", "0"},
			{"pci-0000-03-00-0", "resource.kubernetes.io/pcieRoot", "string", `"pci0000:00"`},
			{"pci-0002-03-00-1", "dra.net/ifName", "string", `"rdma3"`},
			{"pci-0002-03-00-1", "resource.kubernetes.io/pcieRoot", "string", `"pci0002:00"`},
			{"pci-0012-03-00-1", "dra.net/ifName", "string", `"rdma7"`},
			{"pci-0012-03-00-1", "dra.net/pciAddress", "string", `"0012:03:00.1"`},
			{"pci-0012-03-00-1", "dra.net/numaNode", "int", "1"},
			{"pci-0012-03-00-1", "dra.net/rdma", "bool", "true"},
			{"pci-0012-03-00-1", "dra.net/virtual", "bool", "false"},
		},
	},
	{
		source: "kubernetes-sigs/dranet examples/azure_aks_examples/gb300/README.md and site/content/docs/user/azure-aks.md at f6171cda", options: peersDynamic,
		node: func(t *testing.T) *hardware.Node { return readNode(t, "azure-gb300") }, driver: "dra.net",
		devices:  []string{"pci-0101-00-00-0", "pci-0102-00-00-0", "pci-0103-00-00-0", "pci-0104-00-00-0"},
		complete: true, more: []string{"dra.net/pciDevice", "dra.net/pciSubsystem", "resource.kubernetes.io/numaNode"},
		facts: []fact{
			{"pci-0101-00-00-0", "dra.net/numaNode", "int", "0"},
			{"pci-0101-00-00-0", "dra.net/pciAddress", "string", `"0101:00:00.0"`},
			{"pci-0101-00-00-0", "dra.net/rdma", "bool", "true"},
			{"pci-0101-00-00-0", "dra.net/rdmaDevice", "string", `"mlx5_0"`},
			{"pci-0101-00-00-0", "dra.net/pciVendor", "string", `"Mellanox Technologies"`},
		},
	},
	{
		// Attributes of resource.aws.com, which are in the document too, come from
		// the cloud's metadata service.
		source: "kubernetes-sigs/dranet, the EFA example of trn1.32xlarge: README.md beside resourceslice-expected.yaml", options: peersDynamic,
		node: func(t *testing.T) *hardware.Node { return readNode(t, "efa") }, driver: "dra.net",
		devices: []string{"pci-0000-10-19-0"}, complete: true, more: []string{"resource.kubernetes.io/numaNode"},
		facts: []fact{
			{"pci-0000-10-19-0", "dra.net/numaNode", "int", "0"},
			{"pci-0000-10-19-0", "dra.net/pciAddress", "string", `"0000:10:19.0"`},
			{"pci-0000-10-19-0", "dra.net/pciDevice", "string", `"Elastic Fabric Adapter (EFA)"`},
			{"pci-0000-10-19-0", "dra.net/pciSubsystem", "string", `"efa1"`},
			{"pci-0000-10-19-0", "dra.net/pciVendor", "string", `"Amazon.com, Inc."`},
			{"pci-0000-10-19-0", "dra.net/rdma", "bool", "true"},
			{"pci-0000-10-19-0", "dra.net/rdmaDevice", "string", `"rdmap16s25"`},
			{"pci-0000-10-19-0", "resource.kubernetes.io/pcieRoot", "string", `"pci0000:10"`},
		},
	},
}

func TestPublicDumpsAreWhatIsPublished(t *testing.T) {
	for _, d := range dumps {
		t.Run(d.source, func(t *testing.T) {
			publisher, err := publish.New(d.options)
			if err != nil {
				t.Fatal(err)
			}
			pools, err := publisher.Node("node-1", d.node(t), publish.State{})
			if err != nil {
				t.Fatal(err)
			}
			compareWithDump(t, &d, pools)
		})
	}
}

func compareWithDump(t *testing.T, d *dump, pools []publish.Pool) {
	i := slices.IndexFunc(pools, func(p publish.Pool) bool { return p.Driver == d.driver })
	if i < 0 {
		t.Fatalf("nothing is published for %s", d.driver)
	}
	published := map[fact]bool{}
	var names []string
	for _, device := range devicesOf(pools[i : i+1]) {
		names = append(names, device.Name)
		for name, a := range device.Attributes {
			kind, value := valueOf(a)
			published[fact{device.Name, string(name), kind, value}] = true
		}
		for name, c := range device.Capacity {
			published[fact{device.Name, string(name), "capacity", c.Value.String()}] = true
		}
	}
	if d.devices != nil && !slices.Equal(names, d.devices) {
		t.Errorf("devices are %v, want %v", names, d.devices)
	}
	shown := map[string]bool{}
	for _, f := range d.facts {
		shown[f.device+" "+f.name] = true
		if !published[f] {
			t.Errorf("%s has not %s %s of type %s", f.device, f.name, f.value, f.kind)
		}
	}
	if d.complete {
		for f := range published {
			if f.device == d.facts[0].device && !shown[f.device+" "+f.name] && !slices.Contains(d.more, f.name) {
				t.Errorf("%s has %s of type %s, of which the document knows nothing", f.device, f.name, f.kind)
			}
		}
	}
}
