package surface_test

import (
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/dray-dev/dray/hwsim/surface"
	"github.com/dray-dev/dray/kubeletplugin/hardware"
)

func TestFixedNodesAreDiscoveredFromTheirSurfaces(t *testing.T) {
	nodes := fixedNodes()
	for _, name := range slices.Sorted(maps.Keys(nodes)) {
		t.Run(name, func(t *testing.T) { roundTrip(t, filepath.Join(t.TempDir(), "node"), nodes[name]) })
	}
}

// entries of a directory, sorted.
func entries(t *testing.T, dir string) []string {
	t.Helper()
	list, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, entry := range list {
		names = append(names, entry.Name())
	}
	return names
}

func TestANodeThatFilesCannotExpressIsAnErrorAndNothingIsWritten(t *testing.T) {
	for _, c := range []struct {
		name, node string
		change     func(n *hardware.Node)
		want       string
	}{
		{"not valid", "sriov", func(n *hardware.Node) { n.NICs[1].NUMANode = 3 }, "nic 0000:3b:00.2: NUMANode: there is no NUMA node 3"},
		{"a MAC without an interface", "sriov", func(n *hardware.Node) { n.NICs[1].MAC = "x" }, `nic 0000:3b:00.2: MAC: "x" cannot be expressed`},
		{"an MTU without an interface", "sriov", func(n *hardware.Node) { n.NICs[1].MTU = 1500 }, "nic 0000:3b:00.2: MTU: 1500 cannot be expressed by a machine's files: it reads back as 0"},
		{"two names for one ID", "mig", func(n *hardware.Node) { n.GPUs[1].IDs.DeviceName = "another" }, `gpu 0000:17:00.0: IDs.DeviceName: "another" cannot`},
		{"a name of two lines", "fpga", func(n *hardware.Node) { n.FPGAs[0].Model = "a\nb\n" }, "fpga 0000:3b:00.1: Model: "},
		{"memory of half a GiB", "fpga", func(n *hardware.Node) { n.FPGAs[0].MemoryBytes = 1 << 29 }, "fpga 0000:3b:00.1: MemoryBytes: "},
		{"a card of Intel's with another memory", "fpga", func(n *hardware.Node) { n.FPGAs[1].MemoryBytes = 1 << 30 }, "fpga 0000:4f:00.0: MemoryBytes: "},
		{"a serial number that DFL does not tell", "fpga", func(n *hardware.Node) { n.FPGAs[1].Serial = "1" }, "fpga 0000:4f:00.0: Serial: "},
		{"a port with another name", "fpga", func(n *hardware.Node) { n.FPGAs[1].Regions[0].Port = "port" }, "fpga 0000:4f:00.0: Regions[0].Port: "},
		{"a mode that AMD has not", "mi300x-cpx", func(n *hardware.Node) { n.AMDGPUs[0].Modes[0].Memory = "NPS4" }, "amd gpu 0000:05:00.0: Modes"},
		{"GPU instance 15", "mig", func(n *hardware.Node) { n.GPUs[0].MIG.Instances[0].ID = 15 }, "gpu 0000:16:00.0: MIG.Instances: "},
		{"compute instance 8", "mig", func(n *hardware.Node) { n.GPUs[0].MIG.Instances[0].ComputeInstances[0].ID = 8 }, "gpu 0000:16:00.0: MIG.Instances: "},
		{"a compute instance of no profile", "mig", func(n *hardware.Node) { n.GPUs[0].MIG.Instances[0].ComputeInstances[0].ProfileID = 9 }, "gpu 0000:16:00.0: MIG.Instances[0].ComputeInstances: a list of 1"},
		{"a version with a slash", "mig", func(n *hardware.Node) { n.GPUDriver.Version = "../580" }, "gpu driver: Version: "},
	} {
		t.Run(c.name, func(t *testing.T) {
			parent, node := t.TempDir(), fixedNodes()[c.node]
			c.change(node)
			err := surface.Write(filepath.Join(parent, "node"), node)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("the error lacks\n%s\n: %v", c.want, err)
			}
			if left := entries(t, parent); left != nil {
				t.Errorf("left behind: %q", left)
			}
		})
	}
}

func TestASurfaceReplacesASurface(t *testing.T) {
	parent := t.TempDir()
	dir := filepath.Join(parent, "node")
	if err := surface.Write(dir, migNode()); err != nil {
		t.Fatal(err)
	}
	broken := sriovNode()
	broken.NICs[1].MTU = 1500
	if err := surface.Write(dir, broken); err == nil {
		t.Fatal("the broken node was written")
	}
	roundTrip(t, dir, migNode()) // it was there still, and is replaced by its like
	roundTrip(t, dir, sriovNode())
	if left := entries(t, parent); len(left) != 1 {
		t.Errorf("beside the surface: %q", left)
	}
	if entries := entries(t, filepath.Join(dir, "proc")); !slices.Equal(entries, []string{"devices"}) {
		t.Errorf("proc holds %q of the surface that was replaced", entries)
	}
}

