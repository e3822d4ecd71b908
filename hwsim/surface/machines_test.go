package surface_test

import (
	"testing"

	"github.com/dray-dev/dray/hwsim/machine"
	"github.com/dray-dev/dray/hwsim/surface"
)

func TestEveryMachineIsDiscoveredFromItsSurface(t *testing.T) {
	for _, name := range machine.Names() {
		t.Run(name, func(t *testing.T) {
			m, err := machine.Load(name)
			if err != nil {
				t.Fatal(err)
			}
			for _, node := range m.Instantiate(machine.Identity{Name: "host-1", Seed: 5}).Nodes {
				host, err := surface.Memory(node.Hardware)
				if err != nil {
					t.Fatal(err)
				}
				checkDiscovery(t, host, node.Hardware)
			}
		})
	}
}
