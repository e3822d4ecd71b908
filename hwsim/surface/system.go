package surface

import (
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/dray-dev/dray/kubeletplugin/hardware"
)

// Majors and minors. Those up to 254 are the kernel's own; the others are handed
// out as drivers load, and these are likely values.
const (
	majorMisc       = 10
	minorVFIO       = 196
	majorNVIDIA     = 195
	minorNVIDIACtl  = 255
	minorModeset    = 254
	majorDRM        = 226
	majorVerbs      = 231
	majorFPGA       = 243
	majorKFD        = 240
	majorCaps       = 507
	majorIMEX       = 506
	majorUVM        = 505
	majorVFIO       = 504
	majorManagement = 239
)

func node(major, minor int) hardware.DeviceNode {
	return hardware.DeviceNode{Type: "c", Major: uint32(major), Minor: uint32(minor)}
}

// procDevices writes the majors of the drivers that the machine has.
func (s *surface) procDevices() {
	majors := map[int]string{1: "mem", majorMisc: "misc", majorDRM: "drm"}
	if driver := s.node.GPUDriver; driver != nil {
		majors[majorNVIDIA], majors[majorCaps], majors[majorUVM] = "nvidia", "nvidia-caps", "nvidia-uvm"
		if driver.IMEXChannels > 0 {
			majors[majorIMEX] = "nvidia-caps-imex-channels"
		}
	}
	if len(s.node.AMDGPUs) > 0 {
		majors[majorKFD] = "kfd"
	}
	if slices.ContainsFunc(s.node.NICs, func(n hardware.NIC) bool { return n.RDMA != nil }) {
		majors[majorVerbs] = "infiniband_verbs"
	}
	for name := range s.files {
		switch {
		case strings.HasPrefix(name, "dev/vfio/"):
			majors[majorVFIO] = "vfio"
		case strings.HasPrefix(name, "dev/dfl-"):
			majors[majorFPGA] = "dfl"
		case strings.HasPrefix(name, "dev/xclmgmt"):
			majors[majorManagement] = "xclmgmt"
		}
	}
	var text strings.Builder
	text.WriteString("Character devices:\n")
	for _, major := range slices.Sorted(maps.Keys(majors)) {
		fmt.Fprintf(&text, "%3d %s\n", major, majors[major])
	}
	text.WriteString("\nBlock devices:\n259 blkext\n")
	s.raw("proc/devices", text.String())
}

// system writes NUMA nodes, CPUs and the names of the devices' IDs. The bus and
// the network class are there without a device on it, as in every kernel.
func (s *surface) system() {
	s.dirs = append(s.dirs, "sys/bus/pci/devices", "sys/bus/pci/drivers", "sys/class/net")
	const nodes, cpus = "sys/devices/system/node", "sys/devices/system/cpu"
	for _, numa := range s.node.NUMANodes {
		dir := path.Join(nodes, fmt.Sprintf("node%d", numa.ID))
		s.line(path.Join(dir, "cpulist"), "%s", numa.CPUs)
		if len(numa.Distances) > 0 {
			s.line(path.Join(dir, "distance"), "%s", strings.Trim(fmt.Sprint(numa.Distances), "[]"))
		}
		ranges, err := hardware.ParseCPUList(numa.CPUs)
		if err != nil {
			s.errs = append(s.errs, err)
			return
		}
		for _, r := range ranges {
			for cpu := r.First; cpu <= r.Last; cpu++ {
				cpuDir := path.Join(cpus, fmt.Sprintf("cpu%d", cpu))
				s.line(path.Join(cpuDir, "topology/physical_package_id"), "%d", numa.Socket)
				s.link(path.Join(cpuDir, fmt.Sprintf("node%d", numa.ID)), dir)
				s.link(path.Join(dir, fmt.Sprintf("cpu%d", cpu)), cpuDir)
			}
		}
	}
	s.raw("usr/share/misc/pci.ids", s.pciIDs())
}

// pciIDs is a database of the node's devices. Where two devices with the same
// IDs have different names, the first is in it.
func (s *surface) pciIDs() string {
	vendors := map[uint16]string{}
	devices := map[uint16]map[uint16]string{}
	add := func(ids hardware.PCIIDs) {
		if devices[ids.Vendor] == nil {
			devices[ids.Vendor] = map[uint16]string{}
		}
		if vendors[ids.Vendor] == "" {
			vendors[ids.Vendor] = ids.VendorName
		}
		if devices[ids.Vendor][ids.Device] == "" {
			devices[ids.Vendor][ids.Device] = ids.DeviceName
		}
	}
	for _, g := range s.node.GPUs {
		add(g.IDs)
	}
	for _, g := range s.node.AMDGPUs {
		add(g.IDs)
	}
	for _, n := range s.node.NICs {
		add(n.IDs)
	}
	for _, f := range s.node.FPGAs {
		add(f.IDs)
	}
	text := strings.Builder{}
	text.WriteString("# PCI IDs of the devices of one simulated machine\n")
	for _, vendor := range slices.Sorted(maps.Keys(vendors)) {
		fmt.Fprintf(&text, "%04x  %s\n", vendor, vendors[vendor])
		for _, device := range slices.Sorted(maps.Keys(devices[vendor])) {
			if name := devices[vendor][device]; name != "" {
				fmt.Fprintf(&text, "\t%04x  %s\n", device, name)
			}
		}
	}
	return text.String()
}
