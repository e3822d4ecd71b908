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

const h100Document = "CNCF AI conformance evidence for secure accelerator access, an EKS node of type p5.48xlarge, 2026-02-19"

func h100Facts(device, address, root, uuid string) []fact {
	return []fact{
		{device, "addressingMode", "string", `"HMM"`},
		{device, "architecture", "string", `"Hopper"`},
		{device, "brand", "string", `"Nvidia"`},
		{device, "cudaComputeCapability", "version", "9.0.0"},
		{device, "cudaDriverVersion", "version", "13.0.0"},
		{device, "driverVersion", "version", "580.105.8"},
		{device, "productName", "string", `"NVIDIA H100 80GB HBM3"`},
		{device, "resource.kubernetes.io/pciBusID", "string", `"` + address + `"`},
		{device, "resource.kubernetes.io/pcieRoot", "string", `"` + root + `"`},
		{device, "type", "string", `"gpu"`},
		{device, "uuid", "string", `"` + uuid + `"`},
		{device, "memory", "capacity", "81559Mi"},
	}
}

func efaFacts(device, address, root, rdma, numaNode string) []fact {
	return []fact{
		{device, "dra.net/numaNode", "int", numaNode},
		{device, "dra.net/pciAddress", "string", `"` + address + `"`},
		{device, "dra.net/pciDevice", "string", `"Elastic Fabric Adapter (EFA)"`},
		{device, "dra.net/pciSubsystem", "string", `"efa1"`},
		{device, "dra.net/pciVendor", "string", `"Amazon.com, Inc."`},
		{device, "dra.net/rdma", "bool", "true"},
		{device, "dra.net/rdmaDevice", "string", `"` + rdma + `"`},
		{device, "resource.kubernetes.io/pcieRoot", "string", `"` + root + `"`},
	}
}

