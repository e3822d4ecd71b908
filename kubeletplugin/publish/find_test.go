package publish_test

import (
	"fmt"
	"testing"

	"pgregory.net/rapid"

	"github.com/dray-dev/dray/kubeletplugin/hardware"
	"github.com/dray-dev/dray/kubeletplugin/publish"
)

// Whatever the driver is asked to prepare is what it published under the name.
func TestEveryPublishedNVIDIADeviceIsFoundByItsName(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		node, options, _, pools := draw(t)
		for _, pool := range pools {
			for _, d := range devicesOf([]publish.Pool{pool}) {
				kind := ""
				if v := d.Attributes["type"].StringValue; v != nil {
					kind = *v
				}
				wantKind, ours := map[string]publish.NVIDIAKind{
					"gpu": publish.NVIDIAGPU, "mig": publish.NVIDIAPartition, "vgpu": publish.NVIDIAVGPU}[kind]
				found, ok := publish.FindNVIDIA(node, d.Name)
				if ok != ours {
					t.Fatalf("%s of type %q: found %v with MIG %v", d.Name, kind, ok, options.MIG)
				}
				gpu, as, named := publish.NVIDIAName(d.Name)
				if named != ours || ours && (as != wantKind || gpu != fmt.Sprintf("gpu-%d", found.GPU.Minor)) {
					t.Fatalf("the name %s is read as of %q, of kind %d, known %v", d.Name, gpu, as, named)
				}
				if !ours {
					continue
				}
				uuid := d.Attributes["uuid"].StringValue
				switch {
				case (found.VGPU != nil) != (kind == "vgpu"):
					t.Fatalf("%s is found as %+v", d.Name, found)
				case kind == "vgpu" && (found.VGPU.Name != *d.Attributes["profile"].StringValue || found.GPU.UUID != *d.Attributes["parentUUID"].StringValue ||
					(found.Profile != nil) != (*d.Attributes["vgpuSharing"].StringValue == "mig")):
					t.Fatalf("%s is found as %+v", d.Name, found)
				case kind == "gpu" && (found.Profile != nil || found.GPU.UUID != *uuid):
					t.Fatalf("%s is found as %+v", d.Name, found)
				case kind == "mig" && (found.Profile == nil || found.Profile.Name != *d.Attributes["profile"].StringValue ||
					found.GPU.UUID != *d.Attributes["parentUUID"].StringValue):
					t.Fatalf("%s is found as %+v", d.Name, found)
				}
				for slice := range found.Placement.Size {
					if len(d.ConsumesCounters) == 0 {
						continue
					}
					if _, ok := d.ConsumesCounters[0].Counters[fmt.Sprintf("memory-slice-%d", found.Placement.Start+slice)]; !ok {
						t.Fatalf("%s does not consume slice %d of %+v", d.Name, slice, found.Placement)
					}
				}
			}
		}
	})
}

func TestNamesOfNothingAreNotFound(t *testing.T) {
	node := readNode(t, "a100")
	for _, name := range []string{"", "gpu-", "gpu-99", "gpu-0-", "gpu-0-mig-", "gpu-0-mig-1g5gb-19-9", "gpu-0-mig-1g5gb-19-00", "GPU-0", "gpu-0-vgpu-", "gpu-0-vgpu-nvidia-a100-10c-0", "nic-0"} {
		if found, ok := publish.FindNVIDIA(node, name); ok {
			t.Errorf("%q is found as %+v", name, found)
		}
	}
	for _, name := range []string{"", "gpu-", "gpu-x", "gpu--vgpu-nvidia-a100-10c-0", "gpu-0-1-vgpu-nvidia-a100-10c-0", "gpu-0-", "gpu-0-128", "gpu--mig-1g5gb-19-0", "GPU-0", "nic-0"} {
		if gpu, _, ok := publish.NVIDIAName(name); ok {
			t.Errorf("%q is read as one of %s", name, gpu)
		}
	}
}

// What shares a GPU by time is told apart by where it lies, what a partition backs by
// where that does.
func TestVirtualGPUsAreFoundByTheirNames(t *testing.T) {
	node := readNode(t, "a100")
	gpu := &node.GPUs[0]
	profile := gpu.MIG.Profiles[0]
	gpu.VGPU = &hardware.VGPU{Types: []hardware.VGPUType{
		{ID: 471, Name: "NVIDIA A100-10C", FramebufferBytes: 10 << 30, MaxInstances: 4, MaxMixed: 2, MIGProfileID: -1},
		{ID: 474, Name: "NVIDIA A100-1-5C", FramebufferBytes: 5 << 30, MaxInstances: 7, MIGProfileID: profile.ID},
		{ID: 9, Name: "NVIDIA A100-9-9C", FramebufferBytes: 5 << 30, MaxInstances: 7, MIGProfileID: 99},
	}}
	name := func(kind string, n int) string { return fmt.Sprintf("gpu-%d-vgpu-%s-%d", gpu.Minor, kind, n) }
	last := profile.Placements[len(profile.Placements)-1]
	for _, c := range []struct {
		name  string
		mixed bool
		want  publish.NVIDIADevice
	}{
		{name("nvidia-a100-10c", 0), false, publish.NVIDIADevice{GPU: gpu, VGPU: &gpu.VGPU.Types[0]}},
		{name("nvidia-a100-10c", 3), false, publish.NVIDIADevice{GPU: gpu, VGPU: &gpu.VGPU.Types[0], Slot: 3}},
		{name("nvidia-a100-10c", 4), false, publish.NVIDIADevice{}},
		{name("nvidia-a100-10c", 1), true, publish.NVIDIADevice{GPU: gpu, VGPU: &gpu.VGPU.Types[0], Slot: 1}},
		{name("nvidia-a100-10c", 2), true, publish.NVIDIADevice{}},
		{name("nvidia-a100-10c", -1), false, publish.NVIDIADevice{}},
		{name("nvidia-a100-1-5c", last.Start), false, publish.NVIDIADevice{GPU: gpu, VGPU: &gpu.VGPU.Types[1], Profile: &gpu.MIG.Profiles[0], Placement: last}},
		{name("nvidia-a100-1-5c", last.Start+last.Size), false, publish.NVIDIADevice{}},
		{name("nvidia-a100-9-9c", 0), false, publish.NVIDIADevice{}},
		{name("nvidia-a100-40c", 0), false, publish.NVIDIADevice{}},
	} {
		gpu.VGPU.MixedSize = c.mixed
		if found, ok := publish.FindNVIDIA(node, c.name); found != c.want || ok != (c.want.GPU != nil) {
			t.Errorf("%s on a host of mixed sizes (%v) is found %v as %+v", c.name, c.mixed, ok, found)
		}
	}
}
