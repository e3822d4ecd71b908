package main

import (
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/dray-dev/dray/hwsim/gpulib"
	"github.com/dray-dev/dray/hwsim/machine"
	"github.com/dray-dev/dray/hwsim/surface"
	"github.com/dray-dev/dray/kubeletplugin/hardware"
)

// What a driver discovers on a machine's surface is what the machine's file says.
// Package surface tests it of all machines, in memory; files take longer.
func TestSurfacesAreDiscoveredAsTheMachine(t *testing.T) {
	for _, name := range []string{"mixed", "sriov-nic", "fpga"} {
		t.Run(name, func(t *testing.T) {
			m, err := machine.Load(name)
			if err != nil {
				t.Fatal(err)
			}
			dir := filepath.Join(t.TempDir(), "root")
			output(t, "surfaces", name, "--dir", dir, "--name", "host-1", "--seed", "5")
			host, err := surface.Open(dir)
			if err != nil {
				t.Fatal(err)
			}
			node := m.Instantiate(machine.Identity{Name: "host-1", Seed: 5}).Nodes[0].Hardware
			found, err := hardware.Discover(host, gpulib.New(node))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(node, found, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("what is discovered differs (-machine +discovered):\n%s", diff)
			}
		})
	}
}