func TestWhatIsNoSurfaceIsNotOverwritten(t *testing.T) {
	parent := t.TempDir()
	precious := filepath.Join(parent, "home")
	if err := os.Mkdir(precious, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := surface.Write(precious, migNode()); err != nil {
		t.Errorf("an empty directory is in the way: %v", err)
	}
	if err := os.WriteFile(filepath.Join(precious, ".hwsim-surface"), []byte("0\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := surface.Write(precious, migNode()); err == nil || !strings.Contains(err.Error(), "layout") {
		t.Errorf("a surface of another version: %v", err)
	}
	if err := os.Remove(filepath.Join(precious, ".hwsim-surface")); err != nil {
		t.Fatal(err)
	}
	before := entries(t, precious)
	if err := surface.Write(precious, migNode()); err == nil || !strings.Contains(err.Error(), "will not be overwritten") {
		t.Errorf("a directory of something else: %v", err)
	}
	if after := entries(t, precious); !slices.Equal(before, after) {
		t.Errorf("it held %q and holds %q", before, after)
	}
	file := filepath.Join(parent, "file")
	if err := os.WriteFile(file, []byte("x"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := surface.Write(file, migNode()); err == nil {
		t.Error("a file was overwritten")
	}
	if err := surface.Write(filepath.Join(parent, "no", "parent"), migNode()); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("without a parent: %v", err)
	}
	if left := entries(t, parent); !slices.Equal(left, []string{"file", "home"}) {
		t.Errorf("left behind: %q", left)
	}
}

func TestOnlyASurfaceIsOpened(t *testing.T) {
	for _, dir := range []string{t.TempDir(), filepath.Join(t.TempDir(), "nothing")} {
		if _, err := surface.Open(dir); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: %v", dir, err)
		}
	}
}

func TestNothingOutsideOfASurfaceIsReached(t *testing.T) {
	parent := t.TempDir()
	dir := filepath.Join(parent, "node")
	if err := surface.Write(dir, migNode()); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(parent, "secret"), []byte("c 1:1"), 0o644); err != nil {
		t.Fatal(err)
	}
	for name, target := range map[string]string{"climb": "../secret", "absolute": filepath.Join(parent, "secret"), "folder": ".."} {
		if err := os.Symlink(target, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	host, err := surface.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"climb", "absolute", "folder/secret", "../secret"} {
		if content, err := fs.ReadFile(host, name); err == nil {
			t.Errorf("%s reads as %q", name, content)
		}
		if node, err := host.DeviceNode(name); err == nil {
			t.Errorf("%s is %s", name, node)
		}
		if err := host.WriteFile(name, []byte("x")); err == nil {
			t.Errorf("%s was written", name)
		}
	}
	if content, err := os.ReadFile(filepath.Join(parent, "secret")); err != nil || string(content) != "c 1:1" {
		t.Errorf("the file outside holds %q, %v", content, err)
	}
}

func TestDeviceNodesAreTextOfOneForm(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "node")
	if err := surface.Write(dir, migNode()); err != nil {
		t.Fatal(err)
	}
	host, err := surface.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	if node, err := host.DeviceNode("dev/nvidia1"); err != nil || node != (hardware.DeviceNode{Type: "c", Major: 195, Minor: 1}) {
		t.Errorf("dev/nvidia1 is %s, %v", node, err)
	}
	for _, text := range []string{"", "c", "c 1", "c 1:", "p 1:2", "c 1:2 ", "c 01:2", "c -1:2", "c 1:2\n\n", "c 4294967296:0"} {
		if err := os.WriteFile(filepath.Join(dir, "dev/nvidia1"), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		if node, err := host.DeviceNode("dev/nvidia1"); err == nil {
			t.Errorf("%q reads as %s", text, node)
		}
	}
}

func TestWhatALinkLeadsToIsReplacedNotTheLink(t *testing.T) {
	parent, nodes := t.TempDir(), fixedNodes()
	dir, link := filepath.Join(parent, "node"), filepath.Join(parent, "link")
	if err := surface.Write(dir, nodes["mig"]); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("node", link); err != nil {
		t.Fatal(err)
	}
	roundTrip(t, link, nodes["sriov"])
	if target, err := os.Readlink(link); err != nil || target != "node" {
		t.Errorf("the link leads to %q, %v", target, err)
	}
	if left := entries(t, parent); !slices.Equal(left, []string{"link", "node"}) {
		t.Errorf("there are %q", left)
	}
}
