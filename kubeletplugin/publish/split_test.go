package publish_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	resourceapi "k8s.io/api/resource/v1"

	"github.com/dray-dev/dray/kubeletplugin/hardware"
	"github.com/dray-dev/dray/kubeletplugin/publish"
)

// functions is a node with n network functions.
func functions(n int) *hardware.Node {
	node := &hardware.Node{NUMANodes: []hardware.NUMANode{{ID: 0, Distances: []int{10}}}}
	for i := range n {
		node.NICs = append(node.NICs, hardware.NIC{PCIFunction: hardware.PCIFunction{Address: hardware.PCIAddress{Domain: uint16(i >> 8), Bus: uint8(i)}}})
	}
	return node
}

// virtualGPUs is a node with a GPU that hosts n of a kind.
func virtualGPUs(n int) *hardware.Node {
	return &hardware.Node{GPUDriver: &hardware.GPUDriver{Version: "580.1", CUDAVersion: 13000}, GPUs: []hardware.GPU{{
		ComputeCapability: "8.9", MemoryBytes: 1 << 35,
		VGPU: &hardware.VGPU{Types: []hardware.VGPUType{{Name: "X-1Q", FramebufferBytes: 1 << 30, MaxInstances: n, MIGProfileID: -1}}},
	}}}
}

// partitions is a node with n GPUs of as many placements each.
func partitions(n, placements int) *hardware.Node {
	node := &hardware.Node{GPUDriver: &hardware.GPUDriver{Version: "580.1", CUDAVersion: 13000}}
	var at []hardware.Placement
	for i := range placements {
		at = append(at, hardware.Placement{Start: i, Size: 1})
	}
	for i := range n {
		node.GPUs = append(node.GPUs, hardware.GPU{PCIFunction: hardware.PCIFunction{Address: hardware.PCIAddress{Bus: uint8(i)}}, Minor: i,
			ComputeCapability: "9.0", MIG: &hardware.MIG{Profiles: []hardware.MIGProfile{{Name: "1g.1gb", Placements: at}}}})
	}
	return node
}

func TestSlicesAreAsFullAsTheServerAdmits(t *testing.T) {
	all := publish.Features{PartitionableDevices: true, DeviceTaints: true, CompatibilityGroups: true, ListAttributes: true, ConsumableCapacity: true}
	old := publish.Features{PartitionableDevices: true, DeviceTaints: true, ConsumableCapacity: true}
	tainted := func(i int) publish.State {
		id := publish.DeviceID{Driver: "nic.dray.dev", Device: fmt.Sprintf("pci-%04x-%02x-00-0", i>>8, i&255)}
		return publish.State{Taints: map[publish.DeviceID][]resourceapi.DeviceTaint{id: {{Key: "a", Effect: resourceapi.DeviceTaintEffectNoSchedule}}}}
	}
	for _, c := range []struct {
		name    string
		node    *hardware.Node
		options publish.Options
		state   publish.State
		want    string // devices of each slice, or sN for N counter sets
	}{
		{"plain devices", functions(128), publish.Options{Features: all}, publish.State{}, "128"},
		{"one more", functions(129), publish.Options{Features: all}, publish.State{}, "128 1"},
		{"a taint on the first", functions(129), publish.Options{Features: all}, tainted(0), "64 65"},
		{"a taint on one of the first 64", functions(130), publish.Options{Features: all}, tainted(63), "64 66"},
		{"a taint on a later one", functions(130), publish.Options{Features: all}, tainted(100), "100 30"},
		{"taints do not count in 1.34", functions(128), publish.Options{Features: old, Minor: 34}, tainted(0), "128"},
		{"lists", functions(65), publish.Options{Features: all, NUMANodeList: true}, publish.State{}, "64 1"},
		{"more than ten slices", functions(1290), publish.Options{Features: all}, publish.State{}, "128 128 128 128 128 128 128 128 128 128 10"},
		{"counters", virtualGPUs(64), publish.Options{Features: all, VGPU: true}, publish.State{}, "s1 64 1"},
		{"nine counter sets", partitions(9, 1), publish.Options{Features: all, MIG: publish.MIGDynamic}, publish.State{}, "s8 s1 2 2 2 2 2 2 2 2 2"},
		{"each GPU for itself in 1.34", partitions(3, 4), publish.Options{Features: old, MIG: publish.MIGDynamic, Minor: 34}, publish.State{}, "s1+5 s1+5 s1+5"},
		{"the most counters of a set", partitions(1, 25), publish.Options{Features: all, MIG: publish.MIGDynamic}, publish.State{}, "s1 26"},
		{"nothing", functions(0), publish.Options{Features: all}, publish.State{}, ""},
	} {
		publisher, err := publish.New(c.options)
		if err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		pools, err := publisher.Node("node-1", c.node, c.state)
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		var got []string
		for _, pool := range pools {
			if problem := poolRules(&pool); problem != "" {
				t.Errorf("%s: %s", c.name, problem)
			}
			for i := range pool.Slices {
				var parts []string
				if n := len(pool.Slices[i].Spec.SharedCounters); n > 0 {
					parts = append(parts, fmt.Sprintf("s%d", n))
				}
				if n := len(pool.Slices[i].Spec.Devices); n > 0 {
					parts = append(parts, fmt.Sprint(n))
				}
				got = append(got, strings.Join(parts, "+"))
				if problem := rules(&pool.Slices[i], max(c.options.Minor, 34)); c.options.Minor != 0 && problem != "" {
					t.Errorf("%s: %s", c.name, problem)
				}
			}
		}
		if s := strings.Join(got, " "); s != c.want {
			t.Errorf("%s: slices have %s, want %s", c.name, s, c.want)
		}
	}
}

