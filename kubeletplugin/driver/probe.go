package driver

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	resourceapi "k8s.io/api/resource/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/dray-dev/dray/kubeletplugin/publish"
)

// server is what is known of the API server.
type server struct {
	minor    int
	features publish.Features
}

// ideal is a server that keeps everything.
func ideal() *server {
	return &server{minor: publish.NewestMinor, features: publish.Features{PartitionableDevices: true, DeviceTaints: true,
		CompatibilityGroups: true, ListAttributes: true, BindingConditions: true, ConsumableCapacity: true, ExtendedResources: true}}
}

// probe finds out which features the API server keeps: it drops fields of those that
// are off and says nothing. Each is tried with a slice of its own that is only
// checked, never stored, because a slice that is refused says nothing of the rest.
func probe(ctx context.Context, client kubernetes.Interface, driver, node string) (*server, error) {
	version, err := client.Discovery().ServerVersion()
	if err != nil {
		return nil, fmt.Errorf("version of the API server: %w", err)
	}
	s := &server{minor: minorOf(version.Minor)}
	for _, try := range []struct {
		since   int
		feature *bool
		spec    resourceapi.ResourceSliceSpec
		kept    func(spec *resourceapi.ResourceSliceSpec) bool
	}{
		{0, &s.features.PartitionableDevices, counterProbe(s.minor), func(s *resourceapi.ResourceSliceSpec) bool {
			return len(s.SharedCounters) > 0
		}},
		{0, &s.features.DeviceTaints, deviceProbe(func(d *resourceapi.Device) {
			d.Taints = []resourceapi.DeviceTaint{{Key: "dray.dev/probe", Effect: resourceapi.DeviceTaintEffectNoSchedule}}
		}), func(s *resourceapi.ResourceSliceSpec) bool { return len(s.Devices[0].Taints) > 0 }},
		{37, &s.features.CompatibilityGroups, deviceProbe(func(d *resourceapi.Device) {
			d.ConsumesCounters = []resourceapi.DeviceCounterConsumption{{CounterSet: "probe", Counters: probeCounters(),
				CompatibilityGroups: []string{"probe"}}}
		}), func(s *resourceapi.ResourceSliceSpec) bool {
			consumes := s.Devices[0].ConsumesCounters
			return len(consumes) > 0 && len(consumes[0].CompatibilityGroups) > 0
		}},
		{36, &s.features.ListAttributes, deviceProbe(func(d *resourceapi.Device) {
			d.Attributes = map[resourceapi.QualifiedName]resourceapi.DeviceAttribute{"probe": {IntValues: []int64{1}}}
		}), func(s *resourceapi.ResourceSliceSpec) bool {
			return len(s.Devices[0].Attributes["probe"].IntValues) > 0
		}},
		{0, &s.features.BindingConditions, deviceProbe(func(d *resourceapi.Device) {
			d.BindingConditions, d.BindingFailureConditions = []string{"dray.dev/Probe"}, []string{"dray.dev/ProbeFailed"}
		}), func(s *resourceapi.ResourceSliceSpec) bool { return len(s.Devices[0].BindingConditions) > 0 }},
		{0, &s.features.ConsumableCapacity, deviceProbe(func(d *resourceapi.Device) {
			yes := true
			d.AllowMultipleAllocations = &yes
		}), func(s *resourceapi.ResourceSliceSpec) bool { return s.Devices[0].AllowMultipleAllocations != nil }},
	} {
		if s.minor < try.since {
			continue
		}
		if *try.feature, err = keeps(ctx, client, driver, node, try.spec, try.kept); err != nil {
			return nil, err
		}
	}
	if !s.features.PartitionableDevices {
		s.features.CompatibilityGroups = false
	}
	return s, nil
}

// minorOf reads "37" and "37+"; a server later or older than those that are known is
// taken for the nearest.
func minorOf(text string) int {
	end := strings.IndexFunc(text, func(r rune) bool { return r < '0' || r > '9' })
	if end < 0 {
		end = len(text)
	}
	minor, err := strconv.Atoi(text[:end])
	if err != nil {
		return publish.NewestMinor
	}
	return min(max(minor, publish.OldestMinor), publish.NewestMinor)
}

func keeps(ctx context.Context, client kubernetes.Interface, driver, node string, spec resourceapi.ResourceSliceSpec,
	kept func(*resourceapi.ResourceSliceSpec) bool) (bool, error) {
	spec.Driver, spec.NodeName = driver, &node
	// A pool that nobody uses, should a server store what it is asked not to.
	spec.Pool = resourceapi.ResourcePool{Name: node + ".probe", Generation: 1, ResourceSliceCount: 1}
	slice := &resourceapi.ResourceSlice{ObjectMeta: metav1.ObjectMeta{GenerateName: "probe-"}, Spec: spec}
	answer, err := client.ResourceV1().ResourceSlices().Create(ctx, slice, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
	if apierrors.IsInvalid(err) {
		return false, nil // it says so loudly
	}
	if err != nil {
		return false, fmt.Errorf("trying what the API server keeps of ResourceSlices: %w", err)
	}
	if len(answer.Spec.Devices) != len(spec.Devices) {
		return false, nil
	}
	return kept(&answer.Spec), nil
}

func probeCounters() map[string]resourceapi.Counter {
	return map[string]resourceapi.Counter{"probe": {Value: resource.MustParse("1")}}
}

// counterProbe is in the slice of a device before 1.35, and alone since.
func counterProbe(minor int) resourceapi.ResourceSliceSpec {
	spec := resourceapi.ResourceSliceSpec{SharedCounters: []resourceapi.CounterSet{{Name: "probe", Counters: probeCounters()}}}
	if minor < 35 {
		spec.Devices = []resourceapi.Device{{Name: "probe"}}
	}
	return spec
}

func deviceProbe(change func(*resourceapi.Device)) resourceapi.ResourceSliceSpec {
	device := resourceapi.Device{Name: "probe"}
	change(&device)
	return resourceapi.ResourceSliceSpec{Devices: []resourceapi.Device{device}}
}

// reduce returns the options with what a server keeps of them, and says what is left
// out.
func reduce(options publish.Options, s *server) (reduced publish.Options, leftOut []string) {
	options.Minor, options.Features = s.minor, s.features
	without := func(what, feature string) {
		leftOut = append(leftOut, what+" (the API server does not keep "+feature+")")
	}
	if options.MIG == publish.MIGDynamic && !s.features.PartitionableDevices {
		options.MIG = publish.MIGOff
		without("partitions of GPUs", "shared counters")
	}
	if options.VGPU && !s.features.CompatibilityGroups {
		options.VGPU = false
		without("virtual GPUs", "compatibility groups")
	}
	if options.AMDPartitions && !(s.features.PartitionableDevices && s.features.ConsumableCapacity) {
		options.AMDPartitions = false
		without("other partition modes of AMD GPUs", "shared counters and consumable capacity")
	}
	if options.NICs == publish.NICSharedBandwidth && !s.features.ConsumableCapacity {
		options.NICs = publish.NICFunctions
		without("shared bandwidth of network ports", "consumable capacity")
	}
	options.NUMANodeList = s.features.ListAttributes
	// Extended resources are in DeviceClasses, which a driver does not write.
	options.ExtendedResources = nil
	return options, leftOut
}
