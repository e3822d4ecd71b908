package nvidia

import (
	"encoding/json"
	"fmt"

	"github.com/dray-dev/dray/kubeletplugin/checkpoint"
	"github.com/dray-dev/dray/kubeletplugin/hardware"
	"github.com/dray-dev/dray/kubeletplugin/publish"
)

// ForeignInstance is a GPU instance that this driver did not make.
type ForeignInstance struct {
	// GPU is the UUID of the GPU.
	GPU      string
	Instance hardware.GPUInstanceState
}

// Foreign returns the GPU instances of a node that no claim of the checkpoint
// accounts for, in the order of the node: an administrator's. Whoever publishes
// partitions dynamically reports them, and withdraws what they are in the way of.
func Foreign(node *hardware.Node, claims []*checkpoint.Claim) ([]ForeignInstance, error) {
	var ours []migPlan
	for _, claim := range claims {
		for i := range claim.Devices {
			d := &claim.Devices[i]
			if d.Kind != (&migKind{}).Name() {
				continue
			}
			var plan migPlan
			if err := json.Unmarshal(d.Plan, &plan); err != nil {
				return nil, fmt.Errorf("claim %s: device %s: %w", claim.UID, d.Device, err)
			}
			if !plan.Existing {
				ours = append(ours, plan)
			}
		}
	}
	var foreign []ForeignInstance
	for i := range node.GPUs {
		gpu := &node.GPUs[i]
		if gpu.MIG == nil {
			continue
		}
		for _, instance := range gpu.MIG.Instances {
			if !accountsFor(ours, gpu.UUID, &instance) {
				foreign = append(foreign, ForeignInstance{gpu.UUID, instance})
			}
		}
	}
	return foreign, nil
}

// ForeignDevices are the names of the devices that Foreign's instances are.
func ForeignDevices(node *hardware.Node, claims []*checkpoint.Claim) ([]string, error) {
	foreign, err := Foreign(node, claims)
	if err != nil {
		return nil, err
	}
	var names []string
	for i := range foreign {
		for j := range node.GPUs {
			if node.GPUs[j].UUID == foreign[i].GPU {
				names = append(names, publish.NVIDIAPartitionName(&node.GPUs[j], &foreign[i].Instance))
			}
		}
	}
	return names, nil
}

func accountsFor(plans []migPlan, gpu string, instance *hardware.GPUInstanceState) bool {
	for i := range plans {
		if plans[i].UUID == gpu && plans[i].is(instance) {
			return true
		}
	}
	return false
}
