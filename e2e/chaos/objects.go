package chaos

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
)

const (
	namespace    = "chaos"
	gpuDriver    = "gpu.chaos.dray.dev"
	fabricDriver = "fabric.chaos.dray.dev"
	gpuClass     = "gpu"
	fabricClass  = "fabric"
	fabricPool   = "fabric"
	// extendedGPU is the extended resource that devices of the class can be asked for
	// by; the scheduler itself makes claims for it.
	extendedGPU = "chaos.dray.dev/gpu"
)

func nodeName(i int) string { return fmt.Sprintf("node-%02d", i) }

// node is one without a kubelet, and with room for any number of pods.
func node(name string) *corev1.Node {
	room := corev1.ResourceList{
		corev1.ResourceCPU: resource.MustParse("1000"), corev1.ResourceMemory: resource.MustParse("1000Gi"), corev1.ResourcePods: resource.MustParse("1000"),
	}
	return &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Status: corev1.NodeStatus{
			Capacity: room, Allocatable: room,
			Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}},
		},
	}
}

func classes() []*resourceapi.DeviceClass {
	class := func(name, driver string) *resourceapi.DeviceClass {
		return &resourceapi.DeviceClass{
			ObjectMeta: metav1.ObjectMeta{Name: name},
			Spec: resourceapi.DeviceClassSpec{Selectors: []resourceapi.DeviceSelector{
				{CEL: &resourceapi.CELDeviceSelector{Expression: fmt.Sprintf("device.driver == %q", driver)}},
			}},
		}
	}
	gpu := class(gpuClass, gpuDriver)
	gpu.Spec.ExtendedResourceName = ptr.To(extendedGPU)
	return []*resourceapi.DeviceClass{gpu, class(fabricClass, fabricDriver), class(partClass, partDriver), class(nicClass, nicDriver)}
}

// model alternates, so that selectors have something to tell apart on each node.
func model(i int) string { return string(rune('a' + i%2)) }

// nodeSlice is the slice of a node's devices, without those in missing, and with a
// taint on those in tainted.
func nodeSlice(node string, devices int, generation int64, missing, tainted map[int]bool) *resourceapi.ResourceSlice {
	slice := emptySlice(node+"-gpus", gpuDriver, node, generation)
	slice.Spec.NodeName = &node
	for i := range devices {
		if missing[i] {
			continue
		}
		d := resourceapi.Device{
			Name: fmt.Sprintf("gpu-%d", i),
			Attributes: map[resourceapi.QualifiedName]resourceapi.DeviceAttribute{
				"model": {StringValue: ptr.To(model(i))},
				"pair":  {IntValue: ptr.To(int64(i / 2))},
			},
		}
		if tainted[i] {
			d.Taints = []resourceapi.DeviceTaint{{Key: "chaos.dray.dev/sick", Effect: resourceapi.DeviceTaintEffectNoSchedule}}
		}
		slice.Spec.Devices = append(slice.Spec.Devices, d)
	}
	return slice
}

func fabricSlice(devices int) *resourceapi.ResourceSlice {
	slice := emptySlice("fabric", fabricDriver, fabricPool, 1)
	slice.Spec.AllNodes = ptr.To(true)
	for i := range devices {
		slice.Spec.Devices = append(slice.Spec.Devices, resourceapi.Device{Name: fmt.Sprintf("port-%d", i)})
	}
	return slice
}

func emptySlice(name, driver, pool string, generation int64) *resourceapi.ResourceSlice {
	return &resourceapi.ResourceSlice{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: resourceapi.ResourceSliceSpec{
			Driver: driver,
			Pool:   resourceapi.ResourcePool{Name: pool, Generation: generation, ResourceSliceCount: 1},
		},
	}
}

func claimOf(requests ...resourceapi.DeviceRequest) resourceapi.ResourceClaimSpec {
	for i := range requests {
		requests[i].Name = fmt.Sprintf("r%d", i)
	}
	return resourceapi.ResourceClaimSpec{Devices: resourceapi.DeviceClaim{Requests: requests}}
}

