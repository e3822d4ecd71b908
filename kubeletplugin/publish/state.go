package publish

import resourceapi "k8s.io/api/resource/v1"

// State is what changes while a node runs and its hardware stays. Entries for
// devices that are not published have no effect: state may outlive a device.
type State struct {
	// Generations of pools, by driver; 0 if there is no entry. Whoever publishes
	// raises one whenever the slices of that pool change.
	Generations map[string]int64
	// Taints of devices, with the time at which they were added: where it is
	// missing, the API server puts the time of each publication there. Where the API server keeps no taints, a device with one
	// whose effect is not None is withdrawn instead.
	Taints map[DeviceID][]resourceapi.DeviceTaint
	// Withdrawn devices are left out.
	Withdrawn map[DeviceID]bool
}

// DeviceID names a device of a node or of a fabric pool.
type DeviceID struct{ Driver, Device string }

// apply withdraws and taints a pool's devices. It does not change the devices
// that it is given.
func (s *State) apply(driver string, devices []resourceapi.Device, minor int, kept bool) []resourceapi.Device {
	if len(s.Taints) == 0 && len(s.Withdrawn) == 0 {
		return devices
	}
	result := make([]resourceapi.Device, 0, len(devices))
	for _, device := range devices {
		id := DeviceID{driver, device.Name}
		if s.Withdrawn[id] {
			continue
		}
		taints, keeps := s.taints(id, minor, kept)
		if !keeps {
			continue
		}
		device.Taints = taints
		result = append(result, device)
	}
	return result
}

// taints returns what of a device's taints the API server can be told, and false
// if it cannot be told enough to keep claims away.
func (s *State) taints(id DeviceID, minor int, kept bool) (taints []resourceapi.DeviceTaint, ok bool) {
	for _, taint := range s.Taints[id] {
		if taint.Effect == resourceapi.DeviceTaintEffectNone {
			if !kept || minor < 35 { // 1.34 has no such effect; nothing depends on it
				continue
			}
		} else if !kept {
			return nil, false
		}
		taints = append(taints, taint)
	}
	return taints, true
}
