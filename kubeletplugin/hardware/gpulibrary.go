package hardware

import (
	"strconv"
	"time"
)

// GPULibrary is what the driver asks NVIDIA's management library, in plain Go
// types. Its calls are NVML's by meaning; the name of the NVML function stands
// beside each. Handles stay valid until Shutdown or until what they name is
// destroyed, after which calls fail with ErrGPUNotFound.
//
// All errors match one of the values in gpuerror.go. All calls may be made from
// any goroutine.
type GPULibrary interface {
	// Init loads the library; it fails with ErrGPULibraryNotFound or
	// ErrGPUDriverNotLoaded on a machine without (nvmlInit_v2). It counts: the last
	// Shutdown of as many ends the use.
	Init() error
	// Shutdown frees what Init took (nvmlShutdown).
	Shutdown() error
	// DriverVersion is "580.126.20" (nvmlSystemGetDriverVersion).
	DriverVersion() (string, error)
	// CUDADriverVersion is 1000 × major + 10 × minor (nvmlSystemGetCudaDriverVersion_v2).
	CUDADriverVersion() (int, error)
	// DeviceCount counts GPUs (nvmlDeviceGetCount_v2).
	DeviceCount() (int, error)
	// DeviceByIndex counts from 0, by PCI address (nvmlDeviceGetHandleByIndex_v2).
	DeviceByIndex(index int) (GPUDevice, error)
	// DeviceByUUID finds a GPU or a MIG device (nvmlDeviceGetHandleByUUID).
	DeviceByUUID(uuid string) (GPUDevice, error)
	// DeviceByPCIAddress (nvmlDeviceGetHandleByPciBusId_v2).
	DeviceByPCIAddress(address PCIAddress) (GPUDevice, error)
	// NewEventSet (nvmlEventSetCreate).
	NewEventSet() (GPUEventSet, error)
}

