package machine

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/dray-dev/dray/kubeletplugin/hardware"
)

// node instantiates an embedded machine of kind node.
func node(t testing.TB, name string) *hardware.Node {
	t.Helper()
	return load(t, name).Instantiate(Identity{Name: "host-1"}).Nodes[0].Hardware
}

func TestEveryEmbeddedMachineIsValid(t *testing.T) {
	for _, name := range Names() {
		m := load(t, name)
		if m.Name() != name {
			t.Errorf("the file %s.yaml describes %s", name, m.Name())
		}
		checkInstance(t, m)
	}
}

func TestUnknownMachinesAreNotFound(t *testing.T) {
	for name, want := range map[string]string{
		"dgx-h10": `machine "dgx-h10": no such machine; do you mean "dgx-h100"?`,
		"":        `machine "": no such machine; there are ` + strings.Join(Names(), ", "), "../models/gpu": "",
	} {
		_, err := Load(name)
		if !errors.Is(err, ErrNotFound) || want != "" && err.Error() != want {
			t.Errorf("%q: %v", name, err)
		}
	}
}

func TestUserFilesAreReadLikeEmbeddedOnes(t *testing.T) {
	text, err := machineFiles.ReadFile("machines/mixed.yaml")
	if err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(t.TempDir(), "my.yaml")
	if err := os.WriteFile(name, text, 0o600); err != nil {
		t.Fatal(err)
	}
	m, err := ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	equalInstances(t, load(t, "mixed"), m)
	if _, err := ReadFile(name + "x"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a file that is not there: %v", err)
	}
}

// The library that reads machine files is not the one that Kubernetes uses. What
// hwsim ships and prints means the same to both.
func TestFilesMeanTheSameToAnotherYAMLLibrary(t *testing.T) {
	for _, name := range Names() {
		m := load(t, name)
		shipped, err := machineFiles.ReadFile("machines/" + name + ".yaml")
		if err != nil {
			t.Fatal(err)
		}
		printed, err := m.Resolved().YAML()
		if err != nil {
			t.Fatal(err)
		}
		for _, text := range [][]byte{shipped, printed} {
			json, err := yaml.YAMLToJSONStrict(text)
			if err != nil {
				t.Errorf("%s: %v", name, err)
				continue
			}
			again, err := Parse(name+".json", json)
			if err != nil {
				t.Error(err)
				continue
			}
			equalInstances(t, m, again)
		}
	}
}

// Drivers publish the subsystem of a network function, which no card leaves at 0.
func TestEveryNICModelHasASubsystem(t *testing.T) {
	models, err := embeddedModels()
	if err != nil {
		t.Fatal(err)
	}
	for name, m := range models.nics {
		if m.Subsystem == nil || m.Subsystem.Vendor == 0 || m.Subsystem.Device == 0 {
			t.Errorf("model %s has the subsystem %v", name, m.Subsystem)
		}
	}
}

// Every figure has a mark: that of the entry that names it, or of the last one,
// which is for all others.
func TestEverythingEmbeddedHasEvidence(t *testing.T) {
	has := func(what string, list []Evidence) {
		rest := slices.IndexFunc(list, func(e Evidence) bool { return e.Of == "" })
		if rest < 0 || rest != len(list)-1 {
			t.Errorf("%s: evidence: the last entry, and no other, must be without \"of\"", what)
		}
	}
	for _, name := range Names() {
		has("machine "+name, load(t, name).Resolved().Evidence)
	}
	models, err := embeddedModels()
	if err != nil {
		t.Fatal(err)
	}
	for name, m := range models.gpus {
		has("model "+name, m.Evidence)
	}
	for name, m := range models.amdgpus {
		has("model "+name, m.Evidence)
	}
	for name, m := range models.nics {
		has("model "+name, m.Evidence)
	}
	for name, m := range models.fpgas {
		has("model "+name, m.Evidence)
	}
	for name, m := range models.migTables {
		has("MIG table "+name, m.Evidence)
	}
	for name, m := range models.geometries {
		has("MIG geometry "+name, m.Evidence)
	}
	for name, m := range models.vgpuTables {
		has("vGPU table "+name, m.Evidence)
	}
}

// A profile's MaxInstances fit on the GPU also by engines, which NVIDIA's driver
// counts: the most of each that any profile has is what the GPU has.
func TestEnginesAdmitTheMaximumOfInstances(t *testing.T) {
	models, err := embeddedModels()
	if err != nil {
		t.Fatal(err)
	}
	for name, table := range models.migTables {
		sizes := models.geometry(table.Geometry).Sizes
		engines := func(p MIGProfile) [6]int {
			return [6]int{p.SMs, p.Copy, p.Decoders, p.Encoders, p.JPEG, p.OFA}
		}
		var most [6]int
		for _, p := range table.Profiles {
			for i, n := range engines(p) {
				most[i] = max(most[i], n)
			}
		}
		for _, p := range table.Profiles {
			size := sizes[slices.IndexFunc(sizes, func(s MIGSize) bool { return s.Size == p.Size })]
			for i, n := range engines(p) {
				if n*size.Max > most[i] {
					t.Errorf("%s: %d × %s have %d of engine %d, the GPU %d", name, size.Max, p.Profile, n*size.Max, i, most[i])
				}
			}
		}
	}
}

