package hardware_test

import (
	"fmt"
	"io/fs"
	"strings"
	"testing/fstest"

	"github.com/dray-dev/dray/kubeletplugin/hardware"
)

// textHost is a Host from text, a file a line: "name = content" with \n and
// \t for breaks, or "name -> target" for a link. A later line for a name replaces
// an earlier one; lines that are neither, or have no valid name, are passed over.
type textHost struct{ files fstest.MapFS }

func hostOf(texts ...string) textHost {
	files := fstest.MapFS{}
	for _, text := range texts {
		for line := range strings.Lines(text) {
			line = strings.TrimSpace(line)
			if name, target, ok := strings.Cut(line, " -> "); ok && fs.ValidPath(name) {
				files[name] = &fstest.MapFile{Data: []byte(target), Mode: fs.ModeSymlink}
			} else if name, content, ok := strings.Cut(line, " ="); ok && fs.ValidPath(name) {
				content = breaks.Replace(strings.TrimPrefix(content, " ")) + "\n"
				files[name] = &fstest.MapFile{Data: []byte(content)}
			}
		}
	}
	return textHost{files}
}

var breaks = strings.NewReplacer(`\n`, "\n", `\t`, "\t")

// link is the target of a link at a name without links on the way to it.
func (h textHost) link(name string) (string, error) {
	if file := h.files[name]; file != nil && file.Mode == fs.ModeSymlink {
		return string(file.Data), nil
	}
	return "", fs.ErrInvalid
}

func (h textHost) Open(name string) (fs.File, error) {
	real, err := hardware.Resolve(name, true, h.link)
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: name, Err: err}
	}
	return h.files.Open(real)
}

func (h textHost) ReadLink(name string) (string, error) {
	real, err := hardware.Resolve(name, false, h.link)
	if err != nil {
		return "", &fs.PathError{Op: "readlink", Path: name, Err: err}
	}
	return h.files.ReadLink(real)
}

func (h textHost) Lstat(name string) (fs.FileInfo, error) {
	real, err := hardware.Resolve(name, false, h.link)
	if err != nil {
		return nil, &fs.PathError{Op: "lstat", Path: name, Err: err}
	}
	return h.files.Lstat(real)
}

func (textHost) WriteFile(name string, _ []byte) error {
	return &fs.PathError{Op: "write", Path: name, Err: fs.ErrPermission}
}

func (textHost) DeviceNode(name string) (hardware.DeviceNode, error) {
	return hardware.DeviceNode{}, &fs.PathError{Op: "stat", Path: name, Err: fs.ErrInvalid}
}

// pci is the lines of a function below bridge 0000:15:01.0 of root pci0000:15,
// with more files in its directory.
func pci(address, vendor, device, class string, more ...string) string {
	dir := "sys/devices/pci0000:15/0000:15:01.0/" + address
	lines := []string{
		fmt.Sprintf("sys/bus/pci/devices/%s -> ../../../devices/pci0000:15/0000:15:01.0/%s", address, address),
		dir + "/vendor = " + vendor, dir + "/device = " + device, dir + "/class = " + class, dir + "/numa_node = -1",
	}
	for _, file := range more {
		lines = append(lines, dir+"/"+file)
	}
	return strings.Join(lines, "\n") + "\n"
}

// entry is a line for an entry of a class that belongs to such a function.
func entry(class, address, within string) string {
	name := within[strings.LastIndex(within, "/")+1:]
	return fmt.Sprintf("sys/class/%s/%s -> ../../devices/pci0000:15/0000:15:01.0/%s/%s\n", class, name, address, within)
}

const (
	gpuAddress = "0000:16:00.0"
	nicAddress = "0000:18:00.0"
	vfAddress  = "0000:18:00.2"
)

