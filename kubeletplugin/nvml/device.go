//go:build cgo && linux

package nvml

import (
	"encoding/binary"
	"fmt"

	"github.com/NVIDIA/go-nvml/pkg/nvml"

	"github.com/dray-dev/dray/kubeletplugin/hardware"
)

type device struct {
	nvml    nvml.Device
	library *library
}

var _ hardware.GPUDevice = (*device)(nil)

func (d *device) UUID() (string, error) {
	uuid, code := d.nvml.GetUUID()
	return uuid, failed("UUID", code)
}

func (d *device) Name() (string, error) {
	name, code := d.nvml.GetName()
	return name, failed("name", code)
}

// brands as NVIDIA's driver publishes them.
var brands = map[nvml.BrandType]string{
	nvml.BRAND_QUADRO: "Quadro", nvml.BRAND_TESLA: "Tesla", nvml.BRAND_NVS: "NVS", nvml.BRAND_GRID: "Grid",
	nvml.BRAND_GEFORCE: "GeForce", nvml.BRAND_TITAN: "Titan", nvml.BRAND_NVIDIA_VAPPS: "NvidiaVApps", nvml.BRAND_NVIDIA_VPC: "NvidiaVPC",
	nvml.BRAND_NVIDIA_VCS: "NvidiaVCS", nvml.BRAND_NVIDIA_VWS: "NvidiaVWS", nvml.BRAND_NVIDIA_CLOUD_GAMING: "NvidiaCloudGaming",
	nvml.BRAND_QUADRO_RTX: "QuadroRTX", nvml.BRAND_NVIDIA_RTX: "NvidiaRTX", nvml.BRAND_NVIDIA: "Nvidia",
	nvml.BRAND_GEFORCE_RTX: "GeForceRTX", nvml.BRAND_TITAN_RTX: "TitanRTX",
}

func (d *device) Brand() (string, error) {
	brand, code := d.nvml.GetBrand()
	if err := failed("brand", code); err != nil {
		return "", err
	}
	if name, ok := brands[brand]; ok {
		return name, nil
	}
	return "Unknown", nil
}

// architectures by NVML's numbers. Those with a space are published with it.
var architectures = map[nvml.DeviceArchitecture]string{
	nvml.DEVICE_ARCH_KEPLER: "Kepler", nvml.DEVICE_ARCH_MAXWELL: "Maxwell", nvml.DEVICE_ARCH_PASCAL: "Pascal", nvml.DEVICE_ARCH_VOLTA: "Volta",
	nvml.DEVICE_ARCH_TURING: "Turing", nvml.DEVICE_ARCH_AMPERE: "Ampere", nvml.DEVICE_ARCH_ADA: "Ada Lovelace", nvml.DEVICE_ARCH_HOPPER: "Hopper",
	nvml.DEVICE_ARCH_BLACKWELL: "Blackwell", nvml.DEVICE_ARCH_RUBIN: "Rubin",
}

func (d *device) Architecture() (string, error) {
	architecture, code := d.nvml.GetArchitecture()
	if err := failed("architecture", code); err != nil {
		return "", err
	}
	if name, ok := architectures[architecture]; ok {
		return name, nil
	}
	return "Unknown", nil
}

func (d *device) ComputeCapability() (major, minor int, err error) {
	major, minor, code := d.nvml.GetCudaComputeCapability()
	return major, minor, failed("compute capability", code)
}

func (d *device) MinorNumber() (int, error) {
	minor, code := d.nvml.GetMinorNumber()
	return minor, failed("minor number", code)
}

func (d *device) PCIAddress() (hardware.PCIAddress, error) {
	info, code := d.nvml.GetPciInfo()
	if err := failed("PCI info", code); err != nil {
		return hardware.PCIAddress{}, err
	}
	return hardware.PCIAddress{Domain: uint16(info.Domain), Bus: uint8(info.Bus), Device: uint8(info.Device)}, nil
}

func (d *device) MemoryBytes() (uint64, error) {
	memory, code := d.nvml.GetMemoryInfo()
	return memory.Total, failed("memory", code)
}

