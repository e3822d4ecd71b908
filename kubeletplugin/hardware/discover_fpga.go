package hardware

import (
	"path"
	"slices"
	"strconv"
	"strings"
)

// readFPGAs reads cards of three drivers:
//
//	dfl-pci   Intel and others: fpga_region/regionN below the function, with the
//	          management engine dfl-fme.N, its regions and the ports dfl-port.N
//	xocl      AMD Alveo with XRT: the user function has the file user_pf; the
//	          management function in the same slot has mgmt_pf
//	ami       AMD's Versal cards: the function that is bound to it manages, the
//	          other one in the slot is the users'
//
// Virtual functions of a card are cards as well.
func (d *discovery) readFPGAs() {
	d.readDFLCards()
	for _, address := range d.bus {
		dir := d.paths[address]
		driver, _ := d.driver(dir)
		switch {
		case d.exists(path.Join(dir, "user_pf")):
			d.addFPGA(address, d.xrtCard)
		case driver == "ami":
			if user, ok := d.neighbour(address, nil); ok {
				d.addFPGA(user, func(card *FPGA) error { return d.amiCard(card, address) })
			} else {
				d.addFPGA(address, func(card *FPGA) error { return d.amiCard(card, address) })
			}
		}
	}
	d.readFPGAVirtualFunctions()
}

// addFPGA reads the function, and then the rest of the card. It does so once,
// also where that fails: each function in a slot may lead to it.
func (d *discovery) addFPGA(address PCIAddress, read func(*FPGA) error) {
	if d.used[address] || d.failed[address] {
		return
	}
	function, err := d.function(address)
	card := FPGA{PCIFunction: function}
	if err == nil {
		err = read(&card)
	}
	if err != nil {
		d.failed[address] = true
		d.report(at("fpga", address), "", err)
		return
	}
	d.used[address] = true
	if card.Management != nil {
		d.used[*card.Management] = true
	}
	d.node.FPGAs = append(d.node.FPGAs, card)
}

// neighbour is the first other function in the slot, with the file if one is
// named.
func (d *discovery) neighbour(address PCIAddress, file *string) (PCIAddress, bool) {
	for _, other := range d.bus {
		if other != address && slotOf(other) == slotOf(address) &&
			(file == nil || d.exists(path.Join(d.paths[other], *file))) {
			return other, true
		}
	}
	return PCIAddress{}, false
}

// dflCards are what DFL does not tell of a card: what it is sold as and the
// memory on it, by Intel's device IDs, of which those of virtual functions are
// the second of a pair. General knowledge.
var dflCards = map[uint16]struct {
	model  string
	memory uint64
}{
	0x09c4: {"Intel PAC with Arria 10 GX", 8 << 30}, 0x09c5: {"Intel PAC with Arria 10 GX", 8 << 30},
	0x0b2b: {"Intel FPGA PAC D5005", 32 << 30}, 0x0b2c: {"Intel FPGA PAC D5005", 32 << 30},
}

const intelVendor = 0x8086

// describeDFL fills what the IDs say.
func describeDFL(card *FPGA) {
	card.Model = card.IDs.DeviceName
	if known, ok := dflCards[card.IDs.Device]; ok && card.IDs.Vendor == intelVendor {
		card.Model, card.MemoryBytes = known.model, known.memory
	}
}

// readDFLCards reads the functions that have a base region.
func (d *discovery) readDFLCards() {
	bases := map[PCIAddress]string{}           // directory of the base region
	regions := map[PCIAddress]map[int]string{} // number of dfl-fme-region.N to the directory of its region
	for _, entry := range d.class("fpga_region") {
		w := entry.within
		switch {
		case len(w) == 2 && w[0] == "fpga_region":
			bases[entry.function] = entry.dir
		case len(w) == 6 && w[0] == "fpga_region" && w[4] == "fpga_region":
			if n, ok := suffixNumber(w[3], "dfl-fme-region."); ok {
				if regions[entry.function] == nil {
					regions[entry.function] = map[int]string{}
				}
				regions[entry.function][n] = entry.dir
			}
		}
	}
	for _, address := range d.bus {
		base, ok := bases[address]
		if !ok {
			continue
		}
		d.addFPGA(address, func(card *FPGA) error {
			describeDFL(card)
			return d.dflRegions(card, base, regions[address])
		})
	}
}

