//go:build cgo && linux

package nvml

import (
	"errors"
	"fmt"
	"reflect"

	"github.com/NVIDIA/go-nvml/pkg/nvml"

	"github.com/dray-dev/dray/kubeletplugin/hardware"
)

// noProfile is what NVML says of a type that shares the GPU by time.
const noProfile = 0xFFFFFFFF

func (d *device) SupportedVGPUTypes() ([]hardware.VGPUType, error) {
	if err := d.library.has("nvmlVgpuTypeGetGpuInstanceProfileId"); err != nil {
		return nil, err
	}
	const call = "supported vGPU types"
	handles, code := d.nvml.GetSupportedVgpus()
	if err := failed(call, code); err != nil {
		return nil, err
	}
	types := make([]hardware.VGPUType, 0, len(handles))
	for _, handle := range handles {
		id, err := typeID(handle)
		errs := []error{err}
		name, code := handle.GetName()
		errs = append(errs, failed(call, code))
		size, code := handle.GetFramebufferSize()
		errs = append(errs, failed(call, code))
		most, code := handle.GetMaxInstances(d.nvml)
		errs = append(errs, failed(call, code))
		if err := errors.Join(errs...); err != nil {
			return nil, err
		}
		kind := hardware.VGPUType{ID: id, Name: name, FramebufferBytes: size, MaxInstances: most, MIGProfileID: -1}
		if profile, code := handle.GetGpuInstanceProfileId(); code == nvml.SUCCESS && profile != noProfile {
			kind.MIGProfileID = int(profile)
		}
		if d.library.has("nvmlDeviceGetVgpuTypeSupportedPlacements") == nil {
			if placements, code := handle.GetSupportedPlacements(d.nvml); code == nvml.SUCCESS {
				kind.MaxMixed = int(placements.Count)
			}
		}
		types = append(types, kind)
	}
	return types, nil
}

// typeID is the number of a type, which go-nvml's handle is and does not tell.
func typeID(handle nvml.VgpuTypeId) (int, error) {
	value := reflect.ValueOf(handle)
	if !value.CanUint() {
		return 0, fmt.Errorf("vGPU type: a handle of type %T has no number: %w", handle, hardware.ErrGPUUnknown)
	}
	return int(value.Uint()), nil
}

func (d *device) CreatableVGPUTypes() ([]int, error) {
	const call = "creatable vGPU types"
	handles, code := d.nvml.GetCreatableVgpus()
	if err := failed(call, code); err != nil {
		return nil, err
	}
	ids := make([]int, 0, len(handles))
	for _, handle := range handles {
		id, err := typeID(handle)
		if err != nil {
			return nil, err
		}
		ids = append(ids, id)
	}
	return ids, nil
}

func (d *device) MixedSizeVGPUs() (bool, error) {
	if err := d.library.has("nvmlDeviceGetVgpuHeterogeneousMode"); err != nil {
		return false, err
	}
	mode, code := d.nvml.GetVgpuHeterogeneousMode()
	return mode.Mode != 0, failed("vGPU heterogeneous mode", code)
}

func (d *device) SetMixedSizeVGPUs(enabled bool) error {
	if err := d.library.has("nvmlDeviceSetVgpuHeterogeneousMode"); err != nil {
		return err
	}
	mode, code := d.nvml.GetVgpuHeterogeneousMode() // its version is in it
	if err := failed("vGPU heterogeneous mode", code); err != nil {
		return err
	}
	mode.Mode = 0
	if enabled {
		mode.Mode = 1
	}
	return failed("set vGPU heterogeneous mode", d.nvml.SetVgpuHeterogeneousMode(mode))
}
