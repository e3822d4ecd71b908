package family

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
)

const (
	driver    = "gpu.example.com"
	namespace = "bench"
	anyClass  = "any"
)

func nodeName(i int) string   { return fmt.Sprintf("node-%05d", i) }
func deviceName(i int) string { return fmt.Sprintf("gpu-%05d", i) }
func uuid(i int) string       { return fmt.Sprintf("GPU-%08x-1a2b-3c4d", i) }

func newNode(name string) *corev1.Node {
	return &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{corev1.LabelHostname: name}}}
}

// newDevices returns n devices that tell which one they are, as real ones do,
// and what they are.
func newDevices(n int) []resourceapi.Device {
	devices := make([]resourceapi.Device, n)
	for i := range devices {
		devices[i] = resourceapi.Device{
			Name: deviceName(i),
			Attributes: map[resourceapi.QualifiedName]resourceapi.DeviceAttribute{
				"index": {IntValue: ptr.To(int64(i))},
				"uuid":  {StringValue: ptr.To(uuid(i))},
				"model": {StringValue: ptr.To("a100")},
			},
			Capacity: map[resourceapi.QualifiedName]resourceapi.DeviceCapacity{"memory": {Value: resource.MustParse("40Gi")}},
		}
	}
	return devices
}

// setInt gives a device one more attribute.
func setInt(d *resourceapi.Device, name resourceapi.QualifiedName, value int) {
	d.Attributes[name] = resourceapi.DeviceAttribute{IntValue: ptr.To(int64(value))}
}

// localPool returns the slices of one node's pool.
func localPool(pool, node string, devices []resourceapi.Device) []*resourceapi.ResourceSlice {
	perSlice := resourceapi.ResourceSliceMaxDevices
	if len(devices) > 0 && len(devices[0].ConsumesCounters) > 0 {
		perSlice = resourceapi.ResourceSliceMaxDevicesWithAdvancedFeatures
	}
	slices := newPool(pool, perSlice, devices)
	for _, slice := range slices {
		slice.Spec.NodeName = ptr.To(node)
	}
	return slices
}

// newPool spreads devices over slices of at most perSlice each. The caller says
// which nodes reach them.
func newPool(pool string, perSlice int, devices []resourceapi.Device) []*resourceapi.ResourceSlice {
	count := max(1, (len(devices)+perSlice-1)/perSlice)
	slices := make([]*resourceapi.ResourceSlice, count)
	for i := range slices {
		slices[i] = &resourceapi.ResourceSlice{
			ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("%s-%05d", pool, i)},
			Spec: resourceapi.ResourceSliceSpec{
				Driver:  driver,
				Pool:    resourceapi.ResourcePool{Name: pool, Generation: 1, ResourceSliceCount: int64(count)},
				Devices: devices[i*perSlice : min(len(devices), (i+1)*perSlice) : min(len(devices), (i+1)*perSlice)],
			},
		}
	}
	return slices
}

// counterSlice adds a slice of counter sets to a pool.
func counterSlice(pool []*resourceapi.ResourceSlice, sets ...resourceapi.CounterSet) []*resourceapi.ResourceSlice {
	counters := pool[0].DeepCopy()
	counters.Name = pool[0].Spec.Pool.Name + "-counters"
	counters.Spec.Devices, counters.Spec.SharedCounters = nil, sets
	pool = append(pool, counters)
	for _, slice := range pool {
		slice.Spec.Pool.ResourceSliceCount = int64(len(pool))
	}
	return pool
}

func newClass(name string, expressions ...string) *resourceapi.DeviceClass {
	return &resourceapi.DeviceClass{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: resourceapi.DeviceClassSpec{Selectors: selectors(expressions)}}
}

func selectors(expressions []string) []resourceapi.DeviceSelector {
	var selectors []resourceapi.DeviceSelector
	for _, e := range expressions {
		selectors = append(selectors, resourceapi.DeviceSelector{CEL: &resourceapi.CELDeviceSelector{Expression: e}})
	}
	return selectors
}

// withClasses adds the class without selectors, which most requests name, and
// one that no device belongs to.
func (c *Case) withClasses(more ...*resourceapi.DeviceClass) {
	c.Scenario.Classes = append([]*resourceapi.DeviceClass{newClass(anyClass), newClass(noneClass, `device.driver == "none.example.com"`)}, more...)
}

// noneClass has no devices: a kind that this node lacks.
const noneClass = "none"

func newClaim(name string, requests ...resourceapi.DeviceRequest) *resourceapi.ResourceClaim {
	return &resourceapi.ResourceClaim{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: namespace},
		Spec:       resourceapi.ResourceClaimSpec{Devices: resourceapi.DeviceClaim{Requests: requests}},
	}
}

// wants asks for a number of devices of a class.
func wants(name, class string, count int, expressions ...string) resourceapi.DeviceRequest {
	return resourceapi.DeviceRequest{Name: name, Exactly: &resourceapi.ExactDeviceRequest{
		DeviceClassName: class, AllocationMode: resourceapi.DeviceAllocationModeExactCount, Count: int64(count), Selectors: selectors(expressions),
	}}
}

// wantsAll asks for every device of a class.
func wantsAll(name, class string) resourceapi.DeviceRequest {
	return resourceapi.DeviceRequest{Name: name, Exactly: &resourceapi.ExactDeviceRequest{
		DeviceClassName: class, AllocationMode: resourceapi.DeviceAllocationModeAll,
	}}
}

// alternative is one entry of firstAvailable.
func alternative(name, class string, count int) resourceapi.DeviceSubRequest {
	return resourceapi.DeviceSubRequest{
		Name: name, DeviceClassName: class, AllocationMode: resourceapi.DeviceAllocationModeExactCount, Count: int64(count),
	}
}

// repeated numbers copies of a request.
func repeated(n int, request func(name string) resourceapi.DeviceRequest) []resourceapi.DeviceRequest {
	requests := make([]resourceapi.DeviceRequest, n)
	for i := range requests {
		requests[i] = request(fmt.Sprintf("r%02d", i))
	}
	return requests
}

func matching(attribute resourceapi.FullyQualifiedName) resourceapi.DeviceConstraint {
	return resourceapi.DeviceConstraint{MatchAttribute: &attribute}
}

func distinct(attribute resourceapi.FullyQualifiedName) resourceapi.DeviceConstraint {
	return resourceapi.DeviceConstraint{DistinctAttribute: &attribute}
}

// allocate lets a claim of another pod hold devices of the first node's pool.
// Those with a share hold a part of the device's capacity.
func (c *Case) allocate(name string, results ...resourceapi.DeviceRequestAllocationResult) {
	claim := newClaim(name, wants("r", anyClass, 1))
	claim.Status.Allocation = &resourceapi.AllocationResult{Devices: resourceapi.DeviceAllocationResult{Results: results}}
	c.Scenario.Allocated = append(c.Scenario.Allocated, claim)
}

func held(pool, device string) resourceapi.DeviceRequestAllocationResult {
	return resourceapi.DeviceRequestAllocationResult{Request: "r", Driver: driver, Pool: pool, Device: device}
}

func heldShare(pool, device string, share int, capacity map[resourceapi.QualifiedName]resource.Quantity) resourceapi.DeviceRequestAllocationResult {
	result := held(pool, device)
	result.ShareID = ptr.To(types.UID(fmt.Sprintf("00000000-0000-4000-8000-%012d", share)))
	result.ConsumedCapacity = capacity
	return result
}
