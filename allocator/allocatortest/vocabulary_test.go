package allocatortest

import (
	"context"
	"testing"

	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/dynamic-resource-allocation/cel"
	"k8s.io/utils/ptr"
)

// equipped has everything that an expression may read.
var equipped = cel.Device{
	Driver: gpuDriver,
	Attributes: map[resourceapi.QualifiedName]resourceapi.DeviceAttribute{
		"model":   {StringValue: ptr.To("a100")},
		"numa":    {IntValue: ptr.To(int64(0))},
		"fast":    {BoolValue: ptr.To(true)},
		"version": {VersionValue: ptr.To("2.0.0")},
		"links":   {IntValues: []int64{1, 2}},
		"missing": {IntValue: ptr.To(int64(1))},
	},
	Capacity: map[resourceapi.QualifiedName]resourceapi.DeviceCapacity{"memory": {Value: quantity("40Gi")}},
}

var bare = cel.Device{Driver: gpuDriver}

func TestSelectorsDoWhatTheirListSays(t *testing.T) {
	cache := cel.NewCache(100, cel.Features{EnableConsumableCapacity: true, EnableListTypeAttributes: true})
	matches := func(expression string, device cel.Device) (bool, error) {
		compiled := cache.GetOrCompile(expression)
		if compiled.Error != nil {
			t.Fatalf("%s: %v", expression, compiled.Error)
		}
		match, _, err := compiled.DeviceMatches(context.Background(), device)
		return match, err
	}
	for _, expression := range selectorsFor(gpuDriver) {
		for _, device := range []cel.Device{equipped, bare} {
			if _, err := matches(expression, device); err != nil {
				t.Errorf("%s errs: %v", expression, err)
			}
		}
	}
	for _, expression := range touchySelectorsFor(gpuDriver) {
		if match, err := matches(expression, equipped); err != nil || !match {
			t.Errorf("%s on a device that has all: %v, %v", expression, match, err)
		}
		if _, err := matches(expression, bare); err == nil {
			t.Errorf("%s does not err on a device that has nothing", expression)
		}
	}
	for _, expression := range uncompilableSelectors {
		if compiled := cache.GetOrCompile(expression); compiled.Error == nil {
			t.Errorf("%s compiles", expression)
		}
	}
}

func TestDerivationsDoWhatTheirListSays(t *testing.T) {
	cache := cel.NewCache(100, cel.Features{EnableConsumableCapacity: true, EnableListTypeAttributes: true})
	for _, expression := range derivationsFor(gpuDriver) {
		compiled := cache.GetOrCompileDerivedAttribute(expression)
		if compiled.Error != nil {
			t.Errorf("%s: %v", expression, compiled.Error)
			continue
		}
		for _, device := range []cel.Device{equipped, bare} {
			if _, _, err := compiled.EvaluateDerivedAttribute(context.Background(), device); err != nil {
				t.Errorf("%s errs: %v", expression, err)
			}
		}
	}
	for _, expression := range touchyDerivationsFor(gpuDriver) {
		compiled := cache.GetOrCompileDerivedAttribute(expression)
		if compiled.Error != nil {
			continue
		}
		if _, _, err := compiled.EvaluateDerivedAttribute(context.Background(), bare); err == nil {
			t.Errorf("%s does not err on a device that has nothing", expression)
		}
	}
}
