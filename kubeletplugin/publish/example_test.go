package publish_test

import (
	"fmt"

	"github.com/dray-dev/dray/kubeletplugin/hardware"
	"github.com/dray-dev/dray/kubeletplugin/publish"
)

// One Publisher makes the slices of a node, of another node, and of a fleet.
func Example() {
	node := &hardware.Node{
		NUMANodes: []hardware.NUMANode{{ID: 0}},
		GPUDriver: &hardware.GPUDriver{Version: "580.126.20", CUDAVersion: 13000},
		GPUs: []hardware.GPU{{
			PCIFunction: hardware.PCIFunction{Address: hardware.PCIAddress{Bus: 0x65}, Root: "pci0000:64"},
			UUID:        "GPU-2fa81118-5a5f-aa66-7660-471eed407181", ProductName: "NVIDIA L4", Brand: "Nvidia",
			Architecture: "Ada Lovelace", ComputeCapability: "8.9", MemoryBytes: 23034 << 20,
		}},
	}
	publisher, err := publish.New(publish.Options{Features: publish.DefaultFeatures(), MIG: publish.MIGDynamic})
	if err != nil {
		fmt.Println(err)
		return
	}
	pools, err := publisher.Node("node-1", node, publish.State{})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, pool := range pools {
		for _, slice := range pool.Slices {
			for _, device := range slice.Spec.Devices {
				fmt.Println(pool.Driver, slice.Name, device.Name, *device.Attributes["productName"].StringValue)
			}
		}
	}
	// Output: gpu.dray.dev node-1-gpu.dray.dev-000 gpu-0 NVIDIA L4
}
