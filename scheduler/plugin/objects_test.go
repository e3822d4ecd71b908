package plugin

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	schedulingapi "k8s.io/api/scheduling/v1beta1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

const testNamespace = "default"

// parseObjects reads one object a line: a kind, a name, and fields.
//
//	node NAME [declares=FEATURE] [extended=RESOURCE:COUNT]
//	class NAME [resource=RESOURCE] [driver=D]
//	slice NODE [driver=D] devices=A,B [conditions=C] [failures=F] [shared] [skips] [taint=KEY] [memory=QUANTITY]
//	rule NAME pool=POOL taint=KEY
//	claim NAME [CLASS[*COUNT]]... [first=CLASS,CLASS] [on=NODE:DEVICE] [for=POD,POD] [owner=POD] [strange] [admin] [tolerates=KEY] [memory=QUANTITY]
//	pod NAME [claims=A,B] [group=G] [extended=RESOURCE:COUNT,...] [init=RESOURCE:COUNT]
//	group NAME [claims=A,B]
//
// A device is of every class, unless the class is for a driver. A claim that is on a device was allocated by its
// first request.
func parseObjects(t testing.TB, text string) objects {
	t.Helper()
	var o objects
	for line := range strings.Lines(text) {
		words := strings.Fields(line)
		if len(words) < 2 {
			t.Fatalf("not an object: %q", line)
		}
		f := readFields(words[2:])
		switch words[0] {
		case "node":
			o.nodes = append(o.nodes, parseNode(t, words[1], f))
		case "class":
			o.classes = append(o.classes, parseClass(words[1], f))
		case "slice":
			o.slices = append(o.slices, parseSlice(words[1], f))
		case "claim":
			o.claims = append(o.claims, parseClaim(t, words[1], f))
		case "pod":
			o.pods = append(o.pods, parsePod(t, words[1], f))
		case "rule":
			o.rules = append(o.rules, parseRule(words[1], f))
		case "group":
			o.groups = append(o.groups, parseGroup(words[1], f))
		default:
			t.Fatalf("no such kind: %q", line)
		}
	}
	o.bindClaimsToGroups()
	return o
}

// fields are key=value words, and words alone in the order in which they stand.
type fields struct {
	values map[string]string
	words  []string
}

func readFields(words []string) fields {
	f := fields{values: map[string]string{}}
	for _, word := range words {
		if key, value, ok := strings.Cut(word, "="); ok {
			f.values[key] = value
		} else {
			f.words = append(f.words, word)
		}
	}
	return f
}

func (f fields) list(key string) []string {
	if f.values[key] == "" {
		return nil
	}
	return strings.Split(f.values[key], ",")
}

func (f fields) has(word string) bool { return slices.Contains(f.words, word) }

func resources(t testing.TB, list []string) corev1.ResourceList {
	t.Helper()
	out := corev1.ResourceList{}
	for _, item := range list {
		name, count, _ := strings.Cut(item, ":")
		quantity, err := resource.ParseQuantity(count)
		if err != nil {
			t.Fatalf("count of %s: %v", item, err)
		}
		out[corev1.ResourceName(name)] = quantity
	}
	return out
}

func parseNode(t testing.TB, name string, f fields) *corev1.Node {
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}}
	node.Status.DeclaredFeatures = f.list("declares")
	node.Status.Allocatable = resources(t, f.list("extended"))
	return node
}

func parseClass(name string, f fields) *resourceapi.DeviceClass {
	class := &resourceapi.DeviceClass{ObjectMeta: metav1.ObjectMeta{Name: name}}
	if resource := f.values["resource"]; resource != "" {
		class.Spec.ExtendedResourceName = &resource
	}
	if driver := f.values["driver"]; driver != "" {
		class.Spec.Selectors = []resourceapi.DeviceSelector{{CEL: &resourceapi.CELDeviceSelector{Expression: fmt.Sprintf("device.driver == %q", driver)}}}
	}
	return class
}

