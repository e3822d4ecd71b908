package hardware_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/dray-dev/dray/kubeletplugin/hardware"
)

// TestWhatALibraryDoesNotTellOfAGPUDoesNotHideIt: the GPU stays with all else, the error
// names both, and what was read before fills the gap.
func TestWhatALibraryDoesNotTellOfAGPUDoesNotHideIt(t *testing.T) {
	before := discovered(t, one(), machine).GPUs[0]
	before.AddressingMode, before.ModuleID, before.Fabric = "HMM", 3, &hardware.GPUFabric{CliqueID: 4}
	for _, c := range []struct{ call, unread string }{
		{"Name", "product name"}, {"Brand", "brand"}, {"Architecture", "architecture"}, {"ComputeCapability", "compute capability"},
		{"MemoryBytes", "memory"}, {"AddressingMode", "addressing mode"}, {"ModuleID", "module ID"}, {"Fabric", "fabric"},
		{"MIGMode", "MIG,virtual GPUs"}, {"GPUInstances", "MIG,virtual GPUs"}, {"Info", "MIG,virtual GPUs"},
		{"SupportedVGPUTypes", "virtual GPUs"}, {"MixedSizeVGPUs", "virtual GPUs"},
	} {
		for _, reason := range []error{hardware.ErrGPUTimeout, hardware.ErrGPUUnknown, hardware.ErrGPUNoPermission, hardware.ErrGPUResetRequired} {
			library := one()
			library.fails = map[string]error{c.call: reason}
			node, err := hardware.Discover(hostOf(machine), library)
			unread := strings.Split(c.unread, ",")
			if !errors.Is(err, reason) || !strings.Contains(err.Error(), gpuAddress) || !strings.Contains(err.Error(), unread[0]) {
				t.Errorf("%s: error %v", c.call, err)
			}
			if len(node.GPUs) != 1 || node.GPUs[0].UUID != before.UUID {
				t.Errorf("%s: %v: GPUs %+v", c.call, reason, node.GPUs)
				continue
			}
			gpu := node.GPUs[0]
			same(t, c.call, gpu.Unread, unread)
			kept := gpu.KeepUnread(&before)
			if len(kept.Unread) > 0 {
				t.Errorf("%s: unread is %v after it was kept", c.call, kept.Unread)
			}
			kept.AddressingMode, kept.ModuleID, kept.Fabric = before.AddressingMode, before.ModuleID, before.Fabric
			same(t, c.call+": kept", kept, before)
			again := gpu.KeepUnread(&gpu)
			same(t, c.call+": kept of what was not read either", again, gpu)
		}
	}
}

func TestAGPUThatCannotBeToldFromOthersIsLeftOut(t *testing.T) {
	library := one()
	library.fails = map[string]error{"MinorNumber": hardware.ErrGPUTimeout}
	node, err := hardware.Discover(hostOf(machine), library)
	if !errors.Is(err, hardware.ErrGPUTimeout) || len(node.GPUs) != 0 {
		t.Errorf("error %v, GPUs %+v", err, node.GPUs)
	}
}

// TestKeepUnreadLeavesWhatWasRead even where it was something else before.
func TestKeepUnreadLeavesWhatWasRead(t *testing.T) {
	now := hardware.GPU{UUID: "GPU-a", ProductName: "new", Unread: []string{"memory"}}
	before := hardware.GPU{UUID: "GPU-a", ProductName: "old", MemoryBytes: 7}
	kept := now.KeepUnread(&before)
	if kept.ProductName != "new" || kept.MemoryBytes != 7 || kept.Unread != nil {
		t.Errorf("kept is %+v", kept)
	}
	if !slices.Equal(now.Unread, []string{"memory"}) || now.MemoryBytes != 0 {
		t.Errorf("the GPU was changed: %+v", now)
	}
}
