package hardware

import "fmt"

// DeviceError says what is wrong with one device, or with another part of a
// Node. Validate and Discover return it, joined with others of its kind.
type DeviceError struct {
	// Device is "gpu 0000:1b:00.0", "numa node 3", "gpu driver" or, for files that
	// are no device's, "host".
	Device string
	// Field is the field of the model or the file that is wrong; empty where it is
	// the whole device.
	Field string
	Err   error
}

func (e *DeviceError) Error() string {
	if e.Field == "" {
		return fmt.Sprintf("%s: %v", e.Device, e.Err)
	}
	return fmt.Sprintf("%s: %s: %v", e.Device, e.Field, e.Err)
}

// Unwrap returns Err.
func (e *DeviceError) Unwrap() error { return e.Err }