// machine is one of each kind of device.
var machine = strings.Join([]string{
	pci("0000:15:00.0", "0x8086", "0x09a2", "0x088000"),
	pci(gpuAddress, "0x10de", "0x20b0", "0x030200", "driver -> ../../../../bus/pci/drivers/nvidia", "subsystem_vendor = 0x10de"),
	pci("0000:17:00.0", "0x1002", "0x74a1", "0x120000", "driver -> ../../../../bus/pci/drivers/amdgpu",
		"mem_info_vram_total = 206141652992", "current_compute_partition = CPX", "current_memory_partition = NPS4",
		"available_compute_partition = SPX, DPX, QPX, CPX", "available_memory_partition = NPS1, NPS4"),
	entry("drm", "0000:17:00.0", "drm/card1"), entry("drm", "0000:17:00.0", "drm/renderD129"),
	`sys/class/drm/card2 -> ../../devices/platform/amdgpu_xcp_0/drm/card2
	sys/class/drm/version = drm 1.1.0
	sys/class/kfd/kfd/topology/nodes/0/properties = cpu_cores_count 96\nsimd_count 0\n
	sys/class/kfd/kfd/topology/nodes/1/properties = simd_count 608\nsimd_per_cu 4\nnum_xcc 4\nlocation_id 5888\ndomain 0
	sys/class/kfd/kfd/topology/nodes/2/properties = simd_count 608\nsimd_per_cu 4\nnum_xcc 4\nlocation_id 5889\ndomain 0
	sys/module/amdgpu/version = 6.14.14
	`,
	pci(nicAddress, "0x15b3", "0x1021", "0x020000", "sriov_totalvfs = 8", "sriov_numvfs = 1", "virtfn0 -> ../"+vfAddress,
		"net/ens1f0np0/address = b8:3f:d2:aa:bb:cc", "net/ens1f0np0/mtu = 9000", "net/ens1f0np0/operstate = up",
		"net/ens1f0np0/speed = 400000", "net/ens1f0np0/type = 1", "net/ens1f0np0/phys_port_name = p0",
		"net/ens1f0np0/compat/devlink/mode = switchdev", "net/a_rep/phys_port_name = pf0vf0",
		"infiniband/mlx5_0/ports/1/link_layer = Ethernet", "infiniband_verbs/uverbs0/ibdev = mlx5_0"),
	entry("net", nicAddress, "net/ens1f0np0"), entry("net", nicAddress, "net/a_rep"),
	entry("infiniband", nicAddress, "infiniband/mlx5_0"), entry("infiniband_verbs", nicAddress, "infiniband_verbs/uverbs0"),
	"sys/class/net/bonding_masters = bond0\nsys/class/net/lo -> ../../devices/virtual/net/lo\n",
	pci(vfAddress, "0x15b3", "0x101e", "0x020000", "physfn -> ../"+nicAddress, "driver -> ../../../../bus/pci/drivers/vfio-pci",
		"iommu_group -> ../../../../kernel/iommu_groups/41"),
	pci("0000:1a:00.0", "0x1af4", "0x1041", "0x020000", "virtio3/net/eth0/address = 52:54:00:00:00:01", "virtio3/net/eth0/speed = -1"),
	entry("net", "0000:1a:00.0", "virtio3/net/eth0"),
	pci("0000:1b:00.0", "0x8086", "0x0b2b", "0x120000",
		"fpga_region/region0/dfl-port.4/id = 1", "fpga_region/region0/dfl-port.4/afu_id = f7df405cbd7acf7222f144b0b93acd18",
		"fpga_region/region0/dfl-fme.0/dfl-fme-region.2/fpga_region/region1/compat_id = 69528db6eb31577a8c3668f9faa081f6",
		"fpga_region/region0/dfl-fme.0/dfl-fme-region.10/fpga_region/region2/compat_id = 69528db6eb31577a8c3668f9faa081f6"),
	entry("fpga_region", "0000:1b:00.0", "fpga_region/region0"),
	entry("fpga_region", "0000:1b:00.0", "fpga_region/region0/dfl-fme.0/dfl-fme-region.2/fpga_region/region1"),
	entry("fpga_region", "0000:1b:00.0", "fpga_region/region0/dfl-fme.0/dfl-fme-region.10/fpga_region/region2"),
	pci("0000:1c:00.0", "0x10ee", "0x505c", "0x120000", "mgmt_pf ="),
	pci("0000:1c:00.1", "0x10ee", "0x505d", "0x120000", "user_pf =", "rom.u.7169/VBNV = xilinx_u55c_gen3x16_xdma_base_3",
		"rom.u.7169/ddr_bank_count_max = 1", "rom.u.7169/ddr_bank_size = 16", "xmc.u.7169/serial_num = XFL1", "xmc.u.7169/bd_name = ALVEO U55C"),
	pci("0000:1d:00.0", "0x10ee", "0x50b4", "0x120000", "driver -> ../../../../bus/pci/drivers/ami", "dev_name = ALVEO V80",
		"board_serial = XFL2", "memory_size = 64GB"),
	pci("0000:1d:00.1", "0x10ee", "0x50b5", "0x120000"),
	`sys/bus/pci/devices/10000:e1:00.0 -> ../../../devices/pci10000:e0/10000:e1:00.0
	sys/devices/system/node/node0/cpulist = 0-3
	sys/devices/system/node/node0/distance = 10 21
	sys/devices/system/node/node1/cpulist =
	sys/devices/system/node/node1/distance = 21 10
	sys/devices/system/node/possible = 0-1
	sys/devices/system/cpu/cpu0/topology/physical_package_id = 1
	proc/devices = Character devices:\n195 nvidia\n506 nvidia-caps-imex-channels\n\nBlock devices:\n259 blkext
	proc/driver/nvidia/params = ModifyDeviceFiles: 1\nImexChannelCount: 16
	usr/share/hwdata/pci.ids = # comment\n10de  NVIDIA Corporation\n\t20b0  GA100 [A100 SXM4 40GB]\n\t\t10de 134f  a subsystem\n15b3  Mellanox Technologies\n\t1021  MT2910 Family [ConnectX-7]\nC 03  Display controller\n\t1021  not a device
	`,
}, "")
