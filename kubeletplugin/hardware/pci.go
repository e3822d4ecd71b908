package hardware

import (
	"cmp"
	"fmt"
	"regexp"
	"strconv"
)

// PCIAddress is the address of a function, "0000:1b:00.0": domain, bus, device
// and function. It is comparable and sorts as the bus is enumerated.
type PCIAddress struct {
	Domain   uint16
	Bus      uint8
	Device   uint8
	Function uint8
}

var addressForm = regexp.MustCompile(`^([0-9a-f]{4}):([0-9a-f]{2}):([01][0-9a-f])\.([0-7])$`)

// ParsePCIAddress reads the form that sysfs uses: lower-case, domain included.
func ParsePCIAddress(s string) (PCIAddress, error) {
	m := addressForm.FindStringSubmatch(s)
	if m == nil {
		return PCIAddress{}, fmt.Errorf("%q is not a PCI address: it must look like 0000:1b:00.0 "+
			"(domain, bus, device, function; lower-case)", s)
	}
	var parts [4]uint64
	for i := range parts {
		parts[i], _ = strconv.ParseUint(m[i+1], 16, 16) // the expression admits nothing else
	}
	return PCIAddress{uint16(parts[0]), uint8(parts[1]), uint8(parts[2]), uint8(parts[3])}, nil
}

func (a PCIAddress) String() string {
	return fmt.Sprintf("%04x:%02x:%02x.%x", a.Domain, a.Bus, a.Device, a.Function)
}

// Compare orders addresses as the bus is enumerated.
func (a PCIAddress) Compare(b PCIAddress) int {
	return cmp.Or(cmp.Compare(a.Domain, b.Domain), cmp.Compare(a.Bus, b.Bus),
		cmp.Compare(a.Device, b.Device), cmp.Compare(a.Function, b.Function))
}

// MarshalText and UnmarshalText make an address a string in YAML and JSON.
func (a PCIAddress) MarshalText() ([]byte, error) { return []byte(a.String()), nil }

// UnmarshalText is the reverse of MarshalText.
func (a *PCIAddress) UnmarshalText(text []byte) (err error) {
	*a, err = ParsePCIAddress(string(text))
	return err
}

// PCIFunction is one function on the bus, with what sysfs says of every one.
type PCIFunction struct {
	Address PCIAddress
	// Root is the root complex, "pci0000:15", and Bridges are the functions
	// between it and this one, from the root down. Root is empty where the
	// function hangs on a virtual bus without one, as some cloud machines' do.
	Root    string
	Bridges []PCIAddress
	IDs     PCIIDs
	// Class is the 24-bit class code: 0x030200 is a 3D controller.
	Class uint32
	// NUMANode is NoNUMANode where the machine does not tell.
	NUMANode int
	// Driver is the kernel driver that it is bound to, or empty.
	Driver string
	// IOMMUGroup is -1 without an IOMMU.
	IOMMUGroup int
	// SRIOV is nil for a function that is neither physical nor virtual in the
	// sense of SR-IOV.
	SRIOV *SRIOV
}

// PCIIDs name the model.
type PCIIDs struct {
	Vendor, Device                   uint16
	SubsystemVendor, SubsystemDevice uint16
	// VendorName and DeviceName are the names in the PCI ID database, or empty.
	VendorName, DeviceName string
}

// SRIOV is a function's part in single-root I/O virtualization: of a physical
// function TotalVFs and VFs, of a virtual one PhysicalFunction and Index.
type SRIOV struct {
	// TotalVFs is sriov_totalvfs: how many virtual functions there can be.
	TotalVFs int
	// VFs are the addresses of those that there are, by index.
	VFs []PCIAddress
	// PhysicalFunction is nil for a physical function.
	PhysicalFunction *PCIAddress
	// Index is the number N of this function's link virtfnN.
	Index int
}

// IsVF says whether the function is a virtual one.
func (f *PCIFunction) IsVF() bool { return f.SRIOV != nil && f.SRIOV.PhysicalFunction != nil }
