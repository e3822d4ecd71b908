package api

import (
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// The kinds of NVIDIA's driver, by its names of fields and values.

const nvidiaVersion = "resource.nvidia.com/v1beta1"

func nvidia(kind string) schema.GroupVersionKind {
	return schema.FromAPIVersionAndKind(nvidiaVersion, kind)
}

const (
	timeSlicing     = "TimeSlicing"
	mps             = "MPS"
	defaultInterval = "Default"
)

type nvidiaGPUConfig struct {
	metav1.TypeMeta `json:",inline"`
	Sharing         *nvidiaGPUSharing `json:"sharing,omitempty"`
}

type nvidiaGPUSharing struct {
	Strategy          string                   `json:"strategy"`
	TimeSlicingConfig *nvidiaTimeSlicingConfig `json:"timeSlicingConfig,omitempty"`
	MPSConfig         *nvidiaMPSConfig         `json:"mpsConfig,omitempty"`
}

type nvidiaTimeSlicingConfig struct {
	Interval *string `json:"interval,omitempty"`
}

// nvidiaMPSConfig is read only to tell a mistake in it from what is refused.
type nvidiaMPSConfig struct {
	DefaultActiveThreadPercentage     *int                         `json:"defaultActiveThreadPercentage,omitempty"`
	DefaultPinnedDeviceMemoryLimit    *resource.Quantity           `json:"defaultPinnedDeviceMemoryLimit,omitempty"`
	DefaultPerDevicePinnedMemoryLimit map[string]resource.Quantity `json:"defaultPerDevicePinnedMemoryLimit,omitempty"`
	MultiUser                         *bool                        `json:"multiUser,omitempty"`
}

func (c nvidiaGPUConfig) config() (Config, error) {
	s := c.Sharing
	if s == nil {
		return GPU{}, nil
	}
	if err := checkNVIDIAStrategy(s.Strategy, s.MPSConfig); err != nil {
		return nil, err
	}
	if s.TimeSlicingConfig == nil || s.TimeSlicingConfig.Interval == nil {
		return GPU{}, nil
	}
	const field = "sharing.timeSlicingConfig.interval"
	interval := *s.TimeSlicingConfig.Interval
	if err := oneOf(field, interval, defaultInterval, "Short", "Medium", "Long"); err != nil {
		return nil, err
	}
	if interval != defaultInterval {
		return nil, refused(field, "there is no tool to set it to "+interval)
	}
	return GPU{}, nil
}

type nvidiaMIGDeviceConfig struct {
	metav1.TypeMeta `json:",inline"`
	Sharing         *nvidiaMIGSharing `json:"sharing,omitempty"`
}

type nvidiaMIGSharing struct {
	Strategy  string           `json:"strategy"`
	MPSConfig *nvidiaMPSConfig `json:"mpsConfig,omitempty"`
}

func (c nvidiaMIGDeviceConfig) config() (Config, error) {
	if c.Sharing == nil {
		return MIG{}, nil
	}
	return MIG{}, checkNVIDIAStrategy(c.Sharing.Strategy, c.Sharing.MPSConfig)
}

func checkNVIDIAStrategy(strategy string, config *nvidiaMPSConfig) error {
	if err := oneOf("sharing.strategy", strategy, timeSlicing, mps); err != nil {
		return err
	}
	switch {
	case strategy == mps:
		return refused("sharing.strategy", "there is no MPS daemon to share by")
	case config != nil:
		return wrong("sharing.mpsConfig", "the strategy is %s, which does not use it", strategy)
	}
	return nil
}

type nvidiaVFIODeviceConfig struct {
	metav1.TypeMeta `json:",inline"`
	IOMMU           *struct {
		BackendPolicy   string `json:"backendPolicy,omitempty"`
		EnableAPIDevice *bool  `json:"enableAPIDevice,omitempty"`
	} `json:"iommu,omitempty"`
}

func (nvidiaVFIODeviceConfig) config() (Config, error) {
	return nil, refused("kind", "it passes no GPUs through to virtual machines")
}

type nvidiaChannelConfig struct {
	metav1.TypeMeta `json:",inline"`
	DomainID        string `json:"domainID"`
	AllocationMode  string `json:"allocationMode,omitempty"`
}

func (nvidiaChannelConfig) config() (Config, error) { return nil, errNoComputeDomains }

type nvidiaDaemonConfig struct {
	metav1.TypeMeta `json:",inline"`
	DomainID        string `json:"domainID"`
}

func (nvidiaDaemonConfig) config() (Config, error) { return nil, errNoComputeDomains }

var errNoComputeDomains = refused("kind", "it prepares no compute domains")
