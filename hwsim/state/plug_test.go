package state_test

import (
	"errors"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"

	"github.com/dray-dev/dray/hwsim/machine"
	"github.com/dray-dev/dray/hwsim/state"
	"github.com/dray-dev/dray/kubeletplugin/hardware"
)

// connected is a pool of devices, all of which are attached to a node.
func connected(t *testing.T, devices, node string) (pool, on *state.Folder, clock *fakeClock) {
	t.Helper()
	clock = newClock()
	m, err := machine.Parse("pool.yaml", []byte("name: pool\nkind: pool\ndescription: a pool\nnodeLabels: {fabric: \"{pool}\"}\ndevices:\n"+devices))
	must(t, err)
	pool, err = state.Create(filepath.Join(t.TempDir(), "pool"), m, machine.Identity{Name: "pool-1"}, state.WithClock(clock))
	must(t, err)
	n, err := machine.Load(node)
	if err != nil {
		n, err = machine.ReadFile(filepath.Join("testdata", node+".yaml"))
	}
	must(t, err)
	on, err = state.Create(filepath.Join(t.TempDir(), "hw"), n, machine.Identity{Name: "node-1"}, state.WithClock(clock))
	must(t, err)
	for _, device := range view(t, pool).Pool.Devices {
		must(t, pool.Update(func(tx *state.Tx) error { return tx.Attach(device.Name, "node-1") }))
	}
	clock.pass(state.AttachLatency)
	return pool, on, clock
}

func TestADeviceThatCannotBePluggedKeepsNoOtherBack(t *testing.T) {
	pool, node, clock := connected(t, "- {model: l40s, count: 2}\n- {model: alveo-v80, count: 1}\n- {model: mi300x, count: 1}\n- {model: connectx-7-eth, count: 1}\n", "sriov-nic")
	for range 2 {
		err := state.Connect(pool, node)
		var first *state.PlugError
		if !errors.As(err, &first) || first.Device != "l40s-0" || first.Pool != "pool-1" || first.Node != "node-1" {
			t.Fatalf("it says %v", err)
		}
		if !errors.Is(err, hardware.ErrGPUDriverNotLoaded) {
			t.Errorf("it does not say why: %v", err)
		}
		for _, device := range []string{"l40s-0", "l40s-1", "mi300x-0"} {
			if !strings.Contains(err.Error(), "device "+device+" of pool pool-1 on node node-1: ") {
				t.Errorf("%s is missing in: %v", device, err)
			}
		}
		v := view(t, node)
		if len(v.Node.FPGAs) != 1 || len(v.Node.GPUs) != 0 {
			t.Errorf("%d FPGAs and %d GPUs are there", len(v.Node.FPGAs), len(v.Node.GPUs))
		}
		discovered(t, node)
	}
	for _, device := range view(t, pool).Pool.Devices {
		must(t, pool.Update(func(tx *state.Tx) error { return tx.Detach(device.Name) }))
	}
	clock.pass(state.DetachLatency)
	must(t, state.Connect(pool, node))
	if n := len(view(t, node).Node.FPGAs); n != 0 {
		t.Errorf("%d FPGAs are left", n)
	}
}

// A card from a pool is programmed as one of the node's own, which it leaves alone.
func TestAnFPGAOfAPoolIsProgrammed(t *testing.T) {
	const iface, function = "69528db6eb31577a8c3668f9faa081f6", "f7df405cbd7acf7222f144b0b93acd18"
	for _, name := range []string{"small", "sriov-nic"} { // with a card of its own, and without
		t.Run(name, func(t *testing.T) {
			pool, node, _ := connected(t, "- {model: intel-pac-arria10, count: 2}\n", name)
			must(t, state.Connect(pool, node))
			before := view(t, node).Node.FPGAs
			file, err := state.NewBitstream(iface, function)
			must(t, err)
			last := len(before) - 1
			must(t, node.Host().WriteFile("dev/dfl-fme."+string(rune('0'+last)), state.RegionWrite(0, file)))
			for i, card := range view(t, node).Node.FPGAs {
				want := before[i].Regions[0].Function
				if i == last {
					want = function
				}
				if got := card.Regions[0].Function; got != want {
					t.Errorf("card %s has function %s, not %s", card.Address, got, want)
				}
			}
			port := view(t, node).Node.FPGAs[last].Regions[0].Port
			matches, err := fs.Glob(node.Host(), "sys/class/fpga_region/*/"+port+"/afu_id")
			must(t, err)
			if len(matches) != 1 {
				t.Fatalf("%s is at %v", port, matches)
			}
			if text, err := fs.ReadFile(node.Host(), matches[0]); err != nil || strings.TrimSpace(string(text)) != function {
				t.Errorf("%s has %q, error %v", port, text, err)
			}
			discovered(t, node)
			must(t, node.Update((*state.Tx).Reboot))
			if got := view(t, node).Node.FPGAs[last].Regions[0].Function; got != before[last].Regions[0].Function {
				t.Errorf("after a boot it has %s", got)
			}
			discovered(t, node)
		})
	}
}
