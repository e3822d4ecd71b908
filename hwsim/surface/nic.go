package surface

import (
	"fmt"
	"path"

	"github.com/dray-dev/dray/kubeletplugin/hardware"
)

// hardwareTypes are the kernel's numbers of link types.
var hardwareTypes = map[hardware.LinkType]int{hardware.LinkEthernet: 1, hardware.LinkInfiniBand: 32}

// linkLayers are the RDMA subsystem's names of them.
var linkLayers = map[hardware.LinkType]string{hardware.LinkEthernet: "Ethernet", hardware.LinkInfiniBand: "InfiniBand"}

// nic writes the network interface and the RDMA device of a function.
func (s *surface) nic(n *hardware.NIC) {
	dir := dirOf(&n.PCIFunction)
	if n.Interface != "" {
		s.netInterface(n, dir)
	}
	if n.RDMA != nil {
		s.rdma(n, dir)
	}
}

func (s *surface) netInterface(n *hardware.NIC, dir string) {
	entry := path.Join(dir, "net", n.Interface)
	state, speed := "down", n.SpeedMbps
	if n.Up {
		state = "up"
	}
	if speed == 0 {
		speed = -1
	}
	s.line(path.Join(entry, "address"), "%s", n.MAC)
	s.line(path.Join(entry, "mtu"), "%d", n.MTU)
	s.line(path.Join(entry, "operstate"), "%s", state)
	s.line(path.Join(entry, "speed"), "%d", speed)
	s.line(path.Join(entry, "type"), "%d", hardwareTypes[n.Link])
	s.line(path.Join(entry, "dev_port"), "0")
	if n.Eswitch != "" {
		s.line(path.Join(entry, "compat/devlink/mode"), "%s", n.Eswitch)
	}
	s.link(path.Join(entry, "device"), dir)
	s.link(path.Join("sys/class/net", n.Interface), entry)
}

// minorUverbs is the first minor of uverbs devices.
const minorUverbs = 192

func (s *surface) rdma(n *hardware.NIC, dir string) {
	entry := path.Join(dir, "infiniband", n.RDMA.Device)
	port := path.Join(entry, "ports/1")
	state := "1: DOWN"
	if n.Up {
		state = "4: ACTIVE"
	}
	s.line(path.Join(entry, "node_type"), "1: CA")
	s.line(path.Join(port, "link_layer"), "%s", linkLayers[n.Link])
	s.line(path.Join(port, "state"), "%s", state)
	if n.SpeedMbps > 0 {
		s.line(path.Join(port, "rate"), "%g Gb/sec (4X)", float64(n.SpeedMbps)/1000)
	}
	s.link(path.Join(entry, "device"), dir)
	s.link(path.Join("sys/class/infiniband", n.RDMA.Device), entry)

	name := fmt.Sprintf("uverbs%d", n.RDMA.Uverbs)
	verbs := path.Join(dir, "infiniband_verbs", name)
	s.line(path.Join(verbs, "ibdev"), "%s", n.RDMA.Device)
	s.line(path.Join(verbs, "dev"), "%d:%d", majorVerbs, minorUverbs+n.RDMA.Uverbs)
	s.link(path.Join(verbs, "device"), dir)
	s.link(path.Join("sys/class/infiniband_verbs", name), verbs)
	s.device(path.Join("infiniband", name), node(majorVerbs, minorUverbs+n.RDMA.Uverbs))
}
