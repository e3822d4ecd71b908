package localcluster

import (
	"fmt"
	"testing"

	"github.com/dray-dev/dray/hwsim/cmd/dray-kubeletplugin-sim/simulated"
	"github.com/dray-dev/dray/kubeletplugin/command"
)

// TestTheDriverTakesItsArguments, whatever a cluster is made like: they are parsed by the
// driver's own flags.
func TestTheDriverTakesItsArguments(t *testing.T) {
	for _, mig := range []string{"", "off", "static", "dynamic"} {
		for _, nodes := range []int{1, 100} {
			for _, evict := range []bool{false, true} {
				c := newCluster(t, Options{})
				c.state.Driver.MIG, c.state.Driver.Evict = mig, evict
				for i := range nodes {
					c.nodes = append(c.nodes, fmt.Sprintf("node-%d", i))
				}
				if err := command.CheckArguments(&simulated.Machine{}, nodes, c.driverArguments("1"), nil); err != nil {
					t.Errorf("%d nodes, mig %q, evict %v: %v", nodes, mig, evict, err)
				}
			}
		}
	}
	if err := command.CheckArguments(&simulated.Machine{}, 1, []string{"--vgpu"}, nil); err == nil {
		t.Error("any flag is taken")
	}
}
