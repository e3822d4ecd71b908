//go:build cgo && linux

package nvml

import (
	"errors"
	"fmt"
	"strings"
	"unsafe"

	"github.com/NVIDIA/go-nvml/pkg/nvml"

	"github.com/dray-dev/dray/kubeletplugin/hardware"
)

func (d *device) MIGMode() (current, pending bool, err error) {
	if err := d.library.has("nvmlDeviceGetMigMode"); err != nil {
		return false, false, err
	}
	now, later, code := d.nvml.GetMigMode()
	return now == nvml.DEVICE_MIG_ENABLE, later == nvml.DEVICE_MIG_ENABLE, failed("MIG mode", code)
}

// SetMIGMode asks for the mode. NVML accepts that also while something uses the GPU:
// then the mode is pending, to come with some reset, which nobody wants who was told
// that it failed. So the wish is taken back.
func (d *device) SetMIGMode(enabled bool) error {
	const call = "set MIG mode"
	modes := map[bool]int{true: nvml.DEVICE_MIG_ENABLE, false: nvml.DEVICE_MIG_DISABLE}
	activation, code := d.nvml.SetMigMode(modes[enabled])
	if err := failed(call, code); err != nil {
		return err
	}
	if activation != nvml.ERROR_IN_USE {
		return nil // in force, or pending: MIGMode tells
	}
	_, code = d.nvml.SetMigMode(modes[!enabled])
	return errors.Join(failed(call, activation), failed("take back the MIG mode that is pending", code))
}

// profile of a kind with the record that the library wants back.
func (d *device) profile(kind int) (nvml.GpuInstanceProfileInfo, error) {
	info, code := d.nvml.GetGpuInstanceProfileInfo(kind)
	return info, failed("GPU instance profile", code)
}

// profileByID finds the record of a profile by the hardware's number.
func (d *device) profileByID(id int) (*nvml.GpuInstanceProfileInfo, error) {
	for kind := range int(hardware.GPUInstanceProfileKinds) {
		if info, err := d.profile(kind); err == nil && int(info.Id) == id {
			return &info, nil
		}
	}
	return nil, fmt.Errorf("GPU instance profile %d: %w", id, hardware.ErrGPUInvalidArgument)
}

func (d *device) GPUInstanceProfile(kind hardware.GPUInstanceProfileKind) (hardware.MIGProfile, error) {
	if err := d.library.has("nvmlDeviceGetGpuInstanceProfileInfoV"); err != nil {
		return hardware.MIGProfile{}, err
	}
	info, err := d.profile(int(kind))
	if err != nil {
		return hardware.MIGProfile{}, err
	}
	placements, code := d.nvml.GetGpuInstancePossiblePlacements(&info)
	if err := failed("placements", code); err != nil {
		return hardware.MIGProfile{}, err
	}
	name, code := d.library.profileName(d.nvml, int(kind))
	if err := failed("GPU instance profile's name", code); err != nil {
		return hardware.MIGProfile{}, err
	}
	profile := hardware.MIGProfile{Name: strings.TrimPrefix(name, "MIG "), Kind: kind, ID: int(info.Id),
		MaxInstances: int(info.InstanceCount), ComputeSlices: int(info.SliceCount),
		Resources: hardware.MIGResources{MemoryBytes: info.MemorySizeMB << 20, Multiprocessors: int(info.MultiprocessorCount),
			CopyEngines: int(info.CopyEngineCount), Decoders: int(info.DecoderCount), Encoders: int(info.EncoderCount),
			JPEGEngines: int(info.JpegCount), OFAEngines: int(info.OfaCount)}}
	for _, placement := range placements {
		profile.MemorySlices = int(placement.Size)
		profile.Placements = append(profile.Placements, hardware.Placement{Start: int(placement.Start), Size: int(placement.Size)})
	}
	return profile, nil
}

// profileName is "MIG 1g.10gb".
func profileName(device nvml.Device, kind int) (string, nvml.Return) {
	info, code := device.GetGpuInstanceProfileInfoV(kind).V2()
	return text(info.Name[:]), code
}

