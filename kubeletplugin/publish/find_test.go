package publish_test

import (
	"fmt"
	"testing"

	"pgregory.net/rapid"

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
				ours := kind == "gpu" || kind == "mig"
				found, ok := publish.FindNVIDIA(node, d.Name)
				if ok != ours {
					t.Fatalf("%s of type %q: found %v with MIG %v", d.Name, kind, ok, options.MIG)
				}
				gpu, partition, named := publish.NVIDIAName(d.Name)
				if named != ours || ours && (partition != (kind == "mig") || gpu != fmt.Sprintf("gpu-%d", found.GPU.Minor)) {
					t.Fatalf("the name %s is read as of %q, a partition %v, known %v", d.Name, gpu, partition, named)
				}
				if !ours {
					continue
				}
				uuid := d.Attributes["uuid"].StringValue
				switch {
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
	for _, name := range []string{"", "gpu-", "gpu-99", "gpu-0-", "gpu-0-mig-", "gpu-0-mig-1g5gb-19-9", "gpu-0-mig-1g5gb-19-00", "GPU-0", "nic-0"} {
		if found, ok := publish.FindNVIDIA(node, name); ok {
			t.Errorf("%q is found as %+v", name, found)
		}
	}
	for _, name := range []string{"", "gpu-", "gpu-x", "gpu-0-", "gpu-0-128", "gpu--mig-1g5gb-19-0", "GPU-0", "nic-0"} {
		if gpu, _, ok := publish.NVIDIAName(name); ok {
			t.Errorf("%q is read as one of %s", name, gpu)
		}
	}
}
