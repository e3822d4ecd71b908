package hardware_test

import (
	"reflect"
	"testing"

	"github.com/dray-dev/dray/kubeletplugin/hardware"
)

// FuzzDiscover changes the machine's files at will: discovery must not panic,
// must find the same twice, and what it finds must be valid. Two GPUs are where
// the seed has devices.
func FuzzDiscover(f *testing.F) {
	for _, change := range []string{
		"",
		"sys/bus/pci/devices/0000:18:00.0 -> ../../../devices/pci0000:15/0000:18:00.0",
		"sys/devices/pci0000:15/0000:15:01.0/0000:18:00.0/virtfn1 -> ../0000:18:00.2",
		"sys/devices/pci0000:15/0000:15:01.0/0000:18:00.0/physfn -> ../0000:18:00.2",
		"sys/devices/pci0000:15/0000:15:01.0/0000:18:00.0/sriov_totalvfs = 0",
		"sys/devices/pci0000:15/0000:15:01.0/0000:18:00.2/physfn -> ../0000:16:00.0",
		"sys/devices/system/node/node0/cpulist = 0-65535\nsys/devices/system/node/node1/cpulist = 0-65535",
		"sys/class/net/ens1 -> ../../devices/pci0000:15/0000:15:01.0/0000:16:00.0/net/ens1",
		"sys/class/kfd/kfd/topology/nodes/1/properties = simd_count 608\\nsimd_per_cu 0\\nnum_xcc 99999999",
		"usr/share/misc/pci.ids = 10de  \\n\\t20b0",
		"proc/devices = 0 \\n195 nvidia-caps-imex-channels 3\nproc/driver/nvidia/params = ImexChannelCount",
		"sys/devices/pci0000:15/0000:15:01.0/0000:18:00.0/infiniband/mlx5_0/ports/1/rate = NaN Gb/sec",
		"sys/class/fpga_region/region3 -> ../../devices/pci0000:15/0000:15:01.0/0000:18:00.2/fpga_region/region3",
	} {
		f.Add(change, uint16(0x1600), uint16(0x1800))
	}
	f.Fuzz(func(t *testing.T, change string, first, second uint16) {
		gpu := func(n uint16) hardware.PCIAddress {
			return hardware.PCIAddress{Bus: uint8(n >> 8), Device: uint8(n) >> 3, Function: uint8(n) & 7}
		}
		library := &fewGPUs{addresses: []hardware.PCIAddress{gpu(first), gpu(second)}}
		node, err := hardware.Discover(hostOf(machine, change), library)
		if node == nil {
			if err == nil {
				t.Fatal("neither a node nor an error")
			}
			return
		}
		if err := node.Validate(); err != nil {
			t.Fatalf("the node is not valid: %v", err)
		}
		again, _ := hardware.Discover(hostOf(machine, change), library)
		if !reflect.DeepEqual(node, again) {
			t.Fatalf("two nodes of one machine:\n%+v\n%+v", node, again)
		}
	})
}
