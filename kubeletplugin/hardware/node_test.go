package hardware_test

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/dray-dev/dray/kubeletplugin/hardware"
)

// address panics on what is not one.
func address(text string) hardware.PCIAddress {
	a, err := hardware.ParsePCIAddress(text)
	if err != nil {
		panic(err)
	}
	return a
}

func function(text string) hardware.PCIFunction {
	return hardware.PCIFunction{Address: address(text), Root: "pci0000:15",
		Bridges: []hardware.PCIAddress{address("0000:15:01.0")}, IOMMUGroup: 7,
		SRIOV: &hardware.SRIOV{TotalVFs: 8, VFs: []hardware.PCIAddress{{Domain: 1, Bus: address(text).Bus}}}}
}

// fullNode is valid and has something in every field that can hold something.
func fullNode() *hardware.Node {
	management := address("0000:19:00.1")
	physical := address("0000:18:00.0")
	node := &hardware.Node{
		NUMANodes: []hardware.NUMANode{{ID: 0, CPUs: "0-3", Distances: []int{10, 21}}, {ID: 1, CPUs: "4-7", Socket: 1, Distances: []int{21, 10}}},
		GPUDriver: &hardware.GPUDriver{Version: "580.126.20", CUDAVersion: 13000},
		GPUs: []hardware.GPU{{
			PCIFunction: function("0000:16:00.0"), UUID: "GPU-1", Fabric: &hardware.GPUFabric{ClusterUUID: "c"},
			MIG: &hardware.MIG{Enabled: true,
				Profiles: []hardware.MIGProfile{{Name: "1g.5gb", ID: 19, MaxInstances: 7, Placements: []hardware.Placement{{Start: 0, Size: 1}, {Start: 1, Size: 1}}},
					{Name: "2g.10gb", Kind: hardware.GPUInstance2Slice, ID: 14, Placements: []hardware.Placement{{Start: 0, Size: 2}}}},
				Instances: []hardware.GPUInstanceState{{ID: 3, ProfileID: 19, Placement: hardware.Placement{Start: 0, Size: 1},
					ComputeInstances: []hardware.ComputeInstanceState{{UUID: "MIG-1"}}}}},
			VGPU: &hardware.VGPU{Types: []hardware.VGPUType{{ID: 1, Name: "A100-4C", MIGProfileID: 19}}}, Unread: []string{"fabric"},
		}},
		AMDGPUs: []hardware.AMDGPU{{PCIFunction: function("0000:17:00.0"), Render: 128,
			Modes: []hardware.AMDPartitionMode{{Compute: "SPX", Memory: "NPS1", Partitions: 1}}}},
		NICs: []hardware.NIC{
			{PCIFunction: function("0000:18:00.0"), Interface: "ens1", Link: hardware.LinkEthernet, RDMA: &hardware.RDMA{Device: "mlx5_0"}},
			{PCIFunction: function("0000:18:00.2"), Link: hardware.LinkInfiniBand}},
		FPGAs: []hardware.FPGA{{PCIFunction: function("0000:19:00.0"), Management: &management,
			Regions: []hardware.FPGARegion{{Interface: strings.Repeat("a", 32), Function: strings.Repeat("b", 32), Port: "dfl-port.0"}}}},
	}
	node.NICs[0].SRIOV.VFs = []hardware.PCIAddress{address("0000:18:00.2")}
	node.NICs[1].SRIOV = &hardware.SRIOV{PhysicalFunction: &physical}
	return node
}

func TestACloneIsEqualAndSharesNothing(t *testing.T) {
	node := fullNode()
	clone := node.Clone()
	if !reflect.DeepEqual(node, clone) {
		t.Fatalf("clone %+v differs from %+v", clone, node)
	}
	sharesNothing(t, "node", reflect.ValueOf(node), reflect.ValueOf(clone))
	if (*hardware.Node)(nil).Clone() != nil {
		t.Error("the clone of no node is one")
	}
}

