package publish_test

import (
	"testing"

	resourceapi "k8s.io/api/resource/v1"

	"github.com/dray-dev/dray/kubeletplugin/hardware"
	"github.com/dray-dev/dray/kubeletplugin/publish"
)

// TestAGPUOfWhichNotAllIsKnownSaysWhatIs: what the library did not tell is left out,
// instead of being empty or zero, which a selector could take for the truth.
func TestAGPUOfWhichNotAllIsKnownSaysWhatIs(t *testing.T) {
	gpu := hardware.GPU{UUID: "GPU-1", Unread: []string{"product name"}}
	gpu.Root, gpu.NUMANode = "pci0000:15", hardware.NoNUMANode
	node := &hardware.Node{GPUDriver: &hardware.GPUDriver{Version: "580.126.20", CUDAVersion: 13000}, GPUs: []hardware.GPU{gpu}}
	publisher, err := publish.New(publish.Options{Features: publish.DefaultFeatures(), MIG: publish.MIGDynamic})
	if err != nil {
		t.Fatal(err)
	}
	pools, err := publisher.Node("node", node, publish.State{})
	if err != nil {
		t.Fatal(err)
	}
	mustBeValid(t, pools, 37)
	var device *resourceapi.Device
	for i := range pools {
		for j := range pools[i].Slices {
			for k := range pools[i].Slices[j].Spec.Devices {
				device = &pools[i].Slices[j].Spec.Devices[k]
			}
		}
	}
	if device == nil || device.Name != "gpu-0" {
		t.Fatalf("device %+v in %+v", device, pools)
	}
	for _, unread := range []resourceapi.QualifiedName{"productName", "brand", "architecture", "cudaComputeCapability", "addressingMode"} {
		if attribute, ok := device.Attributes[unread]; ok {
			t.Errorf("%s is %+v", unread, attribute)
		}
	}
	if value := device.Attributes["uuid"].StringValue; value == nil || *value != "GPU-1" {
		t.Errorf("uuid is %v", value)
	}
	if len(device.Capacity) > 0 {
		t.Errorf("capacity %+v", device.Capacity)
	}
}
