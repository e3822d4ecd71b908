package surface

import (
	"fmt"
	"path"

	"github.com/dray-dev/dray/kubeletplugin/hardware"
)

// fpgas writes what the cards' drivers make. Numbers that the kernel hands out
// over all cards are handed out here in the order of the cards.
func (s *surface) fpgas() {
	numbers := fpgaNumbers{render: 128}
	for _, gpu := range s.node.AMDGPUs {
		numbers.render = max(numbers.render, gpu.Render+1)
	}
	for i := range s.node.FPGAs {
		card := &s.node.FPGAs[i]
		switch kindOf(card) {
		case xrt:
			s.xrtCard(card, &numbers)
		case ami:
			s.amiCard(card)
		case dfl:
			s.dflCard(card, &numbers)
		}
	}
}

type fpgaKind int

const (
	plain fpgaKind = iota // no more than any function
	xrt
	ami
	dfl
)

// kindOf says which driver a card has.
func kindOf(card *hardware.FPGA) fpgaKind {
	switch {
	case card.IsVF():
		return plain
	case card.Shell != "" || card.Driver == "xocl":
		return xrt
	case card.Management != nil || card.Driver == "ami":
		return ami
	}
	return dfl
}

// ManagementEngines are the cards that have a device node dfl-fme.N, by N.
func ManagementEngines(node *hardware.Node) []hardware.PCIAddress {
	var cards []hardware.PCIAddress
	for i := range node.FPGAs {
		if kindOf(&node.FPGAs[i]) == dfl {
			cards = append(cards, node.FPGAs[i].Address)
		}
	}
	return cards
}

// fpgaNumbers are the next ones to hand out.
type fpgaNumbers struct{ region, engine, engineRegion, render int }

// next returns a number and counts it.
func next(number *int) int {
	*number++
	return *number - 1
}

// dflCard writes the regions of a card of Intel's: a base region of the whole
// card, in it the management engine with its regions, and the ports.
func (s *surface) dflCard(card *hardware.FPGA, numbers *fpgaNumbers) {
	dir := dirOf(&card.PCIFunction)
	region := func(parent string) string {
		name := fmt.Sprintf("region%d", next(&numbers.region))
		entry := path.Join(parent, "fpga_region", name)
		s.link(path.Join("sys/class/fpga_region", name), entry)
		return entry
	}
	base := region(dir)
	s.link(path.Join(base, "device"), dir)
	number := next(&numbers.engine)
	engine := path.Join(base, fmt.Sprintf("dfl-fme.%d", number))
	s.line(path.Join(engine, "ports_num"), "%d", len(card.Regions))
	s.line(path.Join(engine, "dev"), "%d:%d", majorFPGA, number)
	s.device(path.Base(engine), node(majorFPGA, number))
	for _, r := range card.Regions {
		within := path.Join(engine, fmt.Sprintf("dfl-fme-region.%d", next(&numbers.engineRegion)))
		s.line(path.Join(region(within), "compat_id"), "%s", r.Interface)
		if r.Port == "" {
			continue
		}
		var n int
		if _, err := fmt.Sscanf(r.Port, "dfl-port.%d", &n); err != nil {
			s.errs = append(s.errs, &hardware.DeviceError{Device: "fpga " + card.Address.String(),
				Field: fmt.Sprintf("Regions[%d].Port", r.ID), Err: fmt.Errorf("%q must look like dfl-port.0", r.Port)})
			continue
		}
		port := path.Join(base, r.Port)
		s.line(path.Join(port, "id"), "%d", r.ID)
		s.line(path.Join(port, "dev"), "%d:%d", majorFPGA, minorPort+n)
		if r.Function != "" {
			s.line(path.Join(port, "afu_id"), "%s", r.Function)
		}
		s.device(r.Port, node(majorFPGA, minorPort+n))
	}
}

// minorPort is the first minor of ports.
const minorPort = 256

// management writes the card's other function, by which its owner manages it.
// The node knows its address; its device ID is the one before the user
// function's, as on AMD's cards. It returns the function's directory.
func (s *surface) management(card *hardware.FPGA, driver string) string {
	f := card.PCIFunction
	f.Address = *card.Management
	f.IDs.Device--
	f.Driver = driver
	f.IOMMUGroup = -1
	f.SRIOV = nil
	s.function(&f)
	return dirOf(&f)
}

// xrtCard writes the files of xocl and xclmgmt.
func (s *surface) xrtCard(card *hardware.FPGA, numbers *fpgaNumbers) {
	dir := dirOf(&card.PCIFunction)
	rom := path.Join(dir, "rom.u."+instance(card.Address))
	s.line(path.Join(dir, "user_pf"), "")
	s.line(path.Join(dir, "ready"), "1")
	s.line(path.Join(rom, "VBNV"), "%s", card.Shell)
	s.line(path.Join(rom, "timestamp"), "0")
	s.line(path.Join(rom, "ddr_bank_count_max"), "1")
	s.line(path.Join(rom, "ddr_bank_size"), "%d", card.MemoryBytes>>30)
	controller := path.Join(dir, "xmc.u."+instance(card.Address))
	s.line(path.Join(controller, "bd_name"), "%s", card.Model)
	s.line(path.Join(controller, "serial_num"), "%s", card.Serial)
	render := next(&numbers.render)
	s.drm(dir, fmt.Sprintf("renderD%d", render), render)
	if card.Management == nil {
		return
	}
	management := s.management(card, "xclmgmt")
	s.line(path.Join(management, "mgmt_pf"), "")
	s.line(path.Join(management, "instance"), "%s", instance(*card.Management))
	s.device("xclmgmt"+instance(*card.Management), node(majorManagement, int(card.Management.Bus)))
}

// instance is the number that xocl and xclmgmt make of an address.
func instance(a hardware.PCIAddress) string {
	return fmt.Sprint(int(a.Domain)<<16 | int(a.Bus)<<8 | int(a.Device)<<3 | int(a.Function))
}

// amiCard writes the files of AMI.
func (s *surface) amiCard(card *hardware.FPGA) {
	dir := dirOf(&card.PCIFunction)
	if card.Management != nil {
		dir = s.management(card, "ami")
	}
	s.line(path.Join(dir, "dev_name"), "%s", card.Model)
	s.line(path.Join(dir, "dev_state"), "READY")
	s.line(path.Join(dir, "board_serial"), "%s", card.Serial)
	s.line(path.Join(dir, "memory_size"), "%dGB", card.MemoryBytes>>30)
}