// dflRegions reads the regions in the order in which the kernel made them, which
// is that of the ports' IDs, and the port of each: one that was assigned to a
// virtual function is not here.
func (d *discovery) dflRegions(card *FPGA, base string, regions map[int]string) error {
	ports := map[uint64]string{}
	for _, name := range d.list(base) {
		if _, ok := suffixNumber(name, "dfl-port."); ok {
			id, err := d.number(path.Join(base, name, "id"), 31, nil)
			if err != nil {
				return err
			}
			ports[id] = name
		}
	}
	numbers := make([]int, 0, len(regions))
	for n := range regions {
		numbers = append(numbers, n)
	}
	slices.Sort(numbers)
	for id, n := range numbers {
		compatible, err := d.text(path.Join(regions[n], "compat_id"))
		if err != nil {
			return err
		}
		region := FPGARegion{ID: id, Interface: compatible, Port: ports[uint64(id)]}
		if region.Port != "" {
			// A port in reset, or without a function, does not tell.
			region.Function = d.optional(path.Join(base, region.Port, "afu_id"))
		}
		card.Regions = append(card.Regions, region)
	}
	return nil
}

// xrtCard reads what xocl and its subdevices tell: the feature ROM the shell and
// the banks of memory, the management controller the board.
func (d *discovery) xrtCard(card *FPGA) error {
	dir := d.paths[card.Address]
	rom := d.child(dir, "rom.")
	shell, err := d.text(path.Join(rom, "VBNV"))
	if err != nil {
		return err
	}
	card.Shell = shell
	banks, err := d.number(path.Join(rom, "ddr_bank_count_max"), 16, new(uint64))
	if err != nil {
		return err
	}
	gib, err := d.number(path.Join(rom, "ddr_bank_size"), 16, new(uint64))
	if err != nil {
		return err
	}
	card.MemoryBytes = banks * gib << 30
	controller := d.child(dir, "xmc.u.")
	if controller == "" {
		controller = d.child(dir, "hwmon_sdm.u.")
	}
	if controller != "" {
		card.Model = d.optional(path.Join(controller, "bd_name"))
		card.Serial = d.optional(path.Join(controller, "serial_num"))
	}
	if card.Model == "" {
		card.Model = card.IDs.DeviceName
	}
	file := "mgmt_pf"
	if management, ok := d.neighbour(card.Address, &file); ok { // a virtual machine may lack it
		card.Management = &management
	}
	return nil
}

// child is the directory of the first subdevice with the prefix, or empty.
func (d *discovery) child(dir, prefix string) string {
	for _, name := range d.list(dir) {
		if strings.HasPrefix(name, prefix) {
			return path.Join(dir, name)
		}
	}
	return ""
}

// amiCard reads what AMI tells of the board, which stands with the managing
// function.
func (d *discovery) amiCard(card *FPGA, management PCIAddress) error {
	dir := d.paths[management]
	model, err := d.text(path.Join(dir, "dev_name"))
	if err != nil {
		return err
	}
	card.Model = model
	card.Serial = d.optional(path.Join(dir, "board_serial"))
	card.MemoryBytes = memoryGB(d.optional(path.Join(dir, "memory_size")))
	if management != card.Address {
		card.Management = &management
	}
	return nil
}

// memoryGB reads "64GB" or "64"; 0 for "N/A" and anything else.
func memoryGB(text string) uint64 {
	digits := strings.TrimRight(text, " GB")
	n, err := strconv.ParseUint(digits, 10, 16)
	if err != nil {
		return 0
	}
	return n << 30
}

// readFPGAVirtualFunctions adds those of the cards, which have no files of the
// card's driver if they are bound to vfio-pci.
func (d *discovery) readFPGAVirtualFunctions() {
	cards := map[PCIAddress]*FPGA{}
	for _, card := range d.node.FPGAs {
		cards[card.Address] = &card
	}
	for _, address := range d.bus {
		target, ok := d.optionalTarget(path.Join(d.paths[address], "physfn"))
		if !ok {
			continue
		}
		physical, err := ParsePCIAddress(path.Base(target))
		card, ok := cards[physical]
		if err != nil || !ok {
			continue
		}
		d.addFPGA(address, func(vf *FPGA) error {
			describeDFL(vf)
			if vf.Model == "" {
				vf.Model = card.Model
			}
			return nil
		})
	}
}
