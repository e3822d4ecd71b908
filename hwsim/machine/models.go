package machine

import (
	"fmt"
	"regexp"
	"strconv"

	"github.com/dray-dev/dray/kubeletplugin/hardware"
)

// Models are products that machines are made of, with the tables that they refer
// to by name. All five kinds of model share one space of names; tables of each
// kind have their own.
type Models struct {
	GPUs          []GPUModel    `json:"gpus,omitempty"`
	MIGTables     []MIGTable    `json:"migTables,omitempty"`
	MIGGeometries []MIGGeometry `json:"migGeometries,omitempty"`
	VGPUTables    []VGPUTable   `json:"vgpuTables,omitempty"`
	AMDGPUs       []AMDGPUModel `json:"amdgpus,omitempty"`
	NICs          []NICModel    `json:"nics,omitempty"`
	FPGAs         []FPGAModel   `json:"fpgas,omitempty"`
}

// PCIModel is what all models have.
type PCIModel struct {
	// Name in machine files: "h100-sxm".
	Name string `json:"name"`
	// Product is the name that its vendor gives it.
	Product  string     `json:"product"`
	Evidence []Evidence `json:"evidence,omitempty"`
	// IDs are vendor and device, "10de:2330", and Subsystem the same of the card.
	IDs       IDPair  `json:"ids"`
	Subsystem *IDPair `json:"subsystem,omitempty"`
	// Vendor and Device are the names in the PCI ID database.
	Vendor string `json:"vendor,omitempty"`
	Device string `json:"device,omitempty"`
	// Driver is the kernel driver that the function is bound to.
	Driver string `json:"driver,omitempty"`
}

// GPUModel is an NVIDIA GPU. Product is the name that NVML reports.
type GPUModel struct {
	PCIModel          `json:",inline"`
	Brand             string `json:"brand"`
	Architecture      string `json:"architecture"`
	ComputeCapability string `json:"computeCapability"`
	// Addressing is "HMM", "ATS", "None", or empty if the driver decides.
	Addressing string `json:"addressing,omitempty"`
	// MemoryMiB is the whole framebuffer.
	MemoryMiB int `json:"memoryMiB"`
	// TotalVFs is sriov_totalvfs; 0 for a GPU without SR-IOV.
	TotalVFs int `json:"totalVFs,omitempty"`
	// MIG names the table of profiles; empty for a GPU that cannot be partitioned,
	// or whose profiles are not known well enough.
	MIG string `json:"mig,omitempty"`
	// VGPU names the table of virtual GPUs.
	VGPU string `json:"vgpu,omitempty"`
}

// MIGTable is what the instances of each profile have.
type MIGTable struct {
	Name     string     `json:"name"`
	Evidence []Evidence `json:"evidence,omitempty"`
	// Geometry names the table of sizes that the profiles are of.
	Geometry string       `json:"geometry"`
	Profiles []MIGProfile `json:"profiles"`
}

// MIGProfile is a row of a MIGTable.
type MIGProfile struct {
	// Profile is "1g.10gb+me", Size that of the geometry, "1g+me".
	Profile   string `json:"profile"`
	Size      string `json:"size"`
	MemoryMiB int    `json:"memoryMiB"`
	SMs       int    `json:"sms"`
	Copy      int    `json:"copy"`
	Decoders  int    `json:"decoders"`
	Encoders  int    `json:"encoders,omitempty"`
	JPEG      int    `json:"jpeg"`
	OFA       int    `json:"ofa"`
	// Confidence of this row, where it is not the table's.
	Confidence Confidence `json:"confidence,omitempty"`
}

// MIGGeometry is how a family of GPUs is cut: which sizes of instances there are
// and where they fit.
type MIGGeometry struct {
	Name     string     `json:"name"`
	Evidence []Evidence `json:"evidence,omitempty"`
	// MemorySlices is how many there are.
	MemorySlices int       `json:"memorySlices"`
	Sizes        []MIGSize `json:"sizes"`
}

// MIGSize is a row of a MIGGeometry.
type MIGSize struct {
	// Size is one of sizeKinds: "1g", "1g+me", "1g.double".
	Size string `json:"size"`
	// ID is the hardware's.
	ID      int `json:"id"`
	Max     int `json:"max"`
	Compute int `json:"compute"`
	Memory  int `json:"memory"`
	// Starts are the first memory slices of its placements.
	Starts []int `json:"starts"`
}

