package machine

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/dray-dev/dray/kubeletplugin/hardware"
)

func TestIdentitiesSetInstancesApart(t *testing.T) {
	m := load(t, "dgx-h100")
	first := map[string]string{} // UUID or hardware address → whose
	for _, id := range []Identity{{"a", 0}, {"b", 0}, {"a", 1}, {"", 0}, {"a-very-long-name." + strings.Repeat("x", 300), 0}, {"a-very-long-name." + strings.Repeat("x", 301), 0}} {
		n := m.Instantiate(id).Nodes[0]
		if n.Name != id.Name {
			t.Errorf("the node of %v is named %q", id, n.Name)
		}
		for _, g := range n.Hardware.GPUs {
			distinct(t, first, g.UUID, fmt.Sprint(id, g.Address))
		}
		for _, nic := range n.Hardware.NICs {
			distinct(t, first, nic.MAC, fmt.Sprint(id, nic.Address))
		}
	}
}

func distinct(t *testing.T, first map[string]string, key, holder string) {
	t.Helper()
	if other, taken := first[key]; taken {
		t.Errorf("%s is that of %.60s and of %.60s", key, other, holder)
	}
	first[key] = holder
}

func TestNodesOfAFleetHaveUUIDsOfTheirOwn(t *testing.T) {
	m := load(t, "mixed")
	seen := map[string]string{}
	for i := range 2000 {
		id := Identity{Name: fmt.Sprintf("node-%d", i), Seed: 3}
		for _, g := range m.Instantiate(id).Nodes[0].Hardware.GPUs {
			distinct(t, seen, g.UUID, id.Name)
			for _, instance := range g.MIG.Instances {
				distinct(t, seen, instance.ComputeInstances[0].UUID, id.Name)
			}
		}
	}
	if want := 2000 * 4; len(seen) != want {
		t.Errorf("%d UUIDs, want %d", len(seen), want)
	}
}

func TestIdentityHasTheFormsOfRealHardware(t *testing.T) {
	const uuid, derived = `[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$`,
		`[0-9a-f]{8}-[0-9a-f]{4}-5[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$`
	n := node(t, "mixed")
	for _, c := range []struct{ what, value, form string }{
		{"UUID of a GPU", n.GPUs[0].UUID, "^GPU-" + uuid},
		{"UUID of a MIG device", n.GPUs[1].MIG.Instances[0].ComputeInstances[0].UUID, "^MIG-" + derived},
		{"address of IP over InfiniBand", n.NICs[0].MAC, `^00:00:10:29:fe:80:00:00:00:00:00:00(:[0-9a-f]{2}){8}$`},
		{"address of Ethernet", node(t, "l40s").NICs[0].MAC, `^[0-9a-f][26ae](:[0-9a-f]{2}){5}$`},
		{"serial number", n.FPGAs[0].Serial, `^XFL1[0-9A-Z]{8}$`},
	} {
		if !regexp.MustCompile(c.form).MatchString(c.value) {
			t.Errorf("%s: %q is not of the form %s", c.what, c.value, c.form)
		}
	}
}