// text is a string of C.
func text(characters []int8) string {
	bytes := unsafe.Slice((*byte)(unsafe.Pointer(&characters[0])), len(characters))
	name, _, _ := strings.Cut(string(bytes), "\x00")
	return name
}

func (d *device) GPUInstanceRemaining(profileID int) (int, error) {
	info, err := d.profileByID(profileID)
	if err != nil {
		return 0, err
	}
	count, code := d.nvml.GetGpuInstanceRemainingCapacity(info)
	return count, failed("remaining capacity", code)
}

func (d *device) instance(call string, handle nvml.GpuInstance, code nvml.Return) (hardware.GPUInstance, error) {
	if err := failed(call, code); err != nil {
		return nil, err
	}
	return &instance{handle}, nil
}

func (d *device) CreateGPUInstance(profileID int) (hardware.GPUInstance, error) {
	info, err := d.profileByID(profileID)
	if err != nil {
		return nil, err
	}
	handle, code := d.nvml.CreateGpuInstance(info)
	return d.instance("create GPU instance", handle, code)
}

func (d *device) CreateGPUInstanceAt(profileID int, placement hardware.Placement) (hardware.GPUInstance, error) {
	info, err := d.profileByID(profileID)
	if err != nil {
		return nil, err
	}
	handle, code := d.nvml.CreateGpuInstanceWithPlacement(info, &nvml.GpuInstancePlacement{Start: uint32(placement.Start), Size: uint32(placement.Size)})
	return d.instance("create GPU instance with placement", handle, code)
}

func (d *device) GPUInstances(profileID int) ([]hardware.GPUInstance, error) {
	info, err := d.profileByID(profileID)
	if err != nil {
		return nil, err
	}
	if info.InstanceCount == 0 {
		return nil, nil // go-nvml panics
	}
	handles, code := d.nvml.GetGpuInstances(info)
	if err := failed("GPU instances", code); err != nil {
		return nil, err
	}
	instances := make([]hardware.GPUInstance, len(handles))
	for i, handle := range handles {
		instances[i] = &instance{handle}
	}
	return instances, nil
}

func (d *device) GPUInstanceByID(id int) (hardware.GPUInstance, error) {
	handle, code := d.nvml.GetGpuInstanceById(id)
	return d.instance("GPU instance by ID", handle, code)
}

func (d *device) MaxMIGDevices() (int, error) {
	count, code := d.nvml.GetMaxMigDeviceCount()
	return count, failed("maximum of MIG devices", code)
}

func (d *device) MIGDeviceByIndex(index int) (hardware.GPUDevice, error) {
	handle, code := d.nvml.GetMigDeviceHandleByIndex(index)
	if err := failed("MIG device by index", code); err != nil {
		return nil, err
	}
	return &device{handle, d.library}, nil
}

func (d *device) IsMIGDevice() (bool, error) {
	is, code := d.nvml.IsMigDeviceHandle()
	return is, failed("is MIG device", code)
}

func (d *device) Parent() (hardware.GPUDevice, error) {
	handle, code := d.nvml.GetDeviceHandleFromMigDeviceHandle()
	if err := failed("parent", code); err != nil {
		return nil, err
	}
	return &device{handle, d.library}, nil
}

func (d *device) GPUInstanceID() (int, error) {
	id, code := d.nvml.GetGpuInstanceId()
	return id, failed("GPU instance ID", code)
}

func (d *device) ComputeInstanceID() (int, error) {
	id, code := d.nvml.GetComputeInstanceId()
	return id, failed("compute instance ID", code)
}

type instance struct{ nvml nvml.GpuInstance }

var _ hardware.GPUInstance = (*instance)(nil)

func (i *instance) Info() (hardware.GPUInstanceState, error) {
	info, code := i.nvml.GetInfo()
	return hardware.GPUInstanceState{ID: int(info.Id), ProfileID: int(info.ProfileId),
		Placement: hardware.Placement{Start: int(info.Placement.Start), Size: int(info.Placement.Size)}}, failed("GPU instance", code)
}

