package hardware_test

import (
	"errors"
	"fmt"
	"path"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/dray-dev/dray/kubeletplugin/hardware"
)

func one() *fewGPUs { return &fewGPUs{addresses: []hardware.PCIAddress{address(gpuAddress)}} }

// discovered is the node without its GPUs' partitions, and the error must be nil.
func discovered(t *testing.T, library hardware.GPULibrary, texts ...string) *hardware.Node {
	t.Helper()
	node, err := hardware.Discover(hostOf(texts...), library)
	if err != nil {
		t.Fatal(err)
	}
	return node
}

func same[T any](t *testing.T, what string, got, want T) {
	t.Helper()
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%s: got\n%+v, want\n%+v", what, got, want)
	}
}

func TestTheMachineIsReadAsItsFilesSay(t *testing.T) {
	library := one()
	node := discovered(t, library, machine)
	same(t, "uses of the library that were not ended", library.inits, 0)
	same(t, "NUMA nodes", node.NUMANodes, []hardware.NUMANode{
		{ID: 0, CPUs: "0-3", Socket: 1, Distances: []int{10, 21}}, {ID: 1, Socket: hardware.NoSocket, Distances: []int{21, 10}}})
	same(t, "driver", node.GPUDriver, &hardware.GPUDriver{Version: "580.126.20", CUDAVersion: 13000, IMEXChannels: 16})

	gpu := node.GPUs[0]
	same(t, "root", gpu.Root, "pci0000:15")
	same(t, "bridges", gpu.Bridges, []hardware.PCIAddress{address("0000:15:01.0")})
	same(t, "IDs", gpu.IDs, hardware.PCIIDs{Vendor: 0x10de, Device: 0x20b0, SubsystemVendor: 0x10de,
		VendorName: "NVIDIA Corporation", DeviceName: "GA100 [A100 SXM4 40GB]"})
	same(t, "compute capability", gpu.ComputeCapability, "8.0")
	same(t, "profiles", len(gpu.MIG.Profiles), 1)
	same(t, "instances by ID", []int{gpu.MIG.Instances[0].ID, gpu.MIG.Instances[1].ID}, []int{7, 8})
	same(t, "vGPU types by ID", []int{gpu.VGPU.Types[0].ID, gpu.VGPU.Types[1].ID}, []int{1, 2})

	amd := node.AMDGPUs[0]
	same(t, "card", [2]int{amd.Card, amd.Render}, [2]int{1, 129})
	same(t, "units over partitions", [2]int{amd.ComputeUnits, amd.SIMDUnits}, [2]int{304, 1216})
	same(t, "modes", amd.Modes, []hardware.AMDPartitionMode{{Compute: "SPX", Memory: "NPS1", Partitions: 1},
		{Compute: "CPX", Memory: "NPS1", Partitions: 8}, {Compute: "CPX", Memory: "NPS4", Partitions: 8}})
}

func TestNetworkFunctionsAreReadBoundOrNot(t *testing.T) {
	node := discovered(t, nil, machine)
	same(t, "number", len(node.NICs), 3)
	pf, vf, virtio := node.NICs[0], node.NICs[1], node.NICs[2]
	same(t, "name, not that of a class", pf.IDs.DeviceName, "MT2910 Family [ConnectX-7]")
	same(t, "interface, not the representor", pf.Interface, "ens1f0np0")
	same(t, "link", []any{pf.MAC, pf.MTU, pf.Up, pf.SpeedMbps, pf.Link, pf.Eswitch},
		[]any{"b8:3f:d2:aa:bb:cc", 9000, true, 400000, hardware.LinkEthernet, "switchdev"})
	same(t, "RDMA", pf.RDMA, &hardware.RDMA{Device: "mlx5_0", Uverbs: 0})
	same(t, "virtual functions", pf.SRIOV, &hardware.SRIOV{TotalVFs: 8, VFs: []hardware.PCIAddress{address(vfAddress)}})
	physical := address(nicAddress)
	same(t, "physical function", vf.SRIOV, &hardware.SRIOV{PhysicalFunction: &physical})
	same(t, "a function on vfio-pci", []any{vf.Driver, vf.IOMMUGroup, vf.Interface}, []any{"vfio-pci", 41, ""})
	same(t, "virtio", []any{virtio.Interface, virtio.MAC, virtio.SpeedMbps}, []any{"eth0", "52:54:00:00:00:01", 0})
}

func TestFPGACardsAreReadFromThreeDrivers(t *testing.T) {
	node := discovered(t, nil, machine)
	same(t, "number", len(node.FPGAs), 3)
	pac, u55c, v80 := node.FPGAs[0], node.FPGAs[1], node.FPGAs[2]
	const compatible = "69528db6eb31577a8c3668f9faa081f6"
	same(t, "regions in the kernel's order", pac.Regions, []hardware.FPGARegion{{ID: 0, Interface: compatible},
		{ID: 1, Interface: compatible, Function: "f7df405cbd7acf7222f144b0b93acd18", Port: "dfl-port.4"}})
	same(t, "U55C", []any{u55c.Address, *u55c.Management, u55c.Model, u55c.Shell, u55c.Serial, u55c.MemoryBytes},
		[]any{address("0000:1c:00.1"), address("0000:1c:00.0"), "ALVEO U55C", "xilinx_u55c_gen3x16_xdma_base_3", "XFL1", uint64(16 << 30)})
	same(t, "V80", []any{v80.Address, *v80.Management, v80.Model, v80.Serial, v80.MemoryBytes},
		[]any{address("0000:1d:00.1"), address("0000:1d:00.0"), "ALVEO V80", "XFL2", uint64(64 << 30)})
}