func (d *device) AddressingMode() (string, error) {
	if err := d.library.has("nvmlDeviceGetAddressingMode"); err != nil {
		return "", err
	}
	mode, code := d.nvml.GetAddressingMode()
	if err := failed("addressing mode", code); err != nil {
		return "", err
	}
	switch nvml.DeviceAddressingModeType(mode.Value) {
	case nvml.DEVICE_ADDRESSING_MODE_HMM:
		return "HMM", nil
	case nvml.DEVICE_ADDRESSING_MODE_ATS:
		return "ATS", nil
	case nvml.DEVICE_ADDRESSING_MODE_NONE:
		return "None", nil
	}
	return "", fmt.Errorf("addressing mode %d: %w", mode.Value, hardware.ErrGPUNotSupported)
}

func (d *device) ModuleID() (int, error) {
	if err := d.library.has("nvmlDeviceGetModuleId"); err != nil {
		return 0, err
	}
	id, code := d.nvml.GetModuleId()
	return id, failed("module ID", code)
}

func (d *device) Fabric() (hardware.GPUFabric, error) {
	if err := d.library.has("nvmlDeviceGetGpuFabricInfo"); err != nil {
		return hardware.GPUFabric{}, err
	}
	info, code := d.nvml.GetGpuFabricInfo()
	if err := failed("fabric", code); err != nil {
		return hardware.GPUFabric{}, err
	}
	if hardware.FabricState(info.State) == hardware.FabricNotSupported || info.ClusterUuid == [16]uint8{} {
		return hardware.GPUFabric{}, fmt.Errorf("fabric: %w", hardware.ErrGPUNotSupported)
	}
	u := info.ClusterUuid
	return hardware.GPUFabric{ClusterUUID: fmt.Sprintf("%x-%x-%x-%x-%x", u[0:4], u[4:6], u[6:8], u[8:10], u[10:]),
		CliqueID: int(info.CliqueId), State: hardware.FabricState(info.State)}, nil
}

func (d *device) SetComputeMode(mode hardware.ComputeMode) error {
	return failed("set compute mode", d.nvml.SetComputeMode(nvml.ComputeMode(mode)))
}

func (d *device) RecoveryAction() (hardware.GPURecoveryAction, error) {
	const call = "recovery action"
	values := []nvml.FieldValue{{FieldId: nvml.FI_DEV_GET_GPU_RECOVERY_ACTION}}
	if err := failed(call, d.nvml.GetFieldValues(values)); err != nil {
		return 0, err
	}
	code := nvml.Return(values[0].NvmlReturn)
	if code == nvml.ERROR_INVALID_ARGUMENT { // a library that does not know the field
		code = nvml.ERROR_NOT_SUPPORTED
	}
	if err := failed(call, code); err != nil {
		return 0, err
	}
	// An unsigned number, in the memory order of the machine.
	return hardware.GPURecoveryAction(binary.NativeEndian.Uint32(values[0].Value[:4])), nil
}

func (d *device) ThermalSlowdown() (bool, error) {
	if err := d.library.has("nvmlDeviceGetCurrentClocksEventReasons"); err != nil {
		return false, err
	}
	reasons, code := d.nvml.GetCurrentClocksEventReasons()
	return reasons&(nvml.ClocksEventReasonSwThermalSlowdown|nvml.ClocksThrottleReasonHwThermalSlowdown) != 0, failed("clocks event reasons", code)
}

func (d *device) SupportedEvents() (hardware.GPUEventType, error) {
	types, code := d.nvml.GetSupportedEventTypes()
	return hardware.GPUEventType(types), failed("supported events", code)
}

func (d *device) RegisterEvents(types hardware.GPUEventType, set hardware.GPUEventSet) error {
	ours, ok := set.(*eventSet)
	if !ok {
		return fmt.Errorf("register events: %w: %w", errOther, hardware.ErrGPUInvalidArgument)
	}
	uuid, err := d.UUID()
	if err != nil {
		return err
	}
	ours.mu.Lock()
	ours.uuids[d.nvml] = uuid
	ours.mu.Unlock()
	return failed("register events", d.nvml.RegisterEvents(uint64(types), ours.EventSet))
}