// GPUDevice is the handle of a GPU. A MIG device has a handle as well; of the
// calls it answers those under "MIG devices", UUID and Memory.
type GPUDevice interface {
	// UUID is "GPU-…" or "MIG-…" (nvmlDeviceGetUUID).
	UUID() (string, error)
	// Name is the product's (nvmlDeviceGetName).
	Name() (string, error)
	// Brand is "Nvidia", "Tesla" (nvmlDeviceGetBrand).
	Brand() (string, error)
	// Architecture is "Ampere" (nvmlDeviceGetArchitecture).
	Architecture() (string, error)
	// ComputeCapability (nvmlDeviceGetCudaComputeCapability).
	ComputeCapability() (major, minor int, err error)
	// MinorNumber is N of /dev/nvidiaN (nvmlDeviceGetMinorNumber).
	MinorNumber() (int, error)
	// PCIAddress (nvmlDeviceGetPciInfo_v3).
	PCIAddress() (PCIAddress, error)
	// MemoryBytes is the total; of a MIG device, its own (nvmlDeviceGetMemoryInfo).
	MemoryBytes() (uint64, error)
	// AddressingMode is "HMM", "ATS" or "None"; ErrGPUNotSupported by older drivers
	// (nvmlDeviceGetAddressingMode).
	AddressingMode() (string, error)
	// ModuleID is the place on the baseboard, from 1; ErrGPUNotSupported for a GPU
	// on a card (nvmlDeviceGetModuleId).
	ModuleID() (int, error)
	// Fabric fails with ErrGPUNotSupported outside of an NVLink fabric
	// (nvmlDeviceGetGpuFabricInfoV).
	Fabric() (GPUFabric, error)
	// SetComputeMode (nvmlDeviceSetComputeMode).
	SetComputeMode(mode ComputeMode) error

	// RecoveryAction is what the GPU needs before it works as it should;
	// ErrGPUNotSupported by older drivers (nvmlDeviceGetFieldValues,
	// NVML_FI_DEV_GET_GPU_RECOVERY_ACTION).
	RecoveryAction() (GPURecoveryAction, error)
	// ThermalSlowdown says whether the clocks are down because the GPU is too hot
	// (nvmlDeviceGetCurrentClocksEventReasons).
	ThermalSlowdown() (bool, error)

	// MIGMode fails with ErrGPUNotSupported for a GPU that cannot be partitioned
	// (nvmlDeviceGetMigMode).
	MIGMode() (current, pending bool, err error)
	// SetMIGMode fails with ErrGPUInUse while something runs, and leaves the mode
	// pending on GPUs that need a reset (nvmlDeviceSetMigMode).
	SetMIGMode(enabled bool) error
	// GPUInstanceProfile fails with ErrGPUNotSupported for kinds that the model
	// lacks (nvmlDeviceGetGpuInstanceProfileInfoV).
	GPUInstanceProfile(kind GPUInstanceProfileKind) (MIGProfile, error)
	// Unless the GPU is in MIG mode, the calls for instances fail with
	// ErrGPUNotSupported.

	// GPUInstanceRemaining is how many more instances of a profile fit now
	// (nvmlDeviceGetGpuInstanceRemainingCapacity).
	GPUInstanceRemaining(profileID int) (int, error)
	// CreateGPUInstance places it where the library likes (nvmlDeviceCreateGpuInstance).
	CreateGPUInstance(profileID int) (GPUInstance, error)
	// CreateGPUInstanceAt fails with ErrGPUInsufficientResources where the placement
	// is taken (nvmlDeviceCreateGpuInstanceWithPlacement).
	CreateGPUInstanceAt(profileID int, placement Placement) (GPUInstance, error)
	// GPUInstances of one profile, by ID (nvmlDeviceGetGpuInstances).
	GPUInstances(profileID int) ([]GPUInstance, error)
	// GPUInstanceByID (nvmlDeviceGetGpuInstanceById).
	GPUInstanceByID(id int) (GPUInstance, error)

	// MIG devices: the compute instances of a GPU.

	// MaxMIGDevices bounds the index of MIGDeviceByIndex; 0 unless the GPU is in MIG
	// mode (nvmlDeviceGetMaxMigDeviceCount).
	MaxMIGDevices() (int, error)
	// MIGDeviceByIndex fails with ErrGPUNotFound for indexes that are free
	// (nvmlDeviceGetMigDeviceHandleByIndex).
	MIGDeviceByIndex(index int) (GPUDevice, error)
	// IsMIGDevice (nvmlDeviceIsMigDeviceHandle).
	IsMIGDevice() (bool, error)
	// Parent of a MIG device (nvmlDeviceGetDeviceHandleFromMigDeviceHandle).
	Parent() (GPUDevice, error)
	// GPUInstanceID of a MIG device (nvmlDeviceGetGpuInstanceId).
	GPUInstanceID() (int, error)
	// ComputeInstanceID of a MIG device (nvmlDeviceGetComputeInstanceId).
	ComputeInstanceID() (int, error)

	// SupportedVGPUTypes fails with ErrGPUNotSupported where the driver hosts no
	// virtual GPUs (nvmlDeviceGetSupportedVgpus and nvmlVgpuTypeGet…).
	SupportedVGPUTypes() ([]VGPUType, error)
	// CreatableVGPUTypes are the IDs of those that fit now (nvmlDeviceGetCreatableVgpus).
	// There is no call that creates one: that is a write to sysfs.
	CreatableVGPUTypes() ([]int, error)
	// MixedSizeVGPUs (nvmlDeviceGetVgpuHeterogeneousMode).
	MixedSizeVGPUs() (bool, error)
	// SetMixedSizeVGPUs fails with ErrGPUInUse while there are virtual GPUs
	// (nvmlDeviceSetVgpuHeterogeneousMode).
	SetMixedSizeVGPUs(enabled bool) error

	// SupportedEvents (nvmlDeviceGetSupportedEventTypes).
	SupportedEvents() (GPUEventType, error)
	// RegisterEvents (nvmlDeviceRegisterEvents).
	RegisterEvents(types GPUEventType, set GPUEventSet) error
}

// GPUInstance is the handle of a GPU instance.
type GPUInstance interface {
	// Info has no compute instances in it (nvmlGpuInstanceGetInfo).
	Info() (GPUInstanceState, error)
	// ComputeInstanceProfile of as many compute slices as the kind says
	// (nvmlGpuInstanceGetComputeInstanceProfileInfoV, shared engines).
	ComputeInstanceProfile(kind ComputeInstanceProfileKind) (ComputeInstanceProfile, error)
	// CreateComputeInstance (nvmlGpuInstanceCreateComputeInstance).
	CreateComputeInstance(profileID int) (ComputeInstance, error)
	// ComputeInstances of one profile, by ID (nvmlGpuInstanceGetComputeInstances).
	ComputeInstances(profileID int) ([]ComputeInstance, error)
	// ComputeInstanceByID (nvmlGpuInstanceGetComputeInstanceById).
	ComputeInstanceByID(id int) (ComputeInstance, error)
	// Destroy fails with ErrGPUInUse while there are compute instances, and for a
	// moment after the last of them has gone (nvmlGpuInstanceDestroy).
	Destroy() error
}

