package api

import (
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/dray-dev/dray/kubeletplugin/api/v1alpha1"
)

// Config is a configuration for devices of one type: GPU or MIG.
type Config interface {
	// DeviceType is the value of the attribute type of the devices that it is for.
	DeviceType() string
}

// GPU is for whole GPUs.
type GPU struct {
	// ExclusiveProcess admits one process to the GPU at a time.
	ExclusiveProcess bool
}

// DeviceType is "gpu".
func (GPU) DeviceType() string { return "gpu" }

// MIG is for partitions of GPUs. There is nothing to choose yet.
type MIG struct{}

// DeviceType is "mig".
func (MIG) DeviceType() string { return "mig" }

// ErrRefused matches errors about what is known and cannot be honoured here.
var ErrRefused = errors.New("this driver cannot do that")

// Error says which field of a configuration is wrong.
type Error struct {
	// Entry of the allocation's list: "devices.config[2], from the claim". Empty
	// where one configuration is decoded by itself.
	Entry string
	// Field as the user wrote it: "sharing.mpsConfig". Empty where it is the whole.
	Field string
	Err   error
}

func (e *Error) Error() string {
	text := e.Err.Error()
	if e.Field != "" {
		text = e.Field + ": " + text
	}
	if e.Entry != "" {
		text = e.Entry + ": " + text
	}
	return text
}

// Unwrap returns Err.
func (e *Error) Unwrap() error { return e.Err }

func wrong(field, format string, arguments ...any) error {
	return &Error{Field: field, Err: fmt.Errorf(format, arguments...)}
}

// refused says why something known cannot be honoured.
func refused(field, why string) error {
	return wrong(field, "%s: %w", why, ErrRefused)
}

// kinds are all that may stand in a claim. A kind that is refused as a whole says
// so itself, after it was read.
var kinds = map[schema.GroupVersionKind]func(parameters []byte) (Config, error){
	ours(v1alpha1.GpuConfigKind):         decode[gpuConfig],
	ours(v1alpha1.MigDeviceConfigKind):   decode[migDeviceConfig],
	nvidia("GpuConfig"):                  decode[nvidiaGPUConfig],
	nvidia("MigDeviceConfig"):            decode[nvidiaMIGDeviceConfig],
	nvidia("VfioDeviceConfig"):           decode[nvidiaVFIODeviceConfig],
	nvidia("ComputeDomainChannelConfig"): decode[nvidiaChannelConfig],
	nvidia("ComputeDomainDaemonConfig"):  decode[nvidiaDaemonConfig],
}
