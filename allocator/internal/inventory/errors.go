package inventory

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
)

// SelectionError says that a slice's, or a device's, node selector cannot be
// used: nobody can tell which nodes reach its devices.
type SelectionError struct {
	// Slice is the name of the ResourceSlice.
	Slice string
	// Device is driver/pool/device, empty where the selector is the slice's.
	Device string
	Err    error
	// published is the device as upstream's sentence has it: with all its fields.
	published string
}

func (e *SelectionError) Error() string {
	if e.Device == "" {
		return fmt.Sprintf("gather pool information: failed to perform node selection for slice %s: %v", e.Slice, e.Err)
	}
	return fmt.Sprintf("gather pool information: failed to perform node selection for device %s in slice %s: %v", e.published, e.Slice, e.Err)
}

func (e *SelectionError) Unwrap() error { return e.Err }

func (s *Slice) selectionError(err error) error {
	return &SelectionError{Slice: s.API.Name, Err: err}
}

func (s *Slice) deviceSelectionError(device *resourceapi.Device, err error) error {
	spec := &s.API.Spec
	return &SelectionError{
		Slice:     s.API.Name,
		Device:    spec.Driver + "/" + spec.Pool.Name + "/" + device.Name,
		Err:       err,
		published: device.String(),
	}
}

// selectorError renders the selector only when somebody reads the message.
type selectorError struct {
	selector *corev1.NodeSelector
	err      error
}

func (e *selectorError) Error() string {
	return fmt.Sprintf("failed to parse node selector %s: %v", e.selector.String(), e.err)
}

func (e *selectorError) Unwrap() error { return e.err }
