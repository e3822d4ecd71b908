package plugin

import (
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/feature"
)

func TestArgumentsAreDecodedAndDefaulted(t *testing.T) {
	for name, test := range map[string]struct {
		raw  string
		want Args
	}{
		"nothing": {"", Args{Allocator: AllocatorDray, Reasons: ReasonsDray}},
		"json":    {`{"allocator":"upstream"}`, Args{Allocator: AllocatorUpstream, Reasons: ReasonsDray}},
		"yaml": {"apiVersion: scheduler.dray.dev/v1alpha1\nkind: DrayDynamicResourcesArgs\nreasons: upstream\n",
			Args{Allocator: AllocatorDray, Reasons: ReasonsUpstream}},
	} {
		t.Run(name, func(t *testing.T) {
			args, err := decodeArgs(&runtime.Unknown{Raw: []byte(test.raw)})
			if err != nil {
				t.Fatal(err)
			}
			if err := args.validate(stableFeatures()); err != nil {
				t.Fatal(err)
			}
			got := args.withDefaults()
			if got.Allocator != test.want.Allocator || got.Reasons != test.want.Reasons {
				t.Errorf("got %+v, want %+v", got, test.want)
			}
			if got.FilterTimeout.Duration != 10*time.Second || got.BindingTimeout.Duration != 10*time.Minute || got.Kind != Kind || *got.ExplainAddress != "127.0.0.1:10269" {
				t.Errorf("defaults are %v, %v, %s, %s", got.FilterTimeout, got.BindingTimeout, got.Kind, *got.ExplainAddress)
			}
		})
	}
	if args, err := decodeArgs(nil); err != nil || args.withDefaults().Allocator != AllocatorDray {
		t.Errorf("without arguments: %+v, %v", args, err)
	}
}

func TestWrongArgumentsAreNamed(t *testing.T) {
	off := feature.Features{EnableDynamicResourceAllocation: true}
	for name, test := range map[string]struct {
		raw      string
		features feature.Features
		want     string
	}{
		"a field in other letters": {`{"FilterTimeout":"1s"}`, stableFeatures(), `unknown field "FilterTimeout"`},
		"field":                    {`{"filtertimeouts":"1s"}`, stableFeatures(), "filtertimeouts"},
		"not an object":            {`[`, stableFeatures(), "arguments"},
		"version":                  {`{"apiVersion":"v9","kind":"DrayDynamicResourcesArgs"}`, stableFeatures(), "scheduler.dray.dev/v1alpha1"},
		"kind":                     {`{"apiVersion":"scheduler.dray.dev/v1alpha1","kind":"DynamicResourcesArgs"}`, stableFeatures(), "DrayDynamicResourcesArgs"},
		"negative filter":          {`{"filterTimeout":"-1s"}`, stableFeatures(), "filterTimeout"},
		"filter without a unit":    {`{"filterTimeout":10}`, stableFeatures(), `filterTimeout: Invalid value: 10: has to be a duration, such as "10s"`},
		"binding in words":         {`{"bindingTimeout":"soon"}`, stableFeatures(), `bindingTimeout: Invalid value: "soon"`},
		"short binding":            {`{"bindingTimeout":"999ms"}`, stableFeatures(), "bindingTimeout"},
		"filter is off":            {`{"filterTimeout":"1s"}`, off, "DRASchedulerFilterTimeout"},
		"binding is off":           {`{"bindingTimeout":"1s"}`, off, "DRADeviceBindingConditions"},
		"allocator":                {`{"allocator":"best"}`, stableFeatures(), "allocator"},
		"explain without a port":   {`{"explainAddress":"127.0.0.1"}`, stableFeatures(), "explainAddress"},
		"explain on port 0":        {`{"explainAddress":"127.0.0.1:0"}`, stableFeatures(), "explainAddress"},
		"explain on a named port":  {`{"explainAddress":":http"}`, stableFeatures(), "explainAddress"},
		"reasons":                  {`{"reasons":"many"}`, stableFeatures(), "reasons"},
		"node-allocatable":         {``, feature.Features{EnableDynamicResourceAllocation: true, EnableDRANodeAllocatableResources: true}, "DRANodeAllocatableResources"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := newPlugin(t.Context(), &runtime.Unknown{Raw: []byte(test.raw)}, nil, test.features, nil)
			if err == nil || !strings.Contains(err.Error(), test.want) || !strings.Contains(err.Error(), Name) {
				t.Errorf("got %v, want it to name %s and %s", err, Name, test.want)
			}
		})
	}
}
