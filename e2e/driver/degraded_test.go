package driver_test

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	resourceapi "k8s.io/api/resource/v1"

	"github.com/dray-dev/dray/hwsim/fault"
	"github.com/dray-dev/dray/hwsim/scenario"
	"github.com/dray-dev/dray/hwsim/state"
)

// exactly are the devices of a pool.
func exactly(names ...string) func(map[string]resourceapi.Device) error {
	return func(devices map[string]resourceapi.Device) error {
		if got := slices.Sorted(maps.Keys(devices)); !slices.Equal(got, names) {
			return fmt.Errorf("there are %v", got)
		}
		return nil
	}
}

// TestAnAPIServerWithoutTheGates gets what it keeps: without shared counters whole
// GPUs, of which partitions could not be told apart, and without taints only devices
// that may be given out.
func TestAnAPIServerWithoutTheGates(t *testing.T) {
	const gates = "DRAPartitionableDevices=false,DRADeviceTaints=false,DRADeviceTaintRules=false,DRAConsumableCapacity=false"
	n := newNodeIn(t, startCluster(t, gates), "two-gpus")
	n.start(nil)
	n.published("whole GPUs", exactly("gpu-0", "gpu-1"))
	n.inject(fault.Fault{XID: &fault.XID{GPU: "1", Code: 119}})
	n.published("the healthy GPU", exactly("gpu-0"))
	if err := n.folder.Update(func(tx *state.Tx) error { return tx.Step(&scenario.Step{Reset: &scenario.Reset{GPU: "1"}}) }); err != nil {
		t.Fatal(err)
	}
	n.published("both again", exactly("gpu-0", "gpu-1"))
	for _, slice := range n.slices() {
		if len(slice.Spec.SharedCounters) > 0 || len(slice.Spec.Devices[0].ConsumesCounters) > 0 {
			t.Error("counters were kept: the API server is not what the test thinks")
		}
	}
	claim := n.claim("a", "gpu-1")
	if _, err := n.kubelet().prepare(t.Context(), claim); err != nil {
		t.Error(err)
	}
}