func azureFacts(device, address, rdma, numaNode string) []fact {
	return []fact{
		{device, "dra.net/numaNode", "int", numaNode},
		{device, "dra.net/pciAddress", "string", `"` + address + `"`},
		{device, "dra.net/pciDevice", "string", `"ConnectX Family mlx5Gen Virtual Function"`},
		{device, "dra.net/pciSubsystem", "string", `"0240"`},
		{device, "dra.net/pciVendor", "string", `"Mellanox Technologies"`},
		{device, "dra.net/rdma", "bool", "true"},
		{device, "dra.net/rdmaDevice", "string", `"` + rdma + `"`},
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
		// A live slice, of a version that also published ibOnly for devices without
		// an interface; kubernetes-sigs/dranet does not.
		source: "anson627/dranet examples/aks-gb300-infiniband-dranet/resourceslice-dranet.yaml at 22a65fcf", options: peersDynamic,
		node: func(t *testing.T) *hardware.Node { return readNode(t, "azure-gb300") }, driver: "dra.net",
		devices:  []string{"pci-0101-00-00-0", "pci-0102-00-00-0", "pci-0103-00-00-0", "pci-0104-00-00-0", "pci-7870-00-00-0"},
		complete: true, more: []string{"resource.kubernetes.io/numaNode"},
		facts: slices.Concat(
			azureFacts("pci-0101-00-00-0", "0101:00:00.0", "mlx5_0", "0"), azureFacts("pci-0102-00-00-0", "0102:00:00.0", "mlx5_1", "0"),
			azureFacts("pci-0103-00-00-0", "0103:00:00.0", "mlx5_2", "1"), azureFacts("pci-0104-00-00-0", "0104:00:00.0", "mlx5_3", "1"),
			[]fact{
				{"pci-7870-00-00-0", "dra.net/alias", "string", `""`},
				{"pci-7870-00-00-0", "dra.net/ebpf", "bool", "false"},
				{"pci-7870-00-00-0", "dra.net/encapsulation", "string", `"ether"`},
				{"pci-7870-00-00-0", "dra.net/ifName", "string", `"enP30832s1"`},
				{"pci-7870-00-00-0", "dra.net/mac", "string", `"00:22:48:71:80:86"`},
				{"pci-7870-00-00-0", "dra.net/mtu", "int", "1500"},
				{"pci-7870-00-00-0", "dra.net/pciAddress", "string", `"7870:00:00.0"`},
				{"pci-7870-00-00-0", "dra.net/pciDevice", "string", `"unknown"`},
				{"pci-7870-00-00-0", "dra.net/pciSubsystem", "string", `"00b9"`},
				{"pci-7870-00-00-0", "dra.net/pciVendor", "string", `"Microsoft Corporation"`},
				{"pci-7870-00-00-0", "dra.net/rdma", "bool", "false"},
				{"pci-7870-00-00-0", "dra.net/sriov", "bool", "false"},
				{"pci-7870-00-00-0", "dra.net/state", "string", `"up"`},
				{"pci-7870-00-00-0", "dra.net/type", "string", `"device"`},
				{"pci-7870-00-00-0", "dra.net/virtual", "bool", "false"},
			}),
	},
	{
		// A live slice of 2026-02. Its devices are in no order, because that version
		// ranged over a map; NUMA nodes are published since.
		source: h100Document + ", GPUs", options: peersStatic,
		node: func(t *testing.T) *hardware.Node { return readNode(t, "aws-p5") }, driver: "gpu.nvidia.com",
		complete: true, more: []string{"resource.kubernetes.io/numaNode"},
		facts: slices.Concat(
			h100Facts("gpu-0", "0000:53:00.0", "pci0000:44", "GPU-22dbdd79-f55a-92a8-aa39-322198e72ed6"),
			h100Facts("gpu-1", "0000:64:00.0", "pci0000:55", "GPU-289275cb-a907-ab73-9a95-058ae119f62d"),
			h100Facts("gpu-2", "0000:75:00.0", "pci0000:66", "GPU-f814846a-9bbe-469e-97c3-d037d67c3c32"),
			h100Facts("gpu-3", "0000:86:00.0", "pci0000:77", "GPU-3cc59718-d7df-49ac-07a3-a6cedfe263c6"),
			h100Facts("gpu-4", "0000:97:00.0", "pci0000:88", "GPU-71fc8f21-7800-5bb9-53ad-7e6fc93ef15f"),
			h100Facts("gpu-5", "0000:a8:00.0", "pci0000:99", "GPU-dee5c16e-1d0a-cec8-a9ea-f878a4be1b3d"),
			h100Facts("gpu-6", "0000:b9:00.0", "pci0000:aa", "GPU-ca1b8386-093b-60cc-349d-c4a38b9124c0"),
			h100Facts("gpu-7", "0000:ca:00.0", "pci0000:bb", "GPU-b60b817a-a091-c492-4211-92b276d697e6")),
	},
	{
		source: h100Document + ", compute domain", options: peersStatic,
		node: func(t *testing.T) *hardware.Node { return readNode(t, "aws-p5") }, driver: "compute-domain.nvidia.com",
		complete: true,
		facts: []fact{
			{"channel-0", "type", "string", `"channel"`}, {"channel-0", "id", "int", "0"},
			{"daemon-0", "type", "string", `"daemon"`}, {"daemon-0", "id", "int", "0"},
		},
	},
	{
		// A live slice. It has attributes of resource.aws.com too, which come from the
		// cloud's metadata service, and dra.net/ipv4, which is no matter of hardware.
		source: "anson627/dranet examples/eks-neuron-efa-dranet/resourceslice-dranet.yaml at cce1d33c", options: peersDynamic,
		node: func(t *testing.T) *hardware.Node { return readNode(t, "efa") }, driver: "dra.net",
		devices: []string{"pci-0000-10-02-0", "pci-0000-10-19-0", "pci-0000-10-1a-0",
			"pci-0000-20-19-0", "pci-0000-20-1a-0", "pci-0000-90-19-0", "pci-0000-90-1a-0",
			"pci-0000-a0-19-0", "pci-0000-a0-1a-0"},
		complete: true, more: []string{"resource.kubernetes.io/numaNode"},
		facts: slices.Concat(
			[]fact{
				{"pci-0000-10-02-0", "dra.net/alias", "string", `""`},
				{"pci-0000-10-02-0", "dra.net/ebpf", "bool", "false"},
				{"pci-0000-10-02-0", "dra.net/encapsulation", "string", `"ether"`},
				{"pci-0000-10-02-0", "dra.net/ifName", "string", `"ens34"`},
				{"pci-0000-10-02-0", "dra.net/mac", "string", `"0a:ff:d0:cb:7d:c5"`},
				{"pci-0000-10-02-0", "dra.net/mtu", "int", "9001"},
				{"pci-0000-10-02-0", "dra.net/numaNode", "int", "0"},
				{"pci-0000-10-02-0", "dra.net/pciAddress", "string", `"0000:10:02.0"`},
				{"pci-0000-10-02-0", "dra.net/pciDevice", "string", `"Elastic Network Adapter (ENA)"`},
				{"pci-0000-10-02-0", "dra.net/pciSubsystem", "string", `"ec20"`},
				{"pci-0000-10-02-0", "dra.net/pciVendor", "string", `"Amazon.com, Inc."`},
				{"pci-0000-10-02-0", "dra.net/rdma", "bool", "false"},
				{"pci-0000-10-02-0", "dra.net/sriov", "bool", "false"},
				{"pci-0000-10-02-0", "dra.net/state", "string", `"up"`},
				{"pci-0000-10-02-0", "dra.net/type", "string", `"device"`},
				{"pci-0000-10-02-0", "dra.net/virtual", "bool", "false"},
				{"pci-0000-10-02-0", "resource.kubernetes.io/pcieRoot", "string", `"pci0000:10"`},
			},
			efaFacts("pci-0000-10-19-0", "0000:10:19.0", "pci0000:10", "rdmap16s25", "0"),
			efaFacts("pci-0000-10-1a-0", "0000:10:1a.0", "pci0000:10", "rdmap16s26", "0"),
			efaFacts("pci-0000-20-19-0", "0000:20:19.0", "pci0000:20", "rdmap32s25", "0"),
			efaFacts("pci-0000-20-1a-0", "0000:20:1a.0", "pci0000:20", "rdmap32s26", "0"),
			efaFacts("pci-0000-90-19-0", "0000:90:19.0", "pci0000:90", "rdmap144s25", "1"),
			efaFacts("pci-0000-90-1a-0", "0000:90:1a.0", "pci0000:90", "rdmap144s26", "1"),
			efaFacts("pci-0000-a0-19-0", "0000:a0:19.0", "pci0000:a0", "rdmap160s25", "1"),
			efaFacts("pci-0000-a0-1a-0", "0000:a0:1a.0", "pci0000:a0", "rdmap160s26", "1"),
		),
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
	shown := map[string]bool{} // devices, and their attributes
	for _, f := range d.facts {
		shown[f.device], shown[f.device+" "+f.name] = true, true
		if !published[f] {
			t.Errorf("%s has not %s %s of type %s", f.device, f.name, f.value, f.kind)
		}
	}
	if !d.complete {
		return
	}
	for f := range published {
		if shown[f.device] && !shown[f.device+" "+f.name] && !slices.Contains(d.more, f.name) {
			t.Errorf("%s has %s of type %s, of which the document knows nothing", f.device, f.name, f.kind)
		}
	}
}