func parseSlice(node string, f fields) *resourceapi.ResourceSlice {
	driver := f.values["driver"]
	if driver == "" {
		driver = "gpu.example"
	}
	slice := &resourceapi.ResourceSlice{
		ObjectMeta: metav1.ObjectMeta{Name: node + "-" + driver},
		Spec: resourceapi.ResourceSliceSpec{
			Driver: driver, NodeName: &node,
			Pool: resourceapi.ResourcePool{Name: node, ResourceSliceCount: 1},
		},
	}
	if f.has("skips") {
		slice.Spec.SkipNodeOperations = []resourceapi.SkipNodeOperation{resourceapi.SkipNodeOperationAll}
	}
	for _, name := range f.list("devices") {
		device := resourceapi.Device{Name: name, BindingConditions: f.list("conditions"), BindingFailureConditions: f.list("failures")}
		if f.has("shared") {
			shared := true
			device.AllowMultipleAllocations = &shared
		}
		if key := f.values["taint"]; key != "" {
			device.Taints = []resourceapi.DeviceTaint{{Key: key, Effect: resourceapi.DeviceTaintEffectNoSchedule}}
		}
		if memory := f.values["memory"]; memory != "" {
			device.Capacity = map[resourceapi.QualifiedName]resourceapi.DeviceCapacity{"memory": {Value: resource.MustParse(memory)}}
		}
		slice.Spec.Devices = append(slice.Spec.Devices, device)
	}
	return slice
}

// parseRule taints all devices of a pool.
func parseRule(name string, f fields) *resourceapi.DeviceTaintRule {
	pool := f.values["pool"]
	return &resourceapi.DeviceTaintRule{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: resourceapi.DeviceTaintRuleSpec{
			DeviceSelector: &resourceapi.DeviceTaintSelector{Pool: &pool},
			Taint:          resourceapi.DeviceTaint{Key: f.values["taint"], Effect: resourceapi.DeviceTaintEffectNoSchedule},
		},
	}
}

func parseClaim(t testing.TB, name string, f fields) *resourceapi.ResourceClaim {
	t.Helper()
	claim := &resourceapi.ResourceClaim{ObjectMeta: metav1.ObjectMeta{Namespace: testNamespace, Name: name, UID: types.UID("uid-" + name)}}
	requests := &claim.Spec.Devices.Requests
	for _, word := range f.words {
		if word == "admin" {
			continue
		}
		class, count, _ := strings.Cut(word, "*")
		exactly := &resourceapi.ExactDeviceRequest{DeviceClassName: class, AllocationMode: resourceapi.DeviceAllocationModeExactCount, Count: 1}
		if n, err := strconv.ParseInt(count, 10, 64); err == nil {
			exactly.Count = n
		}
		request := resourceapi.DeviceRequest{Name: fmt.Sprintf("r%d", len(*requests)), Exactly: exactly}
		if f.has("admin") {
			admin := true
			exactly.AdminAccess = &admin
		}
		if key := f.values["tolerates"]; key != "" {
			exactly.Tolerations = []resourceapi.DeviceToleration{{Key: key, Operator: resourceapi.DeviceTolerationOpExists}}
		}
		if memory := f.values["memory"]; memory != "" {
			exactly.Capacity = &resourceapi.CapacityRequirements{Requests: map[resourceapi.QualifiedName]resource.Quantity{"memory": resource.MustParse(memory)}}
		}
		if class == "strange" {
			request.Exactly = nil
		}
		*requests = append(*requests, request)
	}
	if first := f.list("first"); first != nil {
		request := resourceapi.DeviceRequest{Name: fmt.Sprintf("r%d", len(*requests))}
		for i, class := range first {
			request.FirstAvailable = append(request.FirstAvailable, resourceapi.DeviceSubRequest{
				Name: fmt.Sprintf("s%d", i), DeviceClassName: class, AllocationMode: resourceapi.DeviceAllocationModeExactCount, Count: 1,
			})
		}
		*requests = append(*requests, request)
	}
	if node, device, ok := strings.Cut(f.values["on"], ":"); ok {
		claim.Finalizers = []string{resourceapi.Finalizer}
		claim.Status.Allocation = allocationOn(node, device)
	}
	for _, pod := range f.list("for") {
		claim.Status.ReservedFor = append(claim.Status.ReservedFor, resourceapi.ResourceClaimConsumerReference{
			Resource: "pods", Name: pod, UID: types.UID("uid-" + pod),
		})
	}
	if pod := f.values["owner"]; pod != "" {
		controller := true
		claim.OwnerReferences = []metav1.OwnerReference{{APIVersion: "v1", Kind: "Pod", Name: pod, UID: types.UID("uid-" + pod), Controller: &controller}}
	}
	if n, err := strconv.Atoi(f.values["consumers"]); err == nil {
		for i := range n {
			name := fmt.Sprintf("other-%d", i)
			claim.Status.ReservedFor = append(claim.Status.ReservedFor, resourceapi.ResourceClaimConsumerReference{
				Resource: "pods", Name: name, UID: types.UID("uid-" + name),
			})
		}
	}
	return claim
}

