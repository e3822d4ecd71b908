// Package v1alpha1 has the kinds of opaque configuration that Dray's driver takes
// in the parameters of a claim or a device class:
//
//	config:
//	- requests: [train]
//	  opaque:
//	    driver: gpu.dray.dev
//	    parameters:
//	      apiVersion: resource.dray.dev/v1alpha1
//	      kind: GpuConfig
//	      computeMode: ExclusiveProcess
//
// The types are what a client writes. Package api reads them: strictly, with
// defaults filled in.
package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// APIVersion of the kinds.
const APIVersion = "resource.dray.dev/v1alpha1"

// The kinds.
const (
	GpuConfigKind       = "GpuConfig"
	MigDeviceConfigKind = "MigDeviceConfig"
)

// GpuConfig is for whole GPUs.
type GpuConfig struct {
	metav1.TypeMeta `json:",inline"`
	// ComputeMode of the GPU while the claim has it; Default if it is empty.
	ComputeMode ComputeMode `json:"computeMode,omitempty"`
	// Sharing says how containers of the claim share the GPU: by time, at the
	// driver's default interval, if it is nil.
	Sharing *Sharing `json:"sharing,omitempty"`
}

// MigDeviceConfig is for partitions of GPUs.
type MigDeviceConfig struct {
	metav1.TypeMeta `json:",inline"`
	// Sharing as in GpuConfig.
	Sharing *Sharing `json:"sharing,omitempty"`
}

// ComputeMode says which processes may use a GPU at a time.
type ComputeMode string

// The modes.
const (
	// ComputeModeDefault admits any number.
	ComputeModeDefault ComputeMode = "Default"
	// ComputeModeExclusiveProcess admits one. A GPU of which claims have shares, or
	// that is used with admin access, cannot have it.
	ComputeModeExclusiveProcess ComputeMode = "ExclusiveProcess"
)

// Sharing between containers.
type Sharing struct {
	// Strategy is TimeSlicing, also if it is empty.
	Strategy SharingStrategy `json:"strategy,omitempty"`
}

// SharingStrategy is a way in which processes share a device.
type SharingStrategy string

// TimeSlicing lets processes take turns, as the driver does unless it is told
// otherwise.
const TimeSlicing SharingStrategy = "TimeSlicing"