// exactly asks for a number of devices, of one model if that is given.
func exactly(class string, count int64, model string) resourceapi.DeviceRequest {
	exact := &resourceapi.ExactDeviceRequest{DeviceClassName: class, AllocationMode: resourceapi.DeviceAllocationModeExactCount, Count: count}
	if model != "" {
		exact.Selectors = modelSelector(model)
	}
	return resourceapi.DeviceRequest{Exactly: exact}
}

func modelSelector(model string) []resourceapi.DeviceSelector {
	return []resourceapi.DeviceSelector{{CEL: &resourceapi.CELDeviceSelector{
		Expression: fmt.Sprintf("device.attributes[%q].model == %q", gpuDriver, model)}}}
}

// templates are what pods have their claims made from, by name.
func templates() map[string]resourceapi.ResourceClaimSpec {
	pair := claimOf(exactly(gpuClass, 2, ""))
	pair.Devices.Constraints = []resourceapi.DeviceConstraint{{MatchAttribute: ptr.To(resourceapi.FullyQualifiedName(gpuDriver + "/pair"))}}
	either := claimOf(resourceapi.DeviceRequest{FirstAvailable: []resourceapi.DeviceSubRequest{
		{Name: "three", DeviceClassName: gpuClass, AllocationMode: resourceapi.DeviceAllocationModeExactCount, Count: 3, Selectors: modelSelector("b")},
		{Name: "one", DeviceClassName: gpuClass, AllocationMode: resourceapi.DeviceAllocationModeExactCount, Count: 1},
	}})
	return map[string]resourceapi.ResourceClaimSpec{
		"one":     claimOf(exactly(gpuClass, 1, "")),
		"model-a": claimOf(exactly(gpuClass, 1, "a")),
		"quad":    claimOf(exactly(gpuClass, 4, "")),
		"pair":    pair,
		"either":  either,
		"port":    claimOf(exactly(gpuClass, 1, ""), exactly(fabricClass, 1, "")),
		"whole":   claimOf(partOf(8)),
		"half":    claimOf(partOf(4)),
		"quarter": claimOf(partOf(2)),
		"share":   claimOf(shareOf(3)),
		"mixed":   claimOf(exactly(gpuClass, 1, "b"), shareOf(4), partOf(2)),
	}
}

// templateNames in the order in which they are drawn from; common ones are there
// more often.
var templateNames = []string{"one", "one", "one", "model-a", "model-a", "quad", "pair", "pair", "either", "port",
	"whole", "half", "half", "quarter", "quarter", "share", "share", "mixed", "mixed"}

func pod(name string) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		Spec: corev1.PodSpec{
			TerminationGracePeriodSeconds: ptr.To(int64(0)),
			AutomountServiceAccountToken:  ptr.To(false),
			Containers:                    []corev1.Container{{Name: "main", Image: "none"}},
		},
	}
}

// withTemplate gives the pod a claim that is made for it.
func withTemplate(p *corev1.Pod, template string) {
	p.Spec.ResourceClaims = append(p.Spec.ResourceClaims, corev1.PodResourceClaim{
		Name: fmt.Sprintf("c%d", len(p.Spec.ResourceClaims)), ResourceClaimTemplateName: &template})
}

// withClaim gives the pod a claim that it shares.
func withClaim(p *corev1.Pod, claim string) {
	p.Spec.ResourceClaims = append(p.Spec.ResourceClaims, corev1.PodResourceClaim{
		Name: fmt.Sprintf("c%d", len(p.Spec.ResourceClaims)), ResourceClaimName: &claim})
}

func withExtended(p *corev1.Pod, count int64) {
	p.Spec.Containers[0].Resources.Limits = corev1.ResourceList{extendedGPU: *resource.NewQuantity(count, resource.DecimalSI)}
}

// asks tells what a pod asks for.
func asks(p *corev1.Pod) string {
	var parts []string
	for _, claim := range p.Spec.ResourceClaims {
		if claim.ResourceClaimTemplateName != nil {
			parts = append(parts, "template "+*claim.ResourceClaimTemplateName)
		} else {
			parts = append(parts, "claim "+*claim.ResourceClaimName)
		}
	}
	if count, ok := p.Spec.Containers[0].Resources.Limits[extendedGPU]; ok {
		parts = append(parts, "extended "+count.String())
	}
	return strings.Join(parts, ", ")
}
