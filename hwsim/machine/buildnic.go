package machine

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/dray-dev/dray/kubeletplugin/hardware"
)

// nicClass is the PCI class of a port: Ethernet or InfiniBand controller.
func nicClass(link hardware.LinkType) uint32 {
	if link == hardware.LinkInfiniBand {
		return 0x020700
	}
	return 0x020000
}

// maxInterfaceName is Linux's IFNAMSIZ without the terminator.
const maxInterfaceName = 15

var deviceNameForm = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9_.-]*$`)

// vfioDriver gives a function to user space: it has neither interface nor RDMA
// device then.
const vfioDriver = "vfio-pci"

// checkNames reports names that Linux would not take, or that are taken, and
// settings that need a physical function.
func (b *nodeBuilder) checkNames(path string, f *function) {
	for _, name := range []struct {
		field, kind, value string
		longest            int
	}{
		{"interface", "interface", f.ifname, maxInterfaceName},
		{"rdma", "RDMA device", f.rdma, maxName},
	} {
		at := path + "." + name.field
		switch {
		case name.value == "":
		case f.bound == vfioDriver:
			b.add(at, "a function that is bound to %s has no %s", vfioDriver, name.kind)
		case len(name.value) > name.longest || !deviceNameForm.MatchString(name.value):
			b.add(at, "%q is not the name of an %s: at most %d letters, digits and _ . -", name.value, name.kind, name.longest)
		default:
			b.unique(at, name.kind, name.value)
		}
	}
	switch e := f.file.Eswitch; {
	case e == "" || f.vf != nil:
	case e != "legacy" && e != "switchdev":
		b.add(path+".eswitch", "%q is neither legacy nor switchdev", e)
	case f.ifname == "":
		b.add(path+".eswitch", "is a setting of the network interface, and there is none")
	}
}

// virtualFunctions makes a function of a model with virtual ones a physical
// function, and collects those.
func (b *nodeBuilder) virtualFunctions(f *function, c chain, m *NICModel) {
	vfs, at := f.file.VFs, f.path+".vfs"
	if m.VF == nil {
		if vfs != nil {
			b.add(at, "model %s has no virtual functions", m.Name)
		}
		if f.file.Eswitch != "" && f.ifname != "" {
			b.add(f.path+".eswitch", "model %s has no virtual functions, so no embedded switch", m.Name)
		}
		return
	}
	f.pci.SRIOV = &hardware.SRIOV{TotalVFs: m.VF.Max}
	if vfs == nil {
		return
	}
	if vfs.Total != 0 {
		f.pci.SRIOV.TotalVFs = vfs.Total
	}
	before := len(b.list)
	b.within(at+".total", f.pci.SRIOV.TotalVFs, 1, m.VF.Max)
	if vfs.Present < 0 || vfs.Present > f.pci.SRIOV.TotalVFs {
		b.add(at+".present", "is %d, but there can be %d at most; see total", vfs.Present, f.pci.SRIOV.TotalVFs)
	}
	b.within(at+".stride", vfs.Stride, 0, 1<<16)
	if vfs.Present > 0 && vfs.First == nil {
		b.add(at+".first", "is missing: the address of virtual function 0")
	} else if vfs.Present > 0 && (vfs.First.Domain != f.pci.Address.Domain || routingID(*vfs.First) <= routingID(f.pci.Address)) {
		b.add(at+".first", "%s does not come after the physical function, %s", vfs.First, f.pci.Address)
	}
	for i, n := range vfs.VFIO {
		if n < 0 || n >= vfs.Present {
			b.add(index(at+".vfio", i), "there is no virtual function %d; %d are present", n, vfs.Present)
		}
	}
	if len(b.list) > before {
		return
	}
	physical := f.pci.Address
	for n := range vfs.Present {
		address, ok := atRoutingID(physical.Domain, routingID(*vfs.First)+n*max(1, vfs.Stride))
		if !ok {
			b.add(at+".present", "virtual function %d is beyond the last bus of PCI domain %04x", n, physical.Domain)
			return
		}
		if !b.tree.function(at+".first", address) || !b.virtualFunction(f, c, m, n, address) || len(b.found) > maxFunctions {
			return
		}
	}
}

// virtualFunction collects one, and says whether it can be.
func (b *nodeBuilder) virtualFunction(f *function, c chain, m *NICModel, n int, address hardware.PCIAddress) bool {
	vfs, at := f.file.VFs, f.path+".vfs"
	v := &function{path: at, file: f.file, model: m, vf: vfs}
	v.pci = f.pci
	v.pci.Address = address
	v.pci.IDs.Vendor, v.pci.IDs.Device, v.pci.IDs.DeviceName = m.VF.IDs.Vendor, m.VF.IDs.Device, m.VF.Device
	v.pci.Driver = m.VF.Driver
	v.pci.SRIOV = &hardware.SRIOV{PhysicalFunction: &f.pci.Address, Index: n}
	if c.root != "" && !c.broken && busOf(address) != busOf(f.pci.Address) {
		b.tree.virtual(at+".first", c.last, busOf(address))
	}
	f.pci.SRIOV.VFs = append(f.pci.SRIOV.VFs, address)
	b.found = append(b.found, v)
	before := len(b.list)
	if slices.Contains(vfs.VFIO, n) {
		v.bound, v.pci.Driver = vfioDriver, vfioDriver
		return true
	}
	var err error
	if v.ifname, err = expandVF(vfs.Interface, n); err != nil {
		b.add(at+".interface", "%v", err)
	}
	if v.rdma, err = expandVF(vfs.RDMA, n); err != nil {
		b.add(at+".rdma", "%v", err)
	}
	if len(b.list) == before {
		b.checkNames(at, v)
	}
	return len(b.list) == before
}

var vfForm = regexp.MustCompile(`\{vf(\+([0-9]{1,4}))?\}`)

// expandVF puts the number of a virtual function into a name.
func expandVF(name string, n int) (string, error) {
	if name == "" {
		return "", nil
	}
	matches := vfForm.FindAllStringSubmatchIndex(name, -1)
	if matches == nil {
		return "", fmt.Errorf("%q is the same name for all: it must have {vf} in it", name)
	}
	var out strings.Builder
	end := 0
	for _, m := range matches {
		value := n
		if m[4] >= 0 {
			plus, _ := strconv.Atoi(name[m[4]:m[5]]) // the expression admits nothing else
			value += plus
		}
		out.WriteString(name[end:m[0]])
		out.WriteString(strconv.Itoa(value))
		end = m[1]
	}
	out.WriteString(name[end:])
	return out.String(), nil
}

// nics builds the node's network functions, virtual ones included. Hardware
// addresses are the instance's.
func (b *nodeBuilder) nics() {
	uverbs := 0
	each(b, func(f *function, m *NICModel) {
		nic := hardware.NIC{PCIFunction: f.pci, Interface: f.ifname, Link: m.Link}
		if f.ifname != "" {
			nic.MTU = m.MTU
		}
		if f.ifname != "" || f.rdma != "" {
			nic.Up = !f.file.Down
			nic.SpeedMbps = m.SpeedMbps
		}
		if f.rdma != "" {
			nic.RDMA = &hardware.RDMA{Device: f.rdma, Uverbs: uverbs}
			uverbs++
		}
		if !f.pci.IsVF() {
			nic.Eswitch = f.file.Eswitch
		}
		b.node.NICs = append(b.node.NICs, nic)
	})
}