func (i *instance) ComputeInstanceProfile(kind hardware.ComputeInstanceProfileKind) (hardware.ComputeInstanceProfile, error) {
	info, code := i.nvml.GetComputeInstanceProfileInfo(int(kind), nvml.COMPUTE_INSTANCE_ENGINE_PROFILE_SHARED)
	return hardware.ComputeInstanceProfile{Kind: kind, ID: int(info.Id), ComputeSlices: int(info.SliceCount), MaxInstances: int(info.InstanceCount)},
		failed("compute instance profile", code)
}

// profileByID finds the record of a profile by the hardware's number.
func (i *instance) profileByID(id int) (*nvml.ComputeInstanceProfileInfo, error) {
	for kind := range int(hardware.ComputeInstanceProfileKinds) {
		info, code := i.nvml.GetComputeInstanceProfileInfo(kind, nvml.COMPUTE_INSTANCE_ENGINE_PROFILE_SHARED)
		if code == nvml.SUCCESS && int(info.Id) == id {
			return &info, nil
		}
	}
	return nil, fmt.Errorf("compute instance profile %d: %w", id, hardware.ErrGPUInvalidArgument)
}

func (i *instance) CreateComputeInstance(profileID int) (hardware.ComputeInstance, error) {
	info, err := i.profileByID(profileID)
	if err != nil {
		return nil, err
	}
	handle, code := i.nvml.CreateComputeInstance(info)
	if err := failed("create compute instance", code); err != nil {
		return nil, err
	}
	return &computeInstance{handle}, nil
}

func (i *instance) ComputeInstances(profileID int) ([]hardware.ComputeInstance, error) {
	info, err := i.profileByID(profileID)
	if err != nil {
		return nil, err
	}
	if info.InstanceCount == 0 {
		return nil, nil // go-nvml panics
	}
	handles, code := i.nvml.GetComputeInstances(info)
	if err := failed("compute instances", code); err != nil {
		return nil, err
	}
	instances := make([]hardware.ComputeInstance, len(handles))
	for j, handle := range handles {
		instances[j] = &computeInstance{handle}
	}
	return instances, nil
}

func (i *instance) ComputeInstanceByID(id int) (hardware.ComputeInstance, error) {
	handle, code := i.nvml.GetComputeInstanceById(id)
	if err := failed("compute instance by ID", code); err != nil {
		return nil, err
	}
	return &computeInstance{handle}, nil
}

func (i *instance) Destroy() error { return failed("destroy GPU instance", i.nvml.Destroy()) }

type computeInstance struct{ nvml nvml.ComputeInstance }

var _ hardware.ComputeInstance = (*computeInstance)(nil)

func (c *computeInstance) Info() (hardware.ComputeInstanceState, error) {
	info, code := c.nvml.GetInfo()
	if err := failed("compute instance", code); err != nil {
		return hardware.ComputeInstanceState{}, err
	}
	state := hardware.ComputeInstanceState{ID: int(info.Id), ProfileID: int(info.ProfileId)}
	uuid, err := c.uuid(&info)
	state.UUID = uuid
	return state, err
}

// uuid is that of the MIG device that the instance is; NVML counts these apart.
func (c *computeInstance) uuid(info *nvml.ComputeInstanceInfo) (string, error) {
	count, code := info.Device.GetMaxMigDeviceCount()
	if err := failed("maximum of MIG devices", code); err != nil {
		return "", err
	}
	instanceInfo, code := info.GpuInstance.GetInfo()
	if err := failed("GPU instance", code); err != nil {
		return "", err
	}
	for index := range count {
		handle, code := info.Device.GetMigDeviceHandleByIndex(index)
		if code != nvml.SUCCESS {
			continue
		}
		gi, giCode := handle.GetGpuInstanceId()
		ci, ciCode := handle.GetComputeInstanceId()
		if giCode != nvml.SUCCESS || ciCode != nvml.SUCCESS || gi != int(instanceInfo.Id) || ci != int(info.Id) {
			continue
		}
		uuid, code := handle.GetUUID()
		return uuid, failed("UUID of a MIG device", code)
	}
	return "", fmt.Errorf("MIG device of compute instance %d: %w", info.Id, hardware.ErrGPUNotFound)
}

func (c *computeInstance) Destroy() error {
	return failed("destroy compute instance", c.nvml.Destroy())
}