func TestWhatCannotBePublishedIsNamed(t *testing.T) {
	features := publish.DefaultFeatures()
	dynamic := publish.Options{Features: features, MIG: publish.MIGDynamic}
	change := func(name string, f func(*hardware.Node)) *hardware.Node {
		node := readNode(t, name)
		f(node)
		return node
	}
	// A slice of Kubernetes 1.34 has 1024 counters: 32 of the whole GPU and 19 of
	// each of 52 partitions.
	wide := partitions(1, 14)
	wide.GPUs[0].MIG.Profiles = nil
	for id := range 5 {
		profile := hardware.MIGProfile{Name: "2g.1gb", ID: id}
		for start := range 14 {
			profile.Placements = append(profile.Placements, hardware.Placement{Start: start, Size: 12})
		}
		wide.GPUs[0].MIG.Profiles = append(wide.GPUs[0].MIG.Profiles, profile)
	}
	for _, c := range []struct {
		node    *hardware.Node
		options publish.Options
		want    string
	}{
		{change("dgx-h100", func(n *hardware.Node) { n.GPUs[1].Minor = n.GPUs[0].Minor }), publish.Options{},
			"node node-1: driver gpu.dray.dev: device gpu-4: name: two devices have it"},
		{change("dgx-h100", func(n *hardware.Node) { n.GPUs[1].Minor = n.GPUs[0].Minor }), dynamic,
			`node node-1: driver gpu.dray.dev: device gpu-4: sharedCounters: "gpu-4-counter-set" is not a DNS label, or the name of two sets`},
		{change("dgx-h100", func(n *hardware.Node) { n.GPUDriver = nil }), publish.Options{},
			"node node-1: driver gpu.dray.dev: device gpu-4: attributes[driverVersion]: the node has GPUs and no GPU driver"},
		{change("dgx-h100", func(n *hardware.Node) { n.GPUDriver.Version = "1.2.3.4" }), publish.Options{},
			`node node-1: driver gpu.dray.dev: device gpu-4: attributes[driverVersion]: "1.2.3.4" has more than three numbers`},
		{change("dgx-h100", func(n *hardware.Node) { n.GPUs[0].ProductName = strings.Repeat("x", 65) }), publish.Options{},
			`node node-1: driver gpu.dray.dev: device gpu-4: attributes[productName]: "` + strings.Repeat("x", 65) + `" has more than 64 bytes`},
		{change("dgx-h100", func(n *hardware.Node) {
			n.GPUs[0].MIG.Profiles[0].Placements = append(n.GPUs[0].MIG.Profiles[0].Placements, hardware.Placement{Start: 2})
		}), dynamic, "node node-1: driver gpu.dray.dev: device gpu-4: mig.profiles[1g.10gb].placements: a placement begins at 2 and has 0 memory slices"},
		{change("sriov", func(n *hardware.Node) { n.NICs = n.NICs[2:3] }), publish.Options{NICs: publish.NICVirtualFunctions},
			"node node-1: driver nic.dray.dev: device 0000-3b-00-2: attributes[sriovnetwork.k8snetworkplumbingwg.io/pfPciAddress]: the node has no function 0000:3b:00.0"},
		{change("mi300x", func(n *hardware.Node) { n.AMDGPUs[1].Card, n.AMDGPUs[1].Render = 0, 128 }), publish.Options{},
			"node node-1: driver gpu.dray.dev: device gpu-0-128: name: two devices have it"},
		{wide, publish.Options{Features: features, MIG: publish.MIGDynamic, Minor: 34},
			"node node-1: driver gpu.dray.dev: device gpu-0-mig-2g1gb-3-6: consumesCounters[gpu-0-counter-set]: too many devices or " +
				"counters: it does not fit into the slice of the set, and Kubernetes 1.34 wants all who consume a set beside it (and 17 more devices)"},
		{change("dgx-h100", func(n *hardware.Node) { n.GPUs[0].MemoryBytes = 1 << 63 }), publish.Options{},
			"node node-1: driver gpu.dray.dev: device gpu-4: capacity[memory]: -9223372036854775808 is negative, or 8 EiB and more"},
		{partitions(1, 26), dynamic,
			"node node-1: driver gpu.dray.dev: device gpu-0: sharedCounters[gpu-0-counter-set].counters: there are 33, which is not from 1 to 32"},
	} {
		publisher, err := publish.New(c.options)
		if err != nil {
			t.Fatal(err)
		}
		pools, err := publisher.Node("node-1", c.node, publish.State{})
		if err == nil {
			t.Errorf("no error, want %s", c.want)
			continue
		}
		if first, _, _ := strings.Cut(err.Error(), "\n"); first != c.want {
			t.Errorf("the error begins with %s, want %s", first, c.want)
		}
		mustBeValid(t, pools, c.options.Minor)
		if e := (*publish.Error)(nil); !errors.As(err, &e) || e.Node != "node-1" {
			t.Errorf("%v is not an Error of the node", err)
		}
	}
}