func allocationOn(node, device string) *resourceapi.AllocationResult {
	return &resourceapi.AllocationResult{
		Devices: resourceapi.DeviceAllocationResult{Results: []resourceapi.DeviceRequestAllocationResult{
			{Request: "r0", Driver: "gpu.example", Pool: node, Device: device},
		}},
		NodeSelector: &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{
			MatchFields: []corev1.NodeSelectorRequirement{{Key: "metadata.name", Operator: corev1.NodeSelectorOpIn, Values: []string{node}}},
		}}},
	}
}

func parsePod(t testing.TB, name string, f fields) *corev1.Pod {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: testNamespace, Name: name, UID: types.UID("uid-" + name)}}
	for _, claim := range f.list("claims") {
		pod.Spec.ResourceClaims = append(pod.Spec.ResourceClaims, corev1.PodResourceClaim{Name: claim, ResourceClaimName: &claim})
	}
	for _, template := range f.list("templates") {
		pod.Spec.ResourceClaims = append(pod.Spec.ResourceClaims, corev1.PodResourceClaim{Name: template, ResourceClaimTemplateName: &template})
	}
	for _, generated := range f.list("generated") { // template:claim, or template: for one that is not needed
		template, claim, _ := strings.Cut(generated, ":")
		status := corev1.PodResourceClaimStatus{Name: template}
		if claim != "" {
			status.ResourceClaimName = &claim
		}
		pod.Status.ResourceClaimStatuses = append(pod.Status.ResourceClaimStatuses, status)
	}
	if group := f.values["group"]; group != "" {
		pod.Spec.SchedulingGroup = &corev1.PodSchedulingGroup{PodGroupName: &group}
	}
	if init := f.list("init"); init != nil {
		pod.Spec.InitContainers = []corev1.Container{{Name: "init", Resources: corev1.ResourceRequirements{Requests: resources(t, init)}}}
	}
	pod.Spec.Containers = []corev1.Container{{Name: "main", Resources: corev1.ResourceRequirements{Requests: resources(t, f.list("extended"))}}}
	return pod
}

func parseGroup(name string, f fields) *schedulingapi.PodGroup {
	group := &schedulingapi.PodGroup{ObjectMeta: metav1.ObjectMeta{Namespace: testNamespace, Name: name, UID: types.UID("uid-" + name)}}
	for _, claim := range f.list("claims") {
		group.Spec.ResourceClaims = append(group.Spec.ResourceClaims, schedulingapi.PodGroupResourceClaim{Name: claim, ResourceClaimName: &claim})
	}
	return group
}

// bindClaimsToGroups turns consumers of claims that are names of groups into
// references to groups.
func (o *objects) bindClaimsToGroups() {
	for _, claim := range o.claims {
		for i := range claim.Status.ReservedFor {
			consumer := &claim.Status.ReservedFor[i]
			for _, group := range o.groups {
				if group.Name == consumer.Name {
					consumer.APIGroup, consumer.Resource = schedulingapi.GroupName, "podgroups"
				}
			}
		}
	}
}
