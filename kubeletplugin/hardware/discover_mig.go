package hardware

import (
	"errors"
	"slices"
)

// readMIG is nil for a GPU that cannot be partitioned. Partitions come and go while it
// reads, by this driver and by others: what has gone since is left out, and the GPU is
// not.
func readMIG(device GPUDevice) (*MIG, error) {
	current, pending, err := device.MIGMode()
	if err != nil {
		return nil, unlessNotSupported(err)
	}
	mig := &MIG{Enabled: current, Pending: pending}
	for kind := range GPUInstanceProfileKinds {
		profile, err := device.GPUInstanceProfile(kind)
		if errors.Is(err, ErrGPUInvalidArgument) {
			continue // the library is older than the kind
		}
		if err != nil {
			if unlessNotSupported(err) != nil {
				return nil, err
			}
			continue
		}
		profile.Placements = slices.Clone(profile.Placements)
		mig.Profiles = append(mig.Profiles, profile)
	}
	if !current {
		return mig, nil
	}
	for _, profile := range mig.Profiles {
		instances, err := device.GPUInstances(profile.ID)
		if errors.Is(err, ErrGPUNotSupported) {
			continue // MIG mode has been switched off
		}
		if err != nil {
			return nil, err
		}
		for _, instance := range instances {
			state, err := readGPUInstance(instance)
			if errors.Is(err, ErrGPUNotFound) {
				continue
			}
			if err != nil {
				return nil, err
			}
			mig.Instances = append(mig.Instances, state)
		}
	}
	slices.SortFunc(mig.Instances, func(a, b GPUInstanceState) int { return a.ID - b.ID })
	return mig, nil
}

func readGPUInstance(instance GPUInstance) (GPUInstanceState, error) {
	state, err := instance.Info()
	if err != nil {
		return GPUInstanceState{}, err
	}
	state.ComputeInstances = nil
	for kind := range ComputeInstanceProfileKinds {
		profile, err := instance.ComputeInstanceProfile(kind)
		if errors.Is(err, ErrGPUInvalidArgument) || errors.Is(err, ErrGPUNotSupported) {
			continue
		}
		if err != nil {
			return GPUInstanceState{}, err
		}
		instances, err := instance.ComputeInstances(profile.ID)
		if err != nil {
			return GPUInstanceState{}, err
		}
		for _, compute := range instances {
			info, err := compute.Info()
			if errors.Is(err, ErrGPUNotFound) {
				continue
			}
			if err != nil {
				return GPUInstanceState{}, err
			}
			state.ComputeInstances = append(state.ComputeInstances, info)
		}
	}
	slices.SortFunc(state.ComputeInstances, func(a, b ComputeInstanceState) int { return a.ID - b.ID })
	return state, nil
}