func TestLabelsOfFabricsThatNoNodeCanHaveAreRefused(t *testing.T) {
	publisher, err := publish.New(publish.Options{Features: publish.DefaultFeatures()})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ key, value, want string }{
		{"a b/c", "x", `pool f: nodeSelector[a b/c]: "a b/c"="x" is not a label: `},
		{"a", "-x", `pool f: nodeSelector[a]: "a"="-x" is not a label: `},
		{"a", strings.Repeat("x", 64), "pool f: nodeSelector[a]: "},
	} {
		_, err := publisher.Fabric(&hardware.FabricPool{Name: "f", NodeLabels: map[string]string{"ok": "", c.key: c.value},
			Devices: []hardware.FabricDevice{{Name: "d", Type: "gpu"}}}, publish.State{})
		if err == nil || !strings.HasPrefix(err.Error(), c.want) {
			t.Errorf("the error is %v, want %s", err, c.want)
		}
	}
}

func TestOptionsThatContradictThemselvesAreRefused(t *testing.T) {
	for _, c := range []struct {
		options publish.Options
		want    string
		notKept bool
	}{
		{publish.Options{Minor: 33}, "options: minor: 33 is not from 34 to 37", false},
		{publish.Options{Minor: 35, Features: publish.Features{ListAttributes: true}}, "options: features.listAttributes: Kubernetes 1.35 has it not, only 1.36 and later", false},
		{publish.Options{Features: publish.Features{CompatibilityGroups: true}}, "options: features.compatibilityGroups: it needs features.partitionableDevices", false},
		{publish.Options{NUMANodeList: true}, "options: numaNodeList: needs features.listAttributes: ", true},
		{publish.Options{AMDPartitions: true}, "options: amdPartitions: needs features.partitionableDevices: ", true},
		{publish.Options{Drivers: publish.Drivers{NIC: "fpga.dray.dev"}}, `options: drivers: "fpga.dray.dev" is the name of the driver for NICs and for FPGAs`, false},
		{publish.Options{Drivers: publish.Drivers{GPU: "GPU"}}, `options: drivers.gpu: "GPU": `, false},
		{publish.Options{Bitstreams: []publish.Bitstream{{Name: "a", Interface: "1"}}}, `options: bitstreams[0].interface: "1" is not 32 lower-case hex digits`, false},
		{publish.Options{VGPU: true, MIG: publish.MIGStatic, Features: publish.Features{PartitionableDevices: true, CompatibilityGroups: true}},
			"options: vgpu: virtual GPUs and static MIG cannot be published together; use dynamic MIG or none", false},
	} {
		_, err := publish.New(c.options)
		if err == nil || !strings.HasPrefix(err.Error(), c.want) || errors.Is(err, publish.ErrNotKept) != c.notKept {
			t.Errorf("the error is %v, want %s", err, c.want)
		}
	}
}