// sharesNothing walks through two equal values. A pointer or a list that no
// device of fullNode has would not be checked, so that is an error as well.
func sharesNothing(t *testing.T, place string, a, b reflect.Value) {
	t.Helper()
	switch a.Kind() {
	case reflect.Pointer:
		if a.IsNil() {
			if !strings.HasSuffix(place, ".PhysicalFunction") { // of physical functions
				t.Errorf("%s is nil in the node that the test clones", place)
			}
			return
		}
		if a.Pointer() == b.Pointer() {
			t.Errorf("%s is shared", place)
		}
		sharesNothing(t, place, a.Elem(), b.Elem())
	case reflect.Struct:
		for i := range a.NumField() {
			sharesNothing(t, place+"."+a.Type().Field(i).Name, a.Field(i), b.Field(i))
		}
	case reflect.Slice:
		if a.Len() == 0 {
			if !strings.HasSuffix(place, "SRIOV.VFs") { // of virtual functions
				t.Errorf("%s is empty in the node that the test clones", place)
			}
			return
		}
		if a.Pointer() == b.Pointer() {
			t.Errorf("%s is shared", place)
		}
		// Of two devices of a kind the second is the one with less.
		for i := range a.Len() {
			if _, ok := a.Index(i).Interface().(hardware.NIC); ok && i > 0 {
				continue
			}
			sharesNothing(t, fmt.Sprintf("%s[%d]", place, i), a.Index(i), b.Index(i))
		}
	case reflect.Map, reflect.Chan, reflect.Func, reflect.Interface:
		t.Errorf("%s is a %s, which the test cannot compare", place, a.Kind())
	}
}

