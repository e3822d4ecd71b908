package machine

import (
	"fmt"
	"strconv"

	"github.com/dray-dev/dray/kubeletplugin/hardware"
)

// pciTree is the buses of a machine as far as its functions name them. It keeps:
//
//  1. An address belongs to one function or one bridge.
//  2. A bus is below one root or bridge, and a root or bridge has one bus directly
//     below it. Virtual functions alone can be on the buses that follow.
//  3. Bus numbers grow on the way down, within one domain.
//
// Roots and bridges are named by their text: "pci0000:15", "0000:15:01.0".
type pciTree struct {
	*problems
	functions map[hardware.PCIAddress]string // path of the field with the address
	bridges   map[hardware.PCIAddress]string
	above     map[bus]link    // what a bus is below
	below     map[string]link // the bus directly below a root or bridge
	roots     map[string]string
}

type bus struct {
	domain uint16
	number uint8
}

func (b bus) String() string { return fmt.Sprintf("%04x:%02x", b.domain, b.number) }

// link is an edge between a bus and what it is below, with the path that said so.
type link struct {
	name string
	bus  bus
	path string
}

func newPCITree(p *problems) *pciTree {
	return &pciTree{
		problems: p, functions: map[hardware.PCIAddress]string{}, bridges: map[hardware.PCIAddress]string{},
		above: map[bus]link{}, below: map[string]link{}, roots: map[string]string{},
	}
}

func busOf(a hardware.PCIAddress) bus { return bus{a.Domain, a.Bus} }

// root takes a root complex up, and returns its bus.
func (t *pciTree) root(path, name string) (bus, bool) {
	own, ok := parseRoot(name)
	if !ok {
		t.add(path, "%q is not a PCIe root: it must look like pci0000:15", name)
		return bus{}, false
	}
	if other, twice := t.roots[name]; twice {
		t.add(path, "%s is also the root in line %d; list all of its functions there", name, t.line(other))
		return bus{}, false
	}
	t.roots[name] = path
	return own, t.connect(path, name, own)
}

// bridge takes a bridge up that is below above, and says whether it can be.
func (t *pciTree) bridge(path, above string, aboveBus bus, address hardware.PCIAddress, first bool) bool {
	if other, taken := t.functions[address]; taken {
		t.add(path, "%s is the address of the function in line %d", address, t.line(other))
		return false
	}
	t.bridges[address] = path
	return t.order(path, above, aboveBus, address, first) && t.connect(path, above, busOf(address))
}

// function takes a function up.
func (t *pciTree) function(path string, address hardware.PCIAddress) bool {
	if other, taken := t.functions[address]; taken {
		t.add(path, "%s is also the address in line %d", address, t.line(other))
		return false
	}
	if other, taken := t.bridges[address]; taken {
		t.add(path, "%s is the address of the bridge in line %d", address, t.line(other))
		return false
	}
	t.functions[address] = path
	return true
}

// order keeps invariant 3 for a function or bridge below above; directly below a
// root it is on the root's own bus.
func (t *pciTree) order(path, above string, aboveBus bus, address hardware.PCIAddress, onRoot bool) bool {
	switch {
	case address.Domain != aboveBus.domain:
		t.add(path, "%s is in another PCI domain than %s above it", address, above)
	case onRoot && address.Bus != aboveBus.number:
		t.add(path, "%s is not on bus %02x of %s: name the bridges that lead from the root to it", address, aboveBus.number, above)
	case !onRoot && address.Bus <= aboveBus.number:
		t.add(path, "%s is below %s but on no bus with a higher number", address, above)
	default:
		return true
	}
	return false
}

// connect keeps invariant 2.
func (t *pciTree) connect(path, name string, b bus) bool {
	if known, ok := t.above[b]; ok && known.name != name {
		t.add(path, "bus %s is below %s here and below %s in line %d", b, name, known.name, t.line(known.path))
		return false
	}
	if known, ok := t.below[name]; ok && known.bus != b {
		t.add(path, "%s has bus %s below it here and bus %s in line %d", name, b, known.bus, t.line(known.path))
		return false
	}
	if _, ok := t.above[b]; !ok {
		t.above[b] = link{name, b, path}
	}
	if _, ok := t.below[name]; !ok {
		t.below[name] = link{name, b, path}
	}
	return true
}

// virtual takes the bus of a virtual function up, which may be one after its
// physical function's.
func (t *pciTree) virtual(path, above string, b bus) {
	if known, ok := t.above[b]; ok && known.name != above {
		t.add(path, "a virtual function is on bus %s, which is below %s in line %d", b, known.name, t.line(known.path))
		return
	}
	t.above[b] = link{above, b, path}
}

// parseRoot reads "pci0000:15".
func parseRoot(name string) (bus, bool) {
	if len(name) != len("pci0000:15") || name[:3] != "pci" || name[7] != ':' {
		return bus{}, false
	}
	domain, err1 := strconv.ParseUint(name[3:7], 16, 16)
	number, err2 := strconv.ParseUint(name[8:], 16, 8)
	b := bus{uint16(domain), uint8(number)}
	return b, err1 == nil && err2 == nil && name == "pci"+b.String()
}

// routingID is the part of an address within its domain, as PCIe counts.
func routingID(a hardware.PCIAddress) int {
	return int(a.Bus)<<8 | int(a.Device)<<3 | int(a.Function)
}

// atRoutingID is the reverse, or false beyond the domain's last function.
func atRoutingID(domain uint16, id int) (hardware.PCIAddress, bool) {
	if id > 0xffff {
		return hardware.PCIAddress{}, false
	}
	return hardware.PCIAddress{Domain: domain, Bus: uint8(id >> 8), Device: uint8(id>>3) & 0x1f, Function: uint8(id) & 7}, true
}