// Where a GPU has no name of its own, its name in the PCI ID database stands for
// it, and some of those are longer than a value may be.
func TestLongNamesOfAMDGPUsAreCut(t *testing.T) {
	publisher, err := publish.New(publish.Options{})
	if err != nil {
		t.Fatal(err)
	}
	node := &hardware.Node{AMDGPUs: []hardware.AMDGPU{{Render: 128, MemoryBytes: 2 << 30,
		ProductName: "Topaz XT [Radeon R7 M260/M265 / M340/M360 / M440/M445 / 530/535 / 620/625 Mobile]"}}}
	pools, err := publisher.Node("n", node, publish.State{})
	if err != nil {
		t.Fatal(err)
	}
	name := *pools[0].Slices[0].Spec.Devices[0].Attributes["productName"].StringValue
	if want := "Topaz_XT_[Radeon_R7_M260/M265_/_M340/M360_/_M440/M445_/_530/535_"; name != want {
		t.Errorf("the name is %q, want %q", name, want)
	}
}

func TestNamesOfNodesBecomeNamesOfSlices(t *testing.T) {
	publisher, err := publish.New(publish.Options{})
	if err != nil {
		t.Fatal(err)
	}
	long := strings.Repeat("a", 63) + "." + strings.Repeat("b", 63) + "." + strings.Repeat("c", 63) + "." + strings.Repeat("d", 61)
	seen := map[string]bool{}
	for _, name := range []string{"n", "ip-10-0-0-1.ec2.internal", long, long[:len(long)-1] + "e"} {
		pools, err := publisher.Node(name, functions(129), publish.State{})
		if err != nil {
			t.Fatal(err)
		}
		for i := range pools[0].Slices {
			s := &pools[0].Slices[i]
			if problem := rules(s, 37); problem != "" || seen[s.Name] {
				t.Errorf("node %s: slice %s: %s", name, s.Name, problem)
			}
			seen[s.Name] = true
		}
	}
	for _, name := range []string{"", "Node", "a_b", strings.Repeat("a", 254)} {
		if _, err := publisher.Node(name, functions(1), publish.State{}); err == nil {
			t.Errorf("a node may be called %q", name)
		}
	}
}

