package machine

import (
	"testing"

	"github.com/dray-dev/dray/kubeletplugin/hardware"
)

// Whatever the virtual functions that a machine can have: those that are there are
// where the plan says, and no two places are one, nor another function's.
func TestVirtualFunctionsHavePlacesOfTheirOwn(t *testing.T) {
	for _, name := range Names() {
		m, err := Load(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, node := range m.Instantiate(Identity{Name: "n"}).Nodes {
			checkPlans(t, name, &node)
		}
	}
}

func checkPlans(t *testing.T, name string, node *Node) {
	t.Helper()
	taken := map[hardware.PCIAddress]string{}
	take := func(address hardware.PCIAddress, by string) {
		if other, ok := taken[address]; ok {
			t.Errorf("%s: %s is %s's and %s's", name, address, other, by)
		}
		taken[address] = by
	}
	var physical []hardware.PCIFunction
	each := func(f hardware.PCIFunction) {
		if !f.IsVF() {
			take(f.Address, "itself")
		}
		if f.SRIOV != nil && !f.IsVF() {
			physical = append(physical, f)
		}
	}
	for _, gpu := range node.Hardware.GPUs {
		each(gpu.PCIFunction)
	}
	for _, nic := range node.Hardware.NICs {
		each(nic.PCIFunction)
	}
	for _, card := range node.Hardware.FPGAs {
		each(card.PCIFunction)
		if card.Management != nil {
			take(*card.Management, "management")
		}
	}
	if len(node.VFs) != len(physical) {
		t.Errorf("%s: %d plans for %d physical functions", name, len(node.VFs), len(physical))
	}
	for _, f := range physical {
		plan := node.VFs[f.Address]
		if plan.Room < f.SRIOV.TotalVFs && len(f.Bridges) > 0 { // a virtual machine's bus has other functions behind
			t.Errorf("%s: %s has room for %d of %d", name, f.Address, plan.Room, f.SRIOV.TotalVFs)
		}
		for n := range plan.Room {
			address, ok := plan.Address(n)
			if !ok || n < len(f.SRIOV.VFs) && f.SRIOV.VFs[n] != address {
				t.Errorf("%s: virtual function %d of %s is at %s, %v; the node has %v", name, n, f.Address, address, ok, f.SRIOV.VFs)
			}
			take(address, f.Address.String())
		}
		if address, ok := plan.Address(plan.Room); ok {
			t.Errorf("%s: beyond its room there is %s", name, address)
		}
	}
}