// ComputeInstance is the handle of a compute instance.
type ComputeInstance interface {
	// Info has the UUID of the MIG device (nvmlComputeInstanceGetInfo_v2).
	Info() (ComputeInstanceState, error)
	// Destroy fails with ErrGPUInUse while a process runs (nvmlComputeInstanceDestroy).
	Destroy() error
}

// ComputeInstanceProfile is one size of compute instance.
type ComputeInstanceProfile struct {
	Kind ComputeInstanceProfileKind
	ID   int
	// ComputeSlices of the GPU instance that it takes.
	ComputeSlices int
	MaxInstances  int
}

// GPUEventSet collects events of the devices that are registered with it.
type GPUEventSet interface {
	// Wait returns the next event, or ErrGPUTimeout (nvmlEventSetWait_v2).
	Wait(timeout time.Duration) (GPUEvent, error)
	// Free (nvmlEventSetFree).
	Free() error
}

// GPUEvent is one thing that happened.
type GPUEvent struct {
	// Device is the GPU's UUID, empty if the GPU does not tell it any more.
	Device string
	Type   GPUEventType
	// Data is the XID of a critical error.
	Data uint64
	// GPUInstance and ComputeInstance are where it happened, or -1.
	GPUInstance, ComputeInstance int
}

// GPUEventType is a set of kinds, by NVML's bits (nvmlEventType…).
type GPUEventType uint64

// The kinds that a driver looks at.
const (
	EventSingleBitECC      GPUEventType = 0x1
	EventDoubleBitECC      GPUEventType = 0x2
	EventXidCritical       GPUEventType = 0x8
	EventClockChange       GPUEventType = 0x10
	EventMIGConfigChange   GPUEventType = 0x100
	EventSingleBitECCStorm GPUEventType = 0x200
	EventGPUUnavailable    GPUEventType = 0x4000
	EventRecoveryAction    GPUEventType = 0x8000
)

// GPURecoveryAction is what a GPU needs before it works as it should
// (nvmlDeviceGpuRecoveryAction_t).
type GPURecoveryAction int

// The actions, by NVML's numbers.
const (
	RecoveryNone GPURecoveryAction = iota
	RecoveryGPUReset
	RecoveryNodeReboot
	RecoveryDrainP2P
	RecoveryDrainAndReset
)

func (a GPURecoveryAction) String() string {
	names := [...]string{"none", "gpu-reset", "node-reboot", "drain-p2p", "drain-and-reset"}
	if a < 0 || int(a) >= len(names) {
		return strconv.Itoa(int(a))
	}
	return names[a]
}

// ComputeMode says who may run on a GPU (nvmlComputeMode_t).
type ComputeMode int

// The modes, by NVML's numbers.
const (
	ComputeModeDefault          ComputeMode = 0
	ComputeModeProhibited       ComputeMode = 2
	ComputeModeExclusiveProcess ComputeMode = 3
)

// GPUInstanceProfileKind is NVML's number of a profile
// (NVML_GPU_INSTANCE_PROFILE_…), which is not the hardware's ID.
type GPUInstanceProfileKind int

// The kinds. MEDIA-less ones are written -me, REV1 +me, REV2 the one with twice
// the memory, GFX +gfx.
const (
	GPUInstance1Slice GPUInstanceProfileKind = iota
	GPUInstance2Slice
	GPUInstance3Slice
	GPUInstance4Slice
	GPUInstance7Slice
	GPUInstance8Slice
	GPUInstance6Slice
	GPUInstance1SliceRev1
	GPUInstance2SliceRev1
	GPUInstance1SliceRev2
	GPUInstance1SliceGfx
	GPUInstance2SliceGfx
	GPUInstance4SliceGfx
	GPUInstance1SliceNoMe
	GPUInstance2SliceNoMe
	GPUInstance1SliceAllMe
	GPUInstance2SliceAllMe
	GPUInstance3SliceGfx
	// GPUInstanceProfileKinds is their number.
	GPUInstanceProfileKinds
)

// ComputeInstanceProfileKind is NVML's number of a compute instance's size
// (NVML_COMPUTE_INSTANCE_PROFILE_…).
type ComputeInstanceProfileKind int

// The kinds.
const (
	ComputeInstance1Slice ComputeInstanceProfileKind = iota
	ComputeInstance2Slice
	ComputeInstance3Slice
	ComputeInstance4Slice
	ComputeInstance7Slice
	ComputeInstance8Slice
	ComputeInstance6Slice
	ComputeInstance1SliceRev1
	// ComputeInstanceProfileKinds is their number.
	ComputeInstanceProfileKinds
)
