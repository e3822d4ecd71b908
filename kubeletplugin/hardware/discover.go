package hardware

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
)

// Discover reads what devices the machine has. It takes
//
//   - the functions on the PCI bus and the NUMA nodes from sysfs,
//   - NVIDIA GPUs from the library: a GPU that the library does not list, because
//     it is bound to vfio-pci, is none of the Node's. Without a library (gpus is
//     nil), or where it says that there is none or that the driver is not loaded,
//     the Node has no GPUs and no GPUDriver, which is no error,
//   - AMD GPUs that are bound to amdgpu, with what it and kfd say of them,
//   - every network function, also those bound to vfio-pci,
//   - FPGA cards of Intel's DFL and of AMD's XRT and AMI drivers.
//
// One broken device does not hide the others: it is left out, and the error is
// all the DeviceErrors, joined, beside a Node that a driver can go on with. An NVIDIA
// GPU that says which one it is stays, with what the library told of it (GPU.Unread). A
// file that is there and cannot be read is such an error as well, with the file
// as its Field, even where the device can do without it. The Node is nil only if
// the PCI bus cannot be read at all. It is valid in the sense of Validate
// whatever the files contain, and its lists are nil if empty.
//
// Discover initializes the library and shuts it down again; both count, so a
// caller's own handles stay valid.
func Discover(host Host, gpus GPULibrary) (*Node, error) {
	d := &discovery{node: &Node{}, virtual: map[string]virtualFunctions{},
		used: map[PCIAddress]bool{}, failed: map[PCIAddress]bool{}, reported: map[string]bool{}}
	d.files = files{host, d.reportFile}
	if err := d.readBus(); err != nil {
		return nil, err
	}
	d.readNUMANodes()
	d.readGPUs(gpus)
	d.readAMDGPUs()
	d.readFPGAs() // before network functions: an FPGA on a network card is an FPGA
	d.readNICs()
	d.sort()
	d.dropInvalid()
	return d.node, errors.Join(d.errs...)
}

// discovery is one run of Discover.
type discovery struct {
	files
	node *Node
	errs []error
	// bus is the functions that there are, sorted.
	bus   []PCIAddress
	paths map[PCIAddress]string // of a function's directory below the root
	names *pciNames             // nil until it is needed
	// virtual holds the virtual functions of the directories that were asked for.
	virtual map[string]virtualFunctions
	// used holds the functions that are a device of the Node.
	used map[PCIAddress]bool
	// failed holds those that are no FPGA card because of an error.
	failed map[PCIAddress]bool
	// reported holds the files that cannot be read.
	reported map[string]bool
}

// report records an error of one device.
func (d *discovery) report(device, field string, err error) {
	d.errs = append(d.errs, &DeviceError{device, field, err})
}

// reportFile records once that a file cannot be read, as an error of the PCI
// function in whose directory it is, or of the host.
func (d *discovery) reportFile(name string, err error) {
	if d.reported[name] {
		return
	}
	d.reported[name] = true
	device := "host"
	for element := range strings.SplitSeq(name, "/") {
		if address, err := ParsePCIAddress(element); err == nil {
			device = at("pci function", address) // the last one: others are bridges
		}
	}
	if of := (*fs.PathError)(nil); errors.As(err, &of) {
		err = of.Err // its name is the field
	}
	d.report(device, name, err)
}

func (d *discovery) sort() {
	slices.SortFunc(d.node.GPUs, func(a, b GPU) int { return a.Address.Compare(b.Address) })
	slices.SortFunc(d.node.AMDGPUs, func(a, b AMDGPU) int { return a.Address.Compare(b.Address) })
	slices.SortFunc(d.node.NICs, func(a, b NIC) int { return a.Address.Compare(b.Address) })
	slices.SortFunc(d.node.FPGAs, func(a, b FPGA) int { return a.Address.Compare(b.Address) })
}

// dropInvalid leaves out what breaks an invariant, until nothing does: without a
// physical function, say, its virtual ones go next. A NUMA topology that
// contradicts itself goes as a whole.
func (d *discovery) dropInvalid() {
	for {
		problems := d.node.check()
		if len(problems) == 0 {
			return
		}
		drop := map[PCIAddress]bool{}
		for _, p := range problems {
			d.errs = append(d.errs, p.DeviceError())
			if p.blamed != nil {
				drop[*p.blamed] = true
			} else {
				d.dropNUMANodes()
			}
		}
		n := d.node
		n.GPUs = slices.DeleteFunc(n.GPUs, func(g GPU) bool { return drop[g.Address] })
		n.AMDGPUs = slices.DeleteFunc(n.AMDGPUs, func(g AMDGPU) bool { return drop[g.Address] })
		n.NICs = slices.DeleteFunc(n.NICs, func(n NIC) bool { return drop[n.Address] })
		n.FPGAs = slices.DeleteFunc(n.FPGAs, func(f FPGA) bool { return drop[f.Address] })
		d.nilEmpty()
	}
}

func (d *discovery) dropNUMANodes() {
	d.node.NUMANodes = nil
	for _, list := range d.node.devices() {
		for _, device := range list {
			device.NUMANode = NoNUMANode
		}
	}
}

func (d *discovery) nilEmpty() {
	n := d.node
	if len(n.GPUs) == 0 {
		n.GPUs = nil
	}
	if len(n.AMDGPUs) == 0 {
		n.AMDGPUs = nil
	}
	if len(n.NICs) == 0 {
		n.NICs = nil
	}
	if len(n.FPGAs) == 0 {
		n.FPGAs = nil
	}
}

// at is how errors name a function before its kind is known to matter.
func at(kind string, address PCIAddress) string { return fmt.Sprintf("%s %s", kind, address) }