func TestAMachineWithoutALibraryHasNoGPUs(t *testing.T) {
	for _, library := range []hardware.GPULibrary{nil,
		&fewGPUs{init: errors.Join(hardware.ErrGPULibraryNotFound)}, &fewGPUs{init: errors.Join(hardware.ErrGPUDriverNotLoaded)}} {
		node := discovered(t, library, machine)
		if node.GPUDriver != nil || node.GPUs != nil {
			t.Errorf("driver %+v and %d GPUs", node.GPUDriver, len(node.GPUs))
		}
	}
	node := discovered(t, nil, "")
	same(t, "a machine without files", node, &hardware.Node{})
}

// leftOut are the devices that the errors name.
func leftOut(t *testing.T, err error) []string {
	t.Helper()
	joined, ok := err.(interface{ Unwrap() []error })
	if !ok {
		t.Fatalf("%v is not joined", err)
	}
	var names []string
	for _, err := range joined.Unwrap() {
		var device *hardware.DeviceError
		if !errors.As(err, &device) {
			t.Fatalf("%v names no device", err)
		}
		names = append(names, device.Device)
	}
	return names
}

func TestABrokenDeviceDoesNotHideTheOthers(t *testing.T) {
	const dir = "sys/devices/pci0000:15/0000:15:01.0/"
	whole := discovered(t, one(), machine)
	for _, c := range []struct {
		name, change string
		device       string // that is named
		gone         int    // of all devices
	}{
		{"a GPU without an ID", dir + gpuAddress + "/device =", "gpu with index 0", 1},
		{"a GPU without a function", "sys/bus/pci/devices/" + gpuAddress + " -> ../../../devices/x/0000:00:00.0", "pci function " + gpuAddress, 1},
		{"an AMD GPU without memory", dir + "0000:17:00.0/mem_info_vram_total = lots", "amd gpu 0000:17:00.0", 1},
		{"a NIC without a class", dir + "0000:1a:00.0/class = net", "nic 0000:1a:00.0", 1},
		{"a physical function, with its virtual one", dir + nicAddress + "/vendor = none", "nic " + nicAddress, 2},
		{"a virtual function that is no one's", dir + vfAddress + "/physfn -> ../0000:16:00.0", "nic " + vfAddress, 1},
		{"a card with a broken port", dir + "0000:1b:00.0/fpga_region/region0/dfl-port.4/id = x", "fpga 0000:1b:00.0", 1},
		{"a card with a broken region", dir + "0000:1b:00.0/fpga_region/region0/dfl-fme.0/dfl-fme-region.2/fpga_region/region1/compat_id = x", "fpga 0000:1b:00.0", 1},
		{"a card with a broken ROM", dir + "0000:1c:00.1/rom.u.7169/ddr_bank_size = -1", "fpga 0000:1c:00.1", 1},
		{"a NUMA node that is not there", dir + gpuAddress + "/numa_node = 2", "pci function " + gpuAddress, 0},
		{"a broken table of distances", "sys/devices/system/node/node1/distance = 21 ten", "numa node 1", 0},
		{"a table of distances with a hole", "sys/devices/system/node/node1/distance = 21", "numa node 1", 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			node, err := hardware.Discover(hostOf(machine, c.change), one())
			if err == nil || node == nil {
				t.Fatalf("node %v, error %v", node, err)
			}
			if names := leftOut(t, err); !slices.Contains(names, c.device) {
				t.Errorf("the error names %q, not %s: %v", names, c.device, err)
			}
			if err := node.Validate(); err != nil {
				t.Errorf("the node is not valid: %v", err)
			}
			same(t, "devices", count(node), count(whole)-c.gone)
		})
	}
}

func count(n *hardware.Node) int { return len(n.GPUs) + len(n.AMDGPUs) + len(n.NICs) + len(n.FPGAs) }

func TestALostGPUDoesNotHideTheOthers(t *testing.T) {
	library := one()
	library.addresses = append(library.addresses, address("0000:17:00.0"))
	library.lost = map[hardware.PCIAddress]error{address(gpuAddress): hardware.ErrGPULost}
	node, err := hardware.Discover(hostOf(machine), library)
	if !errors.Is(err, hardware.ErrGPULost) || !strings.Contains(err.Error(), gpuAddress) {
		t.Errorf("error %v", err)
	}
	if len(node.GPUs) != 1 || node.GPUs[0].Address != address("0000:17:00.0") || node.GPUDriver == nil {
		t.Errorf("GPUs %+v", node.GPUs)
	}
}