func TestDescriptionsAreCutAtCharacters(t *testing.T) {
	node := functions(1)
	node.NICs[0].IDs.DeviceName = strings.Repeat("a", 63) + "é"
	node.NICs[0].IDs.VendorName = strings.Repeat("a", 62) + "é"
	publisher, err := publish.New(publish.Options{})
	if err != nil {
		t.Fatal(err)
	}
	pools, err := publisher.Node("n", node, publish.State{})
	if err != nil {
		t.Fatal(err)
	}
	got := devicesOf(pools)[0].Attributes
	if *got["dra.net/pciDevice"].StringValue != strings.Repeat("a", 63) || *got["dra.net/pciVendor"].StringValue != node.NICs[0].IDs.VendorName {
		t.Errorf("%q and %q are published", *got["dra.net/pciDevice"].StringValue, *got["dra.net/pciVendor"].StringValue)
	}
}

func TestVersionsBecomeSemantic(t *testing.T) {
	for version, want := range map[string]string{
		"580.126.20": "580.126.20", "535.104.05": "535.104.5", "580.1": "580.1.0", "7": "7.0.0", "6.8.0-45-generic": "6.8.0-45-generic", "00.01": "0.1.0",
		"": "", "a.b": "", "1.2.3.4": "", "1..2": "", "1.2-": "",
	} {
		node := functions(0)
		node.AMDGPUs = []hardware.AMDGPU{{DriverVersion: version}}
		if version == "" {
			node = virtualGPUs(1)
			node.GPUDriver.Version = ""
		}
		publisher, err := publish.New(publish.Options{})
		if err != nil {
			t.Fatal(err)
		}
		pools, err := publisher.Node("n", node, publish.State{})
		if want == "" {
			if err == nil {
				t.Errorf("%q is a version", version)
			}
			continue
		}
		if err != nil {
			t.Errorf("%q: %v", version, err)
		} else if got := *devicesOf(pools)[0].Attributes["driverVersion"].VersionValue; got != want {
			t.Errorf("%q becomes %s, want %s", version, got, want)
		}
	}
}

func TestNUMANodesAreListedWithTheirNeighbours(t *testing.T) {
	two := []hardware.NUMANode{{ID: 0, Socket: 0, Distances: []int{10, 21}}, {ID: 1, Socket: 1, Distances: []int{21, 10}}}
	four := []hardware.NUMANode{
		{ID: 0, Socket: 0, Distances: []int{10, 12, 12, 32}}, {ID: 1, Socket: 0, Distances: []int{12, 10, 32, 12}},
		{ID: 4, Socket: 1, Distances: []int{12, 32, 10, 20}}, {ID: 5, Socket: 1, Distances: []int{32, 12, 20, 10}}}
	for _, c := range []struct {
		nodes []hardware.NUMANode
		of    int
		want  []int64
	}{
		{two, 1, []int64{1}},
		{four, 0, []int64{0, 1}},
		{four, 4, []int64{4}}, // its nearest is of the other socket
		{four, -1, nil},
		{nil, 3, []int64{3}},
		{[]hardware.NUMANode{{ID: 3}}, 3, []int64{3}}, // no distances
	} {
		node := functions(1)
		node.NUMANodes, node.NICs[0].NUMANode = c.nodes, c.of
		publisher, err := publish.New(publish.Options{NUMANodeList: true, Features: publish.Features{ListAttributes: true}})
		if err != nil {
			t.Fatal(err)
		}
		pools, err := publisher.Node("n", node, publish.State{})
		if err != nil {
			t.Fatal(err)
		}
		if got := devicesOf(pools)[0].Attributes["resource.kubernetes.io/numaNode"].IntValues; !slices.Equal(got, c.want) {
			t.Errorf("node %d of %d: the list is %v, want %v", c.of, len(c.nodes), got, c.want)
		}
	}
}
