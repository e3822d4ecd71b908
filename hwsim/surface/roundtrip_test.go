package surface_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/dray-dev/dray/hwsim/gpulib"
	"github.com/dray-dev/dray/hwsim/surface"
	"github.com/dray-dev/dray/kubeletplugin/hardware"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"
)

// reporter is what a test and a rapid property have in common.
type reporter interface {
	Helper()
	Fatalf(format string, args ...any)
}

// roundTrip writes the node, and fails unless discovery finds it again and the
// other readers agree with it.
func roundTrip(t reporter, dir string, node *hardware.Node) {
	t.Helper()
	before := node.Clone()
	if err := surface.Write(dir, node); err != nil {
		t.Fatalf("write: %v", err)
	}
	host, err := surface.Open(dir)
	if err != nil {
		t.Fatalf("open: %v", err)
	}
	checkDiscovery(t, host, node)
	if diff := cmp.Diff(before, node); diff != "" {
		t.Fatalf("the node was modified:\n%s", diff)
	}
	checkLinks(t, dir)
	for _, check := range otherReaders {
		check(t, dir, node)
	}
}

// otherReaders compare what other libraries read of a surface with the node. They
// are for Linux only, as these libraries are.
var otherReaders []func(t reporter, dir string, node *hardware.Node)

// checkDiscovery fails unless discovery finds the node on the host.
func checkDiscovery(t reporter, host hardware.Host, node *hardware.Node) {
	t.Helper()
	got, err := hardware.Discover(host, gpulib.New(node))
	if err != nil {
		t.Fatalf("discover: %v", err)
	}
	if diff := cmp.Diff(node, got, cmpopts.EquateEmpty()); diff != "" {
		t.Fatalf("discovery of the surface differs from the node (-node +discovered):\n%s", diff)
	}
}

func TestAnyNodeIsDiscoveredFromItsSurface(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		node := randomNode(t)
		if err := node.Validate(); err != nil {
			t.Fatalf("the random node: %v", err)
		}
		host, err := surface.Memory(node)
		if err != nil {
			t.Fatalf("build: %v", err)
		}
		checkDiscovery(t, host, node)
	})
}

// TestSurfacesOnDiskAreReadByAll takes few nodes, because each is hundreds of
// files; the number in a subtest's name is the seed of its node.
func TestSurfacesOnDiskAreReadByAll(t *testing.T) {
	nodes := rapid.Custom(randomNode)
	for seed := range 10 {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			roundTrip(t, filepath.Join(t.TempDir(), "node"), nodes.Example(seed))
		})
	}
}

// checkLinks fails on a link that is absolute, leads out of the folder, or leads
// to nothing.
func checkLinks(t reporter, dir string) {
	t.Helper()
	real, err := filepath.EvalSymlinks(dir)
	if err != nil {
		t.Fatalf("%v", err)
	}
	err = filepath.WalkDir(real, func(name string, entry os.DirEntry, err error) error {
		if err != nil || entry.Type()&os.ModeSymlink == 0 {
			return err
		}
		target, err := os.Readlink(name)
		if err != nil {
			return err
		}
		end, err := filepath.EvalSymlinks(name)
		if err != nil {
			return err
		}
		if filepath.IsAbs(target) || !strings.HasPrefix(end, real+"/") {
			t.Fatalf("link %s leads to %s, out of the folder or by an absolute name", name, target)
		}
		return nil
	})
	if err != nil {
		t.Fatalf("%v", err)
	}
}
