package hardware

import (
	"path"
	"regexp"
	"strconv"
	"strings"
)

const (
	classNetwork    = 0x02   // the base class
	classInfiniBand = 0x0207 // with the subclass
	hwEthernet      = "1"    // ARPHRD_ETHER and ARPHRD_INFINIBAND, in the file type
	hwInfiniBand    = "32"
)

// readNICs reads every function of the network class, and any other that has a
// network interface or an RDMA device.
func (d *discovery) readNICs() {
	interfaces := map[PCIAddress]classEntry{}
	for _, entry := range d.class("net") {
		if isOwnInterface(entry.within) && !d.isRepresentor(entry.dir) {
			if known, ok := interfaces[entry.function]; !ok || entry.name < known.name {
				interfaces[entry.function] = entry
			}
		}
	}
	rdma := d.rdmaDevices()
	for _, address := range d.bus {
		class, err := d.number(path.Join(d.paths[address], "class"), 24, nil)
		netdev, hasInterface := interfaces[address]
		device, hasRDMA := rdma[address]
		if d.used[address] || err == nil && class>>16 != classNetwork && !hasInterface && !hasRDMA {
			continue
		}
		nic := NIC{Interface: netdev.name, RDMA: device}
		if nic.PCIFunction, err = d.function(address); err != nil {
			d.report(at("nic", address), "", err)
			continue
		}
		d.readPort(&nic)
		if hasInterface {
			d.readInterface(&nic, netdev.dir)
		}
		d.used[address] = true
		d.node.NICs = append(d.node.NICs, nic)
	}
}

// isOwnInterface says whether an interface is the function's own: it is below
// the function or its virtio device, not below a subfunction.
func isOwnInterface(within []string) bool {
	if len(within) == 3 {
		if _, ok := suffixNumber(within[0], "virtio"); ok {
			within = within[1:]
		}
	}
	return len(within) == 2 && within[0] == "net"
}

var representorPort = regexp.MustCompile(`^(c[0-9]+)?pf[0-9]+`)

// isRepresentor says whether an interface stands for the port of a virtual
// function at the switch of its physical one.
func (d *discovery) isRepresentor(dir string) bool {
	return representorPort.MatchString(d.optional(path.Join(dir, "phys_port_name")))
}

// rdmaDevices finds the functions' RDMA devices; one without uverbs cannot be
// used from a container and does not count.
func (d *discovery) rdmaDevices() map[PCIAddress]*RDMA {
	uverbs := map[string]int{}
	for _, entry := range d.class("infiniband_verbs") {
		if n, ok := suffixNumber(entry.name, "uverbs"); ok {
			uverbs[d.optional(path.Join(entry.dir, "ibdev"))] = n
		}
	}
	devices := map[PCIAddress]*RDMA{}
	for _, entry := range d.class("infiniband") {
		n, ok := uverbs[entry.name]
		if _, known := devices[entry.function]; ok && !known && len(entry.within) == 2 {
			devices[entry.function] = &RDMA{Device: entry.name, Uverbs: n}
		}
	}
	return devices
}

// readPort reads the kind of link from the function's class, and what the port
// of its RDMA device says, if it has one.
func (d *discovery) readPort(nic *NIC) {
	nic.Link = LinkEthernet
	if nic.Class>>8 == classInfiniBand {
		nic.Link = LinkInfiniBand
	}
	if nic.RDMA == nil {
		return
	}
	port := path.Join(d.paths[nic.Address], "infiniband", nic.RDMA.Device, "ports/1")
	switch d.optional(path.Join(port, "link_layer")) {
	case "InfiniBand":
		nic.Link = LinkInfiniBand
	case "Ethernet":
		nic.Link = LinkEthernet
	}
	nic.Up = strings.HasPrefix(d.optional(path.Join(port, "state")), "4:")
	nic.SpeedMbps = rateMbps(d.optional(path.Join(port, "rate")))
}

// readInterface reads what the network interface says, which goes before what
// the port says.
func (d *discovery) readInterface(nic *NIC, dir string) {
	switch d.optional(path.Join(dir, "type")) {
	case hwEthernet:
		nic.Link = LinkEthernet
	case hwInfiniBand:
		nic.Link = LinkInfiniBand
	}
	nic.MAC = d.optional(path.Join(dir, "address"))
	nic.MTU, _ = suffixNumber(d.optional(path.Join(dir, "mtu")), "")
	nic.Up = d.optional(path.Join(dir, "operstate")) == "up"
	if speed, ok := suffixNumber(d.optional(path.Join(dir, "speed")), ""); ok { // -1 if it is not known
		nic.SpeedMbps = speed
	}
	switch mode := d.optional(path.Join(dir, "compat/devlink/mode")); mode {
	case "legacy", "switchdev":
		nic.Eswitch = mode
	}
}

// rateMbps reads "400 Gb/sec (4X NDR)"; 0 for anything else.
func rateMbps(text string) int {
	number, unit, _ := strings.Cut(text, " ")
	rate, err := strconv.ParseFloat(number, 64)
	if err != nil || !strings.HasPrefix(unit, "Gb/sec") || !(rate >= 0 && rate < 1e6) {
		return 0
	}
	return int(rate*1000 + 0.5)
}