func TestValidateNamesTheDeviceAndTheField(t *testing.T) {
	if err := fullNode().Validate(); err != nil {
		t.Fatalf("the full node: %v", err)
	}
	if err := (&hardware.Node{}).Validate(); err != nil {
		t.Fatalf("the empty node: %v", err)
	}
	for _, c := range []struct {
		name string
		do   func(n *hardware.Node)
		want string // the beginning of a line
	}{
		{"two devices at one address", func(n *hardware.Node) { n.AMDGPUs[0].Address = n.GPUs[0].Address },
			"amd gpu 0000:16:00.0: Address: address 0000:16:00.0 is that of gpu 0000:16:00.0"},
		{"management at the address of a device", func(n *hardware.Node) { *n.FPGAs[0].Management = n.GPUs[0].Address },
			"fpga 0000:19:00.0: Management: address 0000:16:00.0 is that of gpu"},
		{"out of order", func(n *hardware.Node) { n.NICs[0], n.NICs[1] = n.NICs[1], n.NICs[0] },
			"nic 0000:18:00.0: Address: comes before 0000:18:00.2"},
		{"a NUMA node that is not there", func(n *hardware.Node) { n.NICs[0].NUMANode = 2 },
			"nic 0000:18:00.0: NUMANode: there is no NUMA node 2"},
		{"the form of a root", func(n *hardware.Node) { n.GPUs[0].Root = "pci0:15" }, `gpu 0000:16:00.0: Root: "pci0:15"`},
		{"the name of a driver", func(n *hardware.Node) { n.GPUs[0].Driver = "../x" }, "gpu 0000:16:00.0: Driver:"},
		{"a class of 32 bits", func(n *hardware.Node) { n.GPUs[0].Class = 1 << 24 }, "gpu 0000:16:00.0: Class:"},
		{"a group below -1", func(n *hardware.Node) { n.GPUs[0].IOMMUGroup = -2 }, "gpu 0000:16:00.0: IOMMUGroup:"},
		{"a physical function elsewhere", func(n *hardware.Node) { *n.NICs[1].SRIOV.PhysicalFunction = n.GPUs[0].Address },
			"nic 0000:18:00.2: SRIOV.PhysicalFunction: 0000:16:00.0 is not in the list"},
		{"another's virtual function", func(n *hardware.Node) { n.NICs[1].SRIOV.Index = 1 }, "nic 0000:18:00.2: SRIOV.Index: is 1"},
		{"a virtual function that denies it", func(n *hardware.Node) { n.NICs[1].SRIOV = nil },
			"nic 0000:18:00.2: SRIOV.PhysicalFunction: nic 0000:18:00.0 has it"},
		{"more virtual functions than can be", func(n *hardware.Node) { n.NICs[0].SRIOV.TotalVFs = 0 }, "nic 0000:18:00.0: SRIOV.VFs: are 1"},
		{"one virtual function twice", func(n *hardware.Node) { n.GPUs[0].SRIOV.VFs = n.AMDGPUs[0].SRIOV.VFs }, "amd gpu 0000:17:00.0: SRIOV.VFs[0]:"},
		{"a virtual function of another kind", func(n *hardware.Node) { n.GPUs[0].SRIOV.VFs[0] = n.AMDGPUs[0].Address }, "gpu 0000:16:00.0: SRIOV.VFs[0]:"},
		{"a virtual function with its own", func(n *hardware.Node) { n.NICs[1].SRIOV.TotalVFs = 1 }, "nic 0000:18:00.2: SRIOV:"},
		{"a bridge that is a device", func(n *hardware.Node) { n.GPUs[0].Bridges[0] = n.NICs[0].Address }, "gpu 0000:16:00.0: Bridges[0]:"},
		{"a bridge at two places", func(n *hardware.Node) { n.AMDGPUs[0].Root = "pci0000:80" }, "amd gpu 0000:17:00.0: Bridges[0]: 0000:15:01.0 hangs on root pci0000:80"},
		{"a bridge twice", func(n *hardware.Node) { n.GPUs[0].Bridges = append(n.GPUs[0].Bridges, n.GPUs[0].Bridges[0]) }, "gpu 0000:16:00.0: Bridges[1]:"},
		{"NUMA nodes out of order", func(n *hardware.Node) { n.NUMANodes[1].ID = 0 }, "numa node 0: ID:"},
		{"a CPU in two nodes", func(n *hardware.Node) { n.NUMANodes[1].CPUs = "3-5" }, "numa node 1: CPUs: CPU 3 is in node 0"},
		{"no list of CPUs", func(n *hardware.Node) { n.NUMANodes[1].CPUs = "5-4" }, "numa node 1: CPUs: CPU list"},
		{"CPUs without a socket", func(n *hardware.Node) { n.NUMANodes[1].Socket = hardware.NoSocket }, "numa node 1: Socket:"},
		{"distances of one node only", func(n *hardware.Node) { n.NUMANodes[1].Distances = nil }, "numa node 1: Distances:"},
		{"a distance of 10 to another", func(n *hardware.Node) { n.NUMANodes[1].Distances[0] = 10 }, "numa node 1: Distances: is 10 to node 0"},
		{"GPUs without a driver", func(n *hardware.Node) { n.GPUDriver = nil }, "gpu 0000:16:00.0: the node has no GPU driver"},
		{"a UUID of something else", func(n *hardware.Node) { n.GPUs[0].UUID = "MIG-1" }, "gpu 0000:16:00.0: UUID:"},
		{"profiles out of order", func(n *hardware.Node) { n.GPUs[0].MIG.Profiles[1].Kind = 0 }, "gpu 0000:16:00.0: MIG.Profiles[1]: kind 0 of 2g.10gb"},
		{"two profiles with one ID", func(n *hardware.Node) { n.GPUs[0].MIG.Profiles[1].ID = 19 }, "gpu 0000:16:00.0: MIG.Profiles[1]: ID 19"},
		{"a placement of nothing", func(n *hardware.Node) { n.GPUs[0].MIG.Profiles[1].Placements[0].Size = 0 }, "gpu 0000:16:00.0: MIG.Profiles[1]:"},
		{"instances while MIG is off", func(n *hardware.Node) { n.GPUs[0].MIG.Enabled = false }, "gpu 0000:16:00.0: MIG.Instances:"},
		{"a profile that the model lacks", func(n *hardware.Node) { n.GPUs[0].MIG.Instances[0].ProfileID = 9 }, "gpu 0000:16:00.0: MIG.Instances[0]: instance 3 has profile 9, which the GPU lacks"},
		{"a placement that the profile lacks", func(n *hardware.Node) { n.GPUs[0].MIG.Instances[0].Placement.Start = 2 }, "gpu 0000:16:00.0: MIG.Instances[0]:"},
		{"two instances on one slice", func(n *hardware.Node) {
			n.GPUs[0].MIG.Instances = append(n.GPUs[0].MIG.Instances,
				hardware.GPUInstanceState{ID: 4, ProfileID: 14, Placement: hardware.Placement{Start: 0, Size: 2}})
		}, "gpu 0000:16:00.0: MIG.Instances[1]: instance 4 (2g.10gb) covers memory slice 0"},
		{"a MIG device's UUID", func(n *hardware.Node) { n.GPUs[0].MIG.Instances[0].ComputeInstances[0].UUID = "" }, "gpu 0000:16:00.0: MIG.Instances[0]: UUID"},
		{"a vGPU type on a missing profile", func(n *hardware.Node) { n.GPUs[0].VGPU.Types[0].MIGProfileID = 5 }, "gpu 0000:16:00.0: VGPU.Types[0]:"},
		{"a negative card", func(n *hardware.Node) { n.AMDGPUs[0].Card = -1 }, "amd gpu 0000:17:00.0: Card:"},
		{"a mode without partitions", func(n *hardware.Node) { n.AMDGPUs[0].Modes[0].Partitions = 0 }, "amd gpu 0000:17:00.0: Modes[0]:"},
		{"an interface twice", func(n *hardware.Node) { n.NICs[1].Interface = "ens1" }, "nic 0000:18:00.2: Interface: interface ens1 is that of nic 0000:18:00.0"},
		{"an interface of 16 characters", func(n *hardware.Node) { n.NICs[1].Interface = "abcdefghijklmnop" }, "nic 0000:18:00.2: Interface:"},
		{"a link of no kind", func(n *hardware.Node) { n.NICs[1].Link = "" }, "nic 0000:18:00.2: Link:"},
		{"a negative speed", func(n *hardware.Node) { n.NICs[1].SpeedMbps = -1 }, "nic 0000:18:00.2: MTU:"},
		{"an RDMA device twice", func(n *hardware.Node) { n.NICs[1].RDMA = n.NICs[0].RDMA }, "nic 0000:18:00.2: RDMA.Device:"},
		{"a region that is not numbered", func(n *hardware.Node) { n.FPGAs[0].Regions[0].ID = 1 }, "fpga 0000:19:00.0: Regions[0]: ID 1 must be 0"},
		{"an interface ID", func(n *hardware.Node) { n.FPGAs[0].Regions[0].Interface = "x" }, "fpga 0000:19:00.0: Regions[0]: Interface"},
		{"a function ID", func(n *hardware.Node) { n.FPGAs[0].Regions[0].Function = "x" }, "fpga 0000:19:00.0: Regions[0]: Function"},
		{"a function without a port", func(n *hardware.Node) { n.FPGAs[0].Regions[0].Port = "" }, "fpga 0000:19:00.0: Regions[0]: Function"},
	} {
		t.Run(c.name, func(t *testing.T) {
			node := fullNode()
			c.do(node)
			err := node.Validate()
			if err == nil {
				t.Fatal("the node is valid")
			}
			if !strings.Contains("\n"+err.Error(), "\n"+c.want) {
				t.Errorf("the error has no line that begins with\n%s\n:\n%v", c.want, err)
			}
		})
	}
}

func TestCPUListsAreReadAsTheKernelPrintsThem(t *testing.T) {
	for list, want := range map[string]string{
		"": "[]", "0": "[{0 0}]", "0-55,112-167": "[{0 55} {112 167}]", "1,3,5-6": "[{1 1} {3 3} {5 6}]",
	} {
		if got, err := hardware.ParseCPUList(list); err != nil || fmt.Sprint(got) != want {
			t.Errorf("%q reads as %v, %v, not %s", list, got, err, want)
		}
	}
	for _, list := range []string{",", "0,", "1-", "-1", "2,1", "1-1,1", "3-2", "0-65536", "a", "0 1", "+1"} {
		if got, err := hardware.ParseCPUList(list); err == nil {
			t.Errorf("%q reads as %v", list, got)
		}
	}
}
