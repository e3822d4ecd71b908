package api

import (
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/dray-dev/dray/kubeletplugin/api/v1alpha1"
)

// The kinds of package v1alpha1.

func ours(kind string) schema.GroupVersionKind {
	return schema.FromAPIVersionAndKind(v1alpha1.APIVersion, kind)
}

type gpuConfig v1alpha1.GpuConfig

func (c gpuConfig) config() (Config, error) {
	if err := checkSharing(c.Sharing); err != nil {
		return nil, err
	}
	if c.ComputeMode == "" {
		c.ComputeMode = v1alpha1.ComputeModeDefault
	}
	if err := oneOf("computeMode", string(c.ComputeMode),
		string(v1alpha1.ComputeModeDefault), string(v1alpha1.ComputeModeExclusiveProcess)); err != nil {
		return nil, err
	}
	return GPU{ExclusiveProcess: c.ComputeMode == v1alpha1.ComputeModeExclusiveProcess}, nil
}

type migDeviceConfig v1alpha1.MigDeviceConfig

func (c migDeviceConfig) config() (Config, error) { return MIG{}, checkSharing(c.Sharing) }

func checkSharing(s *v1alpha1.Sharing) error {
	switch {
	case s == nil, s.Strategy == "":
		return nil
	case s.Strategy == mps:
		return refused("sharing.strategy", "there is no MPS daemon to share by")
	}
	return oneOf("sharing.strategy", string(s.Strategy), string(v1alpha1.TimeSlicing))
}
