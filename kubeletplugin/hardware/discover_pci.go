package hardware

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"
)

const busDir = "sys/bus/pci/devices"

// pciDatabases are where distributions keep the PCI ID database.
var pciDatabases = []string{"usr/share/misc/pci.ids", "usr/share/hwdata/pci.ids"}

// readBus finds the functions. Domains above ffff, which Intel's VMD uses for
// disks, are passed over: no device of the model is there. A machine without the
// directory has no bus.
func (d *discovery) readBus() error {
	d.paths = map[PCIAddress]string{}
	entries, err := fs.ReadDir(d.host, busDir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("the PCI bus: %w", err)
	}
	for _, entry := range entries {
		address, err := ParsePCIAddress(entry.Name())
		if err != nil {
			continue
		}
		target, err := d.target(path.Join(busDir, entry.Name()))
		if err != nil {
			d.report(at("pci function", address), "", err)
			continue
		}
		if path.Base(target) != entry.Name() {
			d.report(at("pci function", address), "", fmt.Errorf("its link leads to %s, which is another's directory", target))
			continue
		}
		d.paths[address] = target
	}
	d.bus = slices.SortedFunc(maps.Keys(d.paths), PCIAddress.Compare)
	return nil
}

// function reads what sysfs says of every function.
func (d *discovery) function(address PCIAddress) (PCIFunction, error) {
	dir, ok := d.paths[address]
	if !ok {
		return PCIFunction{}, fmt.Errorf("%s/%s: %w", busDir, address, fs.ErrNotExist)
	}
	f := PCIFunction{Address: address, NUMANode: NoNUMANode, IOMMUGroup: -1}
	f.Root, f.Bridges = rootAndBridges(dir)
	var errs []error
	number := func(name string, bits int, missing *uint64) uint64 {
		n, err := d.number(path.Join(dir, name), bits, missing)
		errs = append(errs, err)
		return n
	}
	f.IDs.Vendor = uint16(number("vendor", 16, nil))
	f.IDs.Device = uint16(number("device", 16, nil))
	f.IDs.SubsystemVendor = uint16(number("subsystem_vendor", 16, new(uint64)))
	f.IDs.SubsystemDevice = uint16(number("subsystem_device", 16, new(uint64)))
	f.Class = uint32(number("class", 24, nil))
	errs = append(errs, d.location(dir, &f))
	if err := errors.Join(errs...); err != nil {
		return PCIFunction{}, err
	}
	sriov, err := d.sriov(address, dir)
	if err != nil {
		return PCIFunction{}, err
	}
	f.SRIOV = sriov
	f.IDs.VendorName, f.IDs.DeviceName = d.pciNamesOf(f.IDs)
	return f, nil
}

// rootAndBridges reads the path of a function's directory:
// sys/devices/pci0000:15/0000:15:01.0/0000:16:00.0/0000:18:00.0.
func rootAndBridges(dir string) (root string, bridges []PCIAddress) {
	elements := strings.Split(strings.TrimPrefix(dir, "sys/devices/"), "/")
	if rootForm.MatchString(elements[0]) {
		root = elements[0]
	}
	for _, element := range elements[:len(elements)-1] {
		if bridge, err := ParsePCIAddress(element); err == nil {
			bridges = append(bridges, bridge)
		}
	}
	return root, bridges
}

// location reads where the function is and who drives it.
func (d *discovery) location(dir string, f *PCIFunction) error {
	if text := d.optional(path.Join(dir, "numa_node")); text != "" {
		node, err := strconv.ParseInt(text, 10, 32)
		if err != nil {
			return fmt.Errorf("%s/numa_node holds %s, which must be a node or -1", dir, quoteShort(text))
		}
		f.NUMANode = d.numaNode(f.Address, int(node))
	}
	var err error
	if f.Driver, err = d.driver(dir); err != nil {
		return err
	}
	if group, ok := d.optionalTarget(path.Join(dir, "iommu_group")); ok {
		number, ok := suffixNumber(path.Base(group), "")
		if !ok {
			return fmt.Errorf("%s/iommu_group leads to %s, which must end in the number of a group", dir, group)
		}
		f.IOMMUGroup = number
	}
	return nil
}