// The numbers of MIG devices that a fully enumerated GPU has.
func TestGPUsHaveAsManyMIGPlacementsAsPublished(t *testing.T) {
	for name, want := range map[string]int{
		"dgx-a100-40": 25, "dgx-a100-80": 25, "dgx-h100": 25, "hgx-h200": 25, "dgx-b200": 25,
		"a30": 13, "rtx-pro-6000": 30, "gb200-nvl72-tray": 0, "t4": 0, "l40s": 0,
	} {
		got := 0
		if mig := node(t, name).GPUs[0].MIG; mig != nil {
			for _, p := range mig.Profiles {
				got += len(p.Placements)
			}
		}
		if got != want {
			t.Errorf("%s: %d placements, want %d", name, got, want)
		}
	}
}

// perRoot writes, for each root with GPUs, how many GPUs and RDMA devices with the
// driver are below it.
func perRoot(n *hardware.Node, link hardware.LinkType, driver string) []string {
	var roots, texts []string
	for _, g := range n.GPUs {
		roots = append(roots, g.Root)
	}
	for _, root := range slices.Compact(roots) {
		gpus, nics := 0, 0
		for _, g := range n.GPUs {
			if g.Root == root {
				gpus++
			}
		}
		for _, nic := range n.NICs {
			if nic.Root == root && nic.RDMA != nil && nic.Link == link && nic.Driver == driver {
				nics++
			}
		}
		texts = append(texts, fmt.Sprintf("%d+%d", gpus, nics))
	}
	return texts
}

// What an aligned claim depends on.
func TestGPUsAndNICsShareRootsAsOnTheRealMachines(t *testing.T) {
	one := slices.Repeat([]string{"1+1"}, 8)
	for _, c := range []struct {
		machine, driver string
		link            hardware.LinkType
		want            []string
	}{
		{"dgx-h100", "mlx5_core", hardware.LinkInfiniBand, one},
		{"dgx-b200", "mlx5_core", hardware.LinkInfiniBand, one},
		{"hgx-h200", "mlx5_core", hardware.LinkInfiniBand, one},
		{"dgx-a100-40", "mlx5_core", hardware.LinkInfiniBand, slices.Repeat([]string{"2+2"}, 4)},
		{"aws-p4d", "efa", hardware.LinkEthernet, slices.Repeat([]string{"2+1"}, 4)},
		{"aws-p5", "efa", hardware.LinkEthernet, slices.Repeat([]string{"1+4"}, 8)},
		{"gb200-nvl72-tray", "mlx5_core", hardware.LinkEthernet, slices.Repeat([]string{"1+0"}, 4)},
	} {
		if got := perRoot(node(t, c.machine), c.link, c.driver); !slices.Equal(got, c.want) {
			t.Errorf("%s: GPUs+NICs by root are %v, want %v", c.machine, got, c.want)
		}
	}
}

func TestModesOfMI300XCountItsRenderNodes(t *testing.T) {
	for machine, want := range map[string]int{"mi300x": 1, "mi300x-cpx": 8} {
		gpus := node(t, machine).AMDGPUs
		for i, g := range gpus {
			if g.Card != i*want || g.Render != 128+i*want {
				t.Errorf("%s: accelerator %d is card %d and render node %d", machine, i, g.Card, g.Render)
			}
		}
	}
}

func TestVirtualFunctionsFollowTheirPhysicalOne(t *testing.T) {
	nics := node(t, "sriov-nic").NICs
	vfs := 0
	for _, nic := range nics {
		if !nic.IsVF() {
			continue
		}
		vfs++
		pf := nics[slices.IndexFunc(nics, func(n hardware.NIC) bool { return n.Address == *nic.SRIOV.PhysicalFunction })]
		if pf.SRIOV.VFs[nic.SRIOV.Index] != nic.Address || nic.IDs.Device != 0x101e || nic.Root != pf.Root {
			t.Errorf("%s is not the virtual function %d of %s", nic.Address, nic.SRIOV.Index, pf.Address)
		}
		if bound := nic.Driver == vfioDriver; bound != (nic.Interface == "") || bound != (nic.RDMA == nil) {
			t.Errorf("%s: driver %s with interface %q and RDMA %v", nic.Address, nic.Driver, nic.Interface, nic.RDMA)
		}
	}
	if vfs != 20 {
		t.Errorf("there are %d virtual functions, want 20", vfs)
	}
}

func TestModelsOfAFileHideEmbeddedOnes(t *testing.T) {
	m, err := Parse("my.yaml", []byte(`
name: a
kind: node
nvidia: {version: 580.126.20, cuda: "13.0"}
roots:
- functions:
  - {model: l40s, address: 0000:01:00.0}
  - {model: l4, address: 0000:02:00.0}
models:
  gpus:
  - {name: l40s, product: Mine, ids: 10de:0001, brand: Nvidia, architecture: Hopper, computeCapability: "9.0", memoryMiB: 81559, mig: h100-sxm-80gb}
`))
	if err != nil {
		t.Fatal(err)
	}
	gpus := m.Instantiate(Identity{Name: "host-1"}).Nodes[0].Hardware.GPUs
	if gpus[0].ProductName != "Mine" || len(gpus[0].MIG.Profiles) != 7 || gpus[1].ProductName != "NVIDIA L4" {
		t.Errorf("the GPUs are %s with %+v, and %s", gpus[0].ProductName, gpus[0].MIG, gpus[1].ProductName)
	}
	if node(t, "l40s").GPUs[0].ProductName != "NVIDIA L40S" {
		t.Error("a model of one file is seen in another")
	}
}