// TestAPartitionThatGoesWhileItIsReadDoesNotHideTheGPU: drivers destroy partitions at
// any time, and a GPU that cannot be read is taken for lost.
func TestAPartitionThatGoesWhileItIsReadDoesNotHideTheGPU(t *testing.T) {
	for _, c := range []struct {
		call  string
		err   error
		left  []int // IDs of instances, nil for no GPU
		about string
	}{
		{"GPUInstances", hardware.ErrGPUNotSupported, []int{}, "MIG mode is switched off"},
		{"Info", hardware.ErrGPUNotFound, []int{7}, "an instance is destroyed"},
		{"ComputeInstanceProfile", hardware.ErrGPUNotFound, []int{7}, "an instance is destroyed before its profiles are read"},
		{"ComputeInstances", hardware.ErrGPUNotFound, []int{7}, "an instance is destroyed before what is in it is read"},
		{"compute Info", hardware.ErrGPUNotFound, []int{7, 8}, "a compute instance is destroyed"},
		{"Info", hardware.ErrGPULost, nil, "the GPU is lost"},
	} {
		library := one()
		library.fails = map[string]error{c.call: c.err}
		node, err := hardware.Discover(hostOf(machine), library)
		if (err == nil) != (c.left != nil) {
			t.Errorf("%s: error %v", c.about, err)
		}
		if c.left == nil {
			same(t, c.about+": GPUs", len(node.GPUs), 0)
			continue
		}
		if len(node.GPUs) != 1 {
			t.Errorf("%s: the GPU is not there", c.about)
			continue
		}
		ids := []int{}
		for _, instance := range node.GPUs[0].MIG.Instances {
			ids = append(ids, instance.ID)
		}
		same(t, c.about+": instances", ids, c.left)
	}
}

func TestALibraryThatFailsIsReportedBesideTheOtherDevices(t *testing.T) {
	node, err := hardware.Discover(hostOf(machine), &fewGPUs{init: hardware.ErrGPUNoPermission})
	if !errors.Is(err, hardware.ErrGPUNoPermission) {
		t.Errorf("error %v", err)
	}
	if len(node.NICs) != 3 || node.GPUDriver != nil {
		t.Errorf("node %+v", node)
	}
}

func TestABusThatCannotBeReadGivesNoNode(t *testing.T) {
	node, err := hardware.Discover(hostOf("sys/bus/pci/devices = a file"), nil)
	if node != nil || err == nil {
		t.Errorf("node %+v, error %v", node, err)
	}
}

func TestAHugeFileIsAnErrorOfItsDevice(t *testing.T) {
	host := hostOf(machine)
	const vendor = "sys/devices/pci0000:15/0000:15:01.0/0000:18:00.0/vendor"
	host.files[vendor] = &fstest.MapFile{Data: make([]byte, 1<<20+1)}
	_, err := hardware.Discover(host, nil)
	if want := vendor + " has more than 1048576 bytes"; err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("error %v, want one with %q", err, want)
	}
}

// Each virtual function asks for its physical function's list, which is read once
// even if it is broken: a card can have thousands.
func TestABrokenListOfVirtualFunctionsIsReadOnce(t *testing.T) {
	const n = 200
	var files strings.Builder
	function := func(address string) {
		fmt.Fprintf(&files, "sys/bus/pci/devices/%[1]s -> ../../../devices/pci0000:15/%[1]s\n", address)
		for _, file := range []string{"vendor = 0x15b3", "device = 0x101d", "class = 0x020000"} {
			fmt.Fprintf(&files, "sys/devices/pci0000:15/%s/%s\n", address, file)
		}
	}
	function("0000:16:00.0")
	files.WriteString("sys/devices/pci0000:15/0000:16:00.0/sriov_totalvfs = 256\n")
	for i := range n {
		vf := fmt.Sprintf("0000:17:%02x.%x", i/8, i%8)
		function(vf)
		fmt.Fprintf(&files, "sys/devices/pci0000:15/0000:16:00.0/virtfn%d -> ../%s\n", i, vf)
		fmt.Fprintf(&files, "sys/devices/pci0000:15/%s/physfn -> ../0000:16:00.0\n", vf)
	}
	fmt.Fprintf(&files, "sys/devices/pci0000:15/0000:16:00.0/virtfn%d -> ../nothing\n", n)
	host := &countingHost{textHost: hostOf(files.String())}
	if _, err := hardware.Discover(host, nil); err == nil {
		t.Error("the broken link is no error")
	}
	if host.virtual > n+1 {
		t.Errorf("%d links to virtual functions were read, of %d", host.virtual, n+1)
	}
}

// countingHost counts how often a link to a virtual function is read.
type countingHost struct {
	textHost
	virtual int
}

func (h *countingHost) ReadLink(name string) (string, error) {
	if strings.HasPrefix(path.Base(name), "virtfn") {
		h.virtual++
	}
	return h.textHost.ReadLink(name)
}