// UUIDs are in users' files and tests: a release that changes them breaks those.
func TestIdentityNeverChanges(t *testing.T) {
	n := load(t, "mixed").Instantiate(Identity{Name: "host-1", Seed: 1}).Nodes[0].Hardware
	got := []string{n.GPUs[0].UUID, n.GPUs[1].MIG.Instances[0].ComputeInstances[0].UUID, n.NICs[0].MAC, n.FPGAs[0].Serial}
	want := []string{
		"GPU-2610914b-f97b-45e3-b12e-a7e28a8e4764",
		"MIG-a6f5a610-6152-5a25-b7d6-65903a100fa5",
		"00:00:10:29:fe:80:00:00:00:00:00:00:3a:8f:83:4c:a2:ad:1d:97",
		"XFL1GSJ3BDQH",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// What an instance can change about itself is its own.
func TestInstancesDoNotShareState(t *testing.T) {
	m := load(t, "mixed")
	id := Identity{Name: "a"}
	one := m.Instantiate(id).Nodes[0].Hardware
	one.GPUs[1].MIG.Enabled = false
	one.GPUs[1].MIG.Instances[0].ComputeInstances[0].UUID = "MIG-changed"
	one.GPUs[1].MIG.Instances[0].ID = 99
	one.GPUs[0].MIG.Instances = append(one.GPUs[0].MIG.Instances, hardware.GPUInstanceState{ID: 1})
	one.GPUs[0].UUID, one.NICs[0].Up, one.FPGAs[0].Serial = "", false, ""
	two := m.Instantiate(id).Nodes[0].Hardware
	if !two.GPUs[1].MIG.Enabled || two.GPUs[1].MIG.Instances[0].ID == 99 || len(two.GPUs[0].MIG.Instances) != 0 ||
		two.GPUs[1].MIG.Instances[0].ComputeInstances[0].UUID == "MIG-changed" || two.GPUs[0].UUID == "" || !two.NICs[0].Up || two.FPGAs[0].Serial == "" {
		t.Error("a change of one instance is seen in another")
	}
	tray := load(t, "gb200-nvl72-tray").Instantiate(id).Nodes[0].Hardware
	tray.GPUs[0].Fabric.State = hardware.FabricNotStarted
	if tray.GPUs[1].Fabric.State != hardware.FabricCompleted {
		t.Error("GPUs of a node share their fabric state")
	}
}

func TestRacksAreOneFabric(t *testing.T) {
	rack := load(t, "gb200-nvl72").Instantiate(Identity{Name: "rack-7", Seed: 1})
	other := load(t, "gb200-nvl72").Instantiate(Identity{Name: "rack-8", Seed: 1})
	if len(rack.Nodes) != 18 {
		t.Fatalf("%d trays", len(rack.Nodes))
	}
	for i, n := range rack.Nodes {
		if want := fmt.Sprintf("rack-7-tray-%02d", i); n.Name != want || n.Place != i {
			t.Errorf("the tray at place %d is %s at place %d", i, n.Name, n.Place)
		}
		if n.Clique != rack.Nodes[0].Clique || n.Clique == other.Nodes[i].Clique {
			t.Errorf("%s is in clique %s, the first tray in %s, another rack in %s", n.Name, n.Clique, rack.Nodes[0].Clique, other.Nodes[i].Clique)
		}
		for _, g := range n.Hardware.GPUs {
			if got := fmt.Sprintf("%s.%d", g.Fabric.ClusterUUID, g.Fabric.CliqueID); got != n.Clique {
				t.Errorf("%s: GPU %d is in clique %s, the node in %s", n.Name, g.Minor, got, n.Clique)
			}
		}
		if n.Hardware.GPUDriver.IMEXChannels != 2048 {
			t.Errorf("%s has %d IMEX channels", n.Name, n.Hardware.GPUDriver.IMEXChannels)
		}
	}
}

func TestRackFilesSayTheCliques(t *testing.T) {
	m, err := Parse("my.yaml", []byte(`
name: halves
kind: rack
members:
- {machine: gb200-nvl72-tray, count: 9, clique: 1}
- {machine: gb200-nvl72-tray, count: 9, clique: 2}
`))
	if err != nil {
		t.Fatal(err)
	}
	nodes := m.Instantiate(Identity{Name: "r"}).Nodes
	first, last := nodes[0].Hardware.GPUs[0].Fabric, nodes[17].Hardware.GPUs[0].Fabric
	if first.CliqueID != 1 || last.CliqueID != 2 || first.ClusterUUID != last.ClusterUUID || nodes[17].Name != "r-17" {
		t.Errorf("first %+v, last %+v, named %s", first, last, nodes[17].Name)
	}
}

func TestNamesOfARackSortByPlace(t *testing.T) {
	for count, want := range map[int][2]string{1: {"r-00", "r-00"}, 100: {"r-00", "r-99"}, 101: {"r-000", "r-100"}, 1001: {"r-0000", "r-1000"}} {
		m, err := Parse("my.yaml", fmt.Appendf(nil, "name: wide\nkind: rack\nmembers:\n- {machine: gb200-nvl72-tray, count: %d}\n", count))
		if err != nil {
			t.Fatal(err)
		}
		nodes := m.Instantiate(Identity{Name: "r"}).Nodes
		if got := [2]string{nodes[0].Name, nodes[count-1].Name}; got != want {
			t.Errorf("of %d nodes the first and last are %q, want %q", count, got, want)
		}
		if !slices.IsSortedFunc(nodes, func(a, b Node) int { return strings.Compare(a.Name, b.Name) }) {
			t.Errorf("names of %d nodes do not sort by place", count)
		}
	}
}

func TestPoolsNameTheirDevicesAndNodes(t *testing.T) {
	pool := load(t, "fabric-pool").Instantiate(Identity{Name: "fabric-3"}).Pool
	if pool.Name != "fabric-3" || pool.NodeLabels["fabric.dray.dev/id"] != "fabric-3" || len(pool.Devices) != 14 {
		t.Errorf("the pool is %+v", pool)
	}
	want := hardware.FabricDevice{Name: "a100-pcie-80gb-7", Model: "NVIDIA A100 80GB PCIe", Type: "gpu", MemoryBytes: 80 << 30}
	if pool.Devices[7] != want {
		t.Errorf("device 7 is %+v, want %+v", pool.Devices[7], want)
	}
	if last := pool.Devices[13]; last.Type != "fpga" || last.Name != "alveo-v80-1" {
		t.Errorf("the last device is %+v", last)
	}
}

// A fleet of 5,000 nodes is instantiated a node at a time. Each costs its lists,
// and a string for each UUID and hardware address.
func TestInstantiationAllocatesNoMoreThanItsIdentity(t *testing.T) {
	m := load(t, "dgx-h100")
	id := Identity{Name: "node-1234", Seed: 1}
	n := m.Instantiate(id).Nodes[0].Hardware
	const lists = 6 // the instance, its nodes, the node, GPUs, MIG states, NICs
	want := float64(lists + len(n.GPUs) + len(n.NICs))
	if got := testing.AllocsPerRun(100, func() { m.Instantiate(id) }); got > want {
		t.Errorf("%v allocations for a DGX H100, want at most %v", got, want)
	}
}

func BenchmarkInstantiate(b *testing.B) {
	for _, name := range []string{"dgx-h100", "gb200-nvl72"} {
		b.Run("machine="+name, func(b *testing.B) {
			m := load(b, name)
			id := Identity{Name: "node-1234", Seed: 1}
			b.ReportAllocs()
			for b.Loop() {
				if len(m.Instantiate(id).Nodes) != m.NodeCount() {
					b.Fatal("nodes are missing")
				}
			}
		})
	}
}