// sizeKinds are the names of sizes, by NVML's number of the profile. "double" has
// twice the memory; "me" are the media engines.
var sizeKinds = [hardware.GPUInstanceProfileKinds]string{
	hardware.GPUInstance1Slice:      "1g",
	hardware.GPUInstance2Slice:      "2g",
	hardware.GPUInstance3Slice:      "3g",
	hardware.GPUInstance4Slice:      "4g",
	hardware.GPUInstance7Slice:      "7g",
	hardware.GPUInstance8Slice:      "8g",
	hardware.GPUInstance6Slice:      "6g",
	hardware.GPUInstance1SliceRev1:  "1g+me",
	hardware.GPUInstance2SliceRev1:  "2g+me",
	hardware.GPUInstance1SliceRev2:  "1g.double",
	hardware.GPUInstance1SliceGfx:   "1g+gfx",
	hardware.GPUInstance2SliceGfx:   "2g+gfx",
	hardware.GPUInstance4SliceGfx:   "4g+gfx",
	hardware.GPUInstance1SliceNoMe:  "1g-me",
	hardware.GPUInstance2SliceNoMe:  "2g-me",
	hardware.GPUInstance1SliceAllMe: "1g+me.all",
	hardware.GPUInstance2SliceAllMe: "2g+me.all",
	hardware.GPUInstance3SliceGfx:   "3g+gfx",
}

// VGPUTable is the virtual GPUs that a model can be host of.
type VGPUTable struct {
	Name     string     `json:"name"`
	Evidence []Evidence `json:"evidence,omitempty"`
	// MixedSize says whether the model can have different sizes at a time.
	MixedSize bool       `json:"mixedSize,omitempty"`
	Types     []VGPUType `json:"types"`
}

// VGPUType is a row of a VGPUTable.
type VGPUType struct {
	ID int `json:"id"`
	// Name is "NVIDIA A100-10C".
	Name      string `json:"name"`
	MemoryMiB int    `json:"memoryMiB"`
	// Max is how many fit on a GPU, and MaxMixed how many of them where sizes are
	// mixed; 0 for a type that cannot be mixed.
	Max      int `json:"max"`
	MaxMixed int `json:"maxMixed,omitempty"`
	// Profile is the MIG profile that backs the type; empty for one that shares the
	// GPU by time.
	Profile string `json:"profile,omitempty"`
}

// AMDGPUModel is an AMD accelerator.
type AMDGPUModel struct {
	PCIModel     `json:",inline"`
	MemoryMiB    int `json:"memoryMiB"`
	ComputeUnits int `json:"computeUnits"`
	SIMDUnits    int `json:"simdUnits"`
	// Modes are the partition modes that can be set, the default first.
	Modes []AMDMode `json:"modes,omitempty"`
}

// AMDMode is a pair of partition modes, and how many devices the accelerator then is.
type AMDMode struct {
	Compute    string `json:"compute"`
	Memory     string `json:"memory"`
	Partitions int    `json:"partitions"`
}

// NICModel is a port of a network card.
type NICModel struct {
	PCIModel `json:",inline"`
	Link     hardware.LinkType `json:"link"`
	// SpeedMbps is the port's, 0 if the driver does not tell.
	SpeedMbps int `json:"speedMbps,omitempty"`
	MTU       int `json:"mtu"`
	// VF is the model's virtual function; nil without SR-IOV.
	VF *VFModel `json:"vf,omitempty"`
}

// VFModel is the virtual functions of a NICModel.
type VFModel struct {
	// Max is how many the hardware can have.
	Max    int    `json:"max"`
	IDs    IDPair `json:"ids"`
	Device string `json:"device,omitempty"`
	Driver string `json:"driver,omitempty"`
}

// FPGAModel is an FPGA card.
type FPGAModel struct {
	PCIModel  `json:",inline"`
	MemoryMiB int `json:"memoryMiB"`
	// Shell is what the static region holds; empty for cards without shells.
	Shell string `json:"shell,omitempty"`
	// SerialPrefix begins the serial numbers of cards that have one.
	SerialPrefix string       `json:"serialPrefix,omitempty"`
	Regions      []RegionFile `json:"regions,omitempty"`
}

// IDPair is a vendor's number and a device's, "10de:2330".
type IDPair struct{ Vendor, Device uint16 }

var idPairForm = regexp.MustCompile(`^([0-9a-f]{4}):([0-9a-f]{4})$`)

func (p IDPair) String() string { return fmt.Sprintf("%04x:%04x", p.Vendor, p.Device) }

// MarshalText is the form in files.
func (p IDPair) MarshalText() ([]byte, error) { return []byte(p.String()), nil }

// UnmarshalText is the reverse of MarshalText.
func (p *IDPair) UnmarshalText(text []byte) error {
	m := idPairForm.FindSubmatch(text)
	if m == nil {
		return fmt.Errorf("%q is not a pair of PCI IDs: it must look like 10de:2330, in lower-case", text)
	}
	vendor, _ := strconv.ParseUint(string(m[1]), 16, 16) // the expression admits nothing else
	device, _ := strconv.ParseUint(string(m[2]), 16, 16)
	*p = IDPair{uint16(vendor), uint16(device)}
	return nil
}