// driver is the name of a function's driver, or empty.
func (d *discovery) driver(dir string) (string, error) {
	target, ok := d.optionalTarget(path.Join(dir, "driver"))
	if !ok {
		return "", nil
	}
	drivers, name := path.Split(target)
	if path.Base(drivers) != "drivers" {
		return "", fmt.Errorf("%s/driver leads to /%s, which must be a directory in one called drivers", dir, target)
	}
	return name, nil
}

// numaNode is the node, or none if the machine has no such node: a device is
// worth more than its locality.
func (d *discovery) numaNode(address PCIAddress, id int) int {
	if id < 0 {
		return NoNUMANode
	}
	if !slices.ContainsFunc(d.node.NUMANodes, func(n NUMANode) bool { return n.ID == id }) {
		d.report(at("pci function", address), "numa_node",
			fmt.Errorf("there is no NUMA node %d on the machine; the function is taken to belong to none", id))
		return NoNUMANode
	}
	return id
}

// sriov is nil for a function without part in it.
func (d *discovery) sriov(address PCIAddress, dir string) (*SRIOV, error) {
	if pf, ok := d.optionalTarget(path.Join(dir, "physfn")); ok {
		physical, err := ParsePCIAddress(path.Base(pf))
		if err != nil {
			return nil, fmt.Errorf("%s/physfn: %w", dir, err)
		}
		vfs, err := d.virtualFunctions(pf)
		if err != nil {
			return nil, err
		}
		index := slices.Index(vfs, address)
		if index < 0 {
			return nil, fmt.Errorf("%s/physfn: of the %d links virtfn0, virtfn1… of %s none leads back", dir, len(vfs), physical)
		}
		return &SRIOV{PhysicalFunction: &physical, Index: index}, nil
	}
	if !d.exists(path.Join(dir, "sriov_totalvfs")) {
		return nil, nil
	}
	total, err := d.number(path.Join(dir, "sriov_totalvfs"), 16, nil)
	if err != nil {
		return nil, err
	}
	vfs, err := d.virtualFunctions(dir)
	if err != nil {
		return nil, err
	}
	return &SRIOV{TotalVFs: int(total), VFs: vfs}, nil
}

// virtualFunctions is what a physical function's directory says of them.
type virtualFunctions struct {
	list []PCIAddress
	err  error
}

// virtualFunctions reads a physical function's directory once, also where that
// fails: each of its virtual functions asks.
func (d *discovery) virtualFunctions(dir string) ([]PCIAddress, error) {
	known, ok := d.virtual[dir]
	if !ok {
		known.list, known.err = d.readVirtualFunctions(dir)
		d.virtual[dir] = known
	}
	return slices.Clone(known.list), known.err
}

// readVirtualFunctions reads the links virtfn0, virtfn1… The kernel numbers them
// without gaps: what is behind one is left out and reported.
func (d *discovery) readVirtualFunctions(dir string) (vfs []PCIAddress, err error) {
	for {
		link := path.Join(dir, fmt.Sprintf("virtfn%d", len(vfs)))
		target, err := d.target(link)
		if errors.Is(err, fs.ErrNotExist) {
			for _, name := range d.list(dir) {
				if n, ok := suffixNumber(name, "virtfn"); ok && n > len(vfs) {
					d.reportFile(link, fmt.Errorf("it is missing, while there is %s; virtual functions from there on are left out", name))
				}
			}
			return vfs, nil
		}
		if err != nil {
			return nil, err
		}
		vf, err := ParsePCIAddress(path.Base(target))
		if err != nil {
			return nil, fmt.Errorf("%s: %w", link, err)
		}
		vfs = append(vfs, vf)
	}
}

// pciNamesOf looks the IDs up in the machine's database; without one, or without
// an entry in it, the names are empty.
func (d *discovery) pciNamesOf(ids PCIIDs) (vendor, device string) {
	if d.names == nil {
		d.names = &pciNames{}
		for _, name := range pciDatabases {
			file, err := d.host.Open(name)
			if err != nil {
				if !errors.Is(err, fs.ErrNotExist) {
					d.reportFile(name, err)
				}
				continue
			}
			names, err := readPCINames(file)
			file.Close()
			if err != nil {
				d.report("pci id database", name, err)
				continue
			}
			d.names = &names
			break
		}
	}
	return d.names.vendors[ids.Vendor], d.names.devices[[2]uint16{ids.Vendor, ids.Device}]
}
