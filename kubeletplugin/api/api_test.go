package api_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
	resourceapi "k8s.io/api/resource/v1"
	"sigs.k8s.io/yaml"

	"github.com/dray-dev/dray/kubeletplugin/api"
)

// TestCases reads text cases; run it with -rewrite after a change that is meant.
//
//	decode          one configuration, as YAML
//	read            an allocation's list, as YAML; its driver is gpu.dray.dev
//	gpu <request>   what applies to a GPU that the list's claim has for the request
//	mig <request>   the same of a partition
func TestCases(t *testing.T) {
	datadriven.Walk(t, "testdata/cases", func(t *testing.T, path string) {
		var configs api.Configs
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			switch d.Cmd {
			case "decode":
				data, err := yaml.YAMLToJSONStrict([]byte(d.Input))
				if err != nil {
					d.Fatalf(t, "%v", err)
				}
				return format(api.Decode(data))
			case "read":
				var list []resourceapi.DeviceAllocationConfiguration
				if err := yaml.UnmarshalStrict([]byte(d.Input), &list); err != nil {
					d.Fatalf(t, "%v", err)
				}
				var err error
				if configs, err = api.Read("gpu.dray.dev", list); err != nil {
					return format[api.Config](nil, err)
				}
				return "ok\n"
			case "gpu":
				return format(api.For[api.GPU](configs, d.CmdArgs[0].Key))
			case "mig":
				return format(api.For[api.MIG](configs, d.CmdArgs[0].Key))
			}
			d.Fatalf(t, "unknown command %s", d.Cmd)
			return ""
		})
	})
}

func format[C any](config C, err error) string {
	if err == nil {
		return strings.TrimPrefix(fmt.Sprintf("%T%+v\n", config, config), "api.")
	}
	kind := "error"
	if errors.Is(err, api.ErrRefused) {
		kind = "refused"
	}
	var e *api.Error
	if !errors.As(err, &e) {
		kind = "without a field: " + kind
	}
	return fmt.Sprintf("%s: %v\n", kind, err)
}

func FuzzDecode(f *testing.F) {
	for _, seed := range []string{
		`{"apiVersion":"resource.dray.dev/v1alpha1","kind":"GpuConfig","computeMode":"ExclusiveProcess"}`,
		`{"apiVersion":"resource.nvidia.com/v1beta1","kind":"GpuConfig","sharing":{"strategy":"TimeSlicing","timeSlicingConfig":{"interval":"Default"}}}`,
		`{"apiVersion":"resource.nvidia.com/v1beta1","kind":"MigDeviceConfig","sharing":{"strategy":"MPS","mpsConfig":{"defaultPinnedDeviceMemoryLimit":"10Gi"}}}`,
		`{"apiVersion":"resource.nvidia.com/v1beta1","kind":"VfioDeviceConfig","iommu":null}`,
		`{}`, `[]`, `null`, ``,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		config, err := api.Decode(data)
		var e *api.Error
		switch {
		case err != nil && !errors.As(err, &e):
			t.Errorf("the error names no field: %v", err)
		case err == nil && config.DeviceType() == "":
			t.Errorf("%+v is for no device", config)
		}
	})
}
