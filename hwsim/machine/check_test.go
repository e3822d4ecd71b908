package machine

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/dray-dev/dray/kubeletplugin/hardware"
)

// checkInstance checks what a machine that has been accepted becomes.
func checkInstance(t *testing.T, m *Machine) {
	t.Helper()
	id := Identity{Name: "host-1", Seed: 1}
	instance := m.Instantiate(id)
	if len(instance.Nodes) != m.NodeCount() || (instance.Pool != nil) != (m.Kind() == PoolKind) {
		t.Errorf("%s: %d nodes of %d, pool %v", m.Name(), len(instance.Nodes), m.NodeCount(), instance.Pool)
	}
	uuids, names := map[string]bool{}, map[string]bool{}
	for _, n := range instance.Nodes {
		checkNode(t, m.Name(), n.Hardware)
		if names[n.Name] {
			t.Errorf("%s: two nodes are named %s", m.Name(), n.Name)
		}
		names[n.Name] = true
		for _, g := range n.Hardware.GPUs {
			if uuids[g.UUID] {
				t.Errorf("%s: UUID %s is there twice", m.Name(), g.UUID)
			}
			uuids[g.UUID] = true
		}
	}
	if diff := cmp.Diff(instance, m.Instantiate(id)); diff != "" {
		t.Errorf("%s: a second instance of the same identity differs:\n%s", m.Name(), diff)
	}
}

// checkNode checks the invariants of a node that are stated on its type.
func checkNode(t *testing.T, machine string, n *hardware.Node) {
	t.Helper()
	taken := map[hardware.PCIAddress]bool{}
	check := func(lists [][]hardware.PCIFunction) {
		for _, list := range lists {
			if !slices.IsSortedFunc(list, func(a, b hardware.PCIFunction) int { return a.Address.Compare(b.Address) }) {
				t.Errorf("%s: functions are not in the order of their addresses", machine)
			}
			for _, f := range list {
				if taken[f.Address] {
					t.Errorf("%s: %s is there twice", machine, f.Address)
				}
				taken[f.Address] = true
				if f.NUMANode != hardware.NoNUMANode && !slices.ContainsFunc(n.NUMANodes, func(m hardware.NUMANode) bool { return m.ID == f.NUMANode }) {
					t.Errorf("%s: %s is on NUMA node %d, which is not there", machine, f.Address, f.NUMANode)
				}
				if f.IsVF() && !slices.ContainsFunc(list, func(pf hardware.PCIFunction) bool { return pf.Address == *f.SRIOV.PhysicalFunction }) {
					t.Errorf("%s: the physical function of %s is not there", machine, f.Address)
				}
			}
		}
	}
	check([][]hardware.PCIFunction{
		functions(n.GPUs, func(d *hardware.GPU) hardware.PCIFunction { return d.PCIFunction }),
		functions(n.AMDGPUs, func(d *hardware.AMDGPU) hardware.PCIFunction { return d.PCIFunction }),
		functions(n.NICs, func(d *hardware.NIC) hardware.PCIFunction { return d.PCIFunction }),
		functions(n.FPGAs, func(d *hardware.FPGA) hardware.PCIFunction { return d.PCIFunction }),
	})
	// The model's own check, as soon as it has one.
	if model, ok := any(n).(interface{ Validate() error }); ok {
		if err := model.Validate(); err != nil {
			t.Errorf("%s: %v", machine, err)
		}
	}
	if len(n.GPUs) > 0 && n.GPUDriver == nil {
		t.Errorf("%s: there are GPUs and no driver", machine)
	}
	minors := map[int]bool{}
	for _, g := range n.GPUs {
		if minors[g.Minor] {
			t.Errorf("%s: two GPUs have the minor %d", machine, g.Minor)
		}
		minors[g.Minor] = true
	}
}

func functions[D any](list []D, of func(*D) hardware.PCIFunction) []hardware.PCIFunction {
	var result []hardware.PCIFunction
	for i := range list {
		result = append(result, of(&list[i]))
	}
	return result
}
