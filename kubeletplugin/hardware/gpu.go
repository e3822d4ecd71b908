package hardware

// GPU is an NVIDIA GPU as NVML describes it.
type GPU struct {
	PCIFunction
	// Minor is N of /dev/nvidiaN, and what the driver's device names count by.
	Minor int
	// UUID is "GPU-" and a UUID.
	UUID string
	// ProductName, Brand ("Nvidia", "Tesla") and Architecture ("Hopper", "Ada
	// Lovelace") as NVIDIA's driver publishes them.
	ProductName, Brand, Architecture string
	// ComputeCapability is "9.0".
	ComputeCapability string
	// AddressingMode is "HMM", "ATS", "None", or empty where NVML does not know.
	AddressingMode string
	// MemoryBytes is the whole framebuffer.
	MemoryBytes uint64
	// ModuleID is the GPU's place on its baseboard, from 1; 0 if it has none.
	ModuleID int
	// Fabric is nil for a GPU outside of an NVLink fabric with cliques.
	Fabric *GPUFabric
	// MIG is nil for a GPU that cannot be partitioned.
	MIG *MIG
	// VGPU is nil where the driver does not host virtual GPUs.
	VGPU *VGPU
	// Unread names what the library did not tell though it should have, as "memory" and
	// UnreadMIG, in the order in which it is asked; nil if it told all. The fields are
	// zero.
	Unread []string
}

// GPUFabric is the NVLink domain that a GPU is in.
type GPUFabric struct {
	// ClusterUUID names the domain and CliqueID the part of it in which every GPU
	// reaches every other.
	ClusterUUID string
	CliqueID    int
	State       FabricState
}

// FabricState is how far the GPU is in joining its fabric (nvmlGpuFabricState_t).
type FabricState int

// The states, by NVML's numbers.
const (
	FabricNotSupported FabricState = iota
	FabricNotStarted
	FabricInProgress
	FabricCompleted
)

// MIG is a GPU's state as a partitionable one.
type MIG struct {
	// Enabled is the current mode, Pending the one after the next reset. On
	// Ampere they differ until the GPU is reset; later ones switch at once.
	Enabled, Pending bool
	// Profiles are the sizes of GPU instances, by Kind.
	Profiles []MIGProfile
	// Instances are the GPU instances that exist, by ID.
	Instances []GPUInstanceState
}

// MIGProfile is one size of GPU instance.
type MIGProfile struct {
	// Name is "1g.10gb+me".
	Name string
	// Kind is NVML's number of the profile, ID the hardware's, which stands in
	// device names: 1g has kind 0 and, on GPUs with seven slices, ID 19.
	Kind GPUInstanceProfileKind
	ID   int
	// MaxInstances is how many of this size fit on an empty GPU.
	MaxInstances int
	// ComputeSlices and MemorySlices are the sizes: 3g.20gb has 3 and 4.
	ComputeSlices, MemorySlices int
	Resources                   MIGResources
	// Placements are the first memory slices at which an instance can begin; it
	// covers Size of them.
	Placements []Placement
}

// Placement is a run of memory slices.
type Placement struct{ Start, Size int }

// MIGResources are what an instance has of the GPU.
type MIGResources struct {
	MemoryBytes     uint64
	Multiprocessors int
	CopyEngines     int
	Decoders        int
	Encoders        int
	JPEGEngines     int
	OFAEngines      int
}

// GPUInstanceState is a GPU instance that exists.
type GPUInstanceState struct {
	ID        int
	ProfileID int
	Placement Placement
	// ComputeInstances in it, by ID.
	ComputeInstances []ComputeInstanceState
}

// ComputeInstanceState is a compute instance that exists: together with its GPU
// instance it is a MIG device.
type ComputeInstanceState struct {
	ID        int
	ProfileID int
	// UUID of the MIG device: "MIG-" and a UUID.
	UUID string
}

// VGPU is a GPU's state as a host of virtual GPUs.
type VGPU struct {
	// MixedSize says whether the host admits types of different sizes at a time
	// (NVML: heterogeneous).
	MixedSize bool
	// Types that the model supports, by ID.
	Types []VGPUType
}

// VGPUType is one kind of virtual GPU.
type VGPUType struct {
	ID int
	// Name is "NVIDIA A100-10C".
	Name             string
	FramebufferBytes uint64
	// MaxInstances on a GPU of equal-size types, and of mixed-size ones; the
	// latter is 0 if the type cannot be mixed.
	MaxInstances, MaxMixed int
	// MIGProfileID is the hardware ID of the profile that backs the type, or -1
	// for one that shares the GPU by time.
	MIGProfileID int
}

// MIGModeNeedsReset says whether a change of the MIG mode waits for a reset of the
// GPU. Those before Hopper do; later ones change it at once.
func (g *GPU) MIGModeNeedsReset() bool { return g.Architecture == "Ampere" }
