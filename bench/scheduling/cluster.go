package scheduling

import (
	"fmt"
	"math/rand/v2"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"github.com/dray-dev/dray/hwsim/fleet"
	"github.com/dray-dev/dray/hwsim/machine"
	"github.com/dray-dev/dray/kubeletplugin/publish"
)

const (
	gpuDriver = "gpu.dray.dev"
	gpuClass  = "gpu.dray.dev"
	migClass  = "mig.dray.dev"
	namespace = "bench"
)

// cluster is what a case is measured on. Worlds share its objects and change none
// of them.
type cluster struct {
	nodes   []*corev1.Node
	slices  []*resourceapi.ResourceSlice
	classes []*resourceapi.DeviceClass
	// claims of pods that run, with their devices, and of those that come.
	claims []*resourceapi.ResourceClaim
	// pods that come, each with a claim of its own. They are from this many templates
	// in turn.
	pods      []*corev1.Pod
	templates int
	// ask are the nodes that Plugin asks about, all if there are none.
	ask []string

	pools []publish.Pool // of GPUs, by node
	uids  int
}

// newCluster has nodes with eight GPUs each, as simulated machines publish them.
func newCluster(nodes int, mig publish.MIGMode) (*cluster, error) {
	model, err := machine.Load("dgx-h100")
	if err != nil {
		return nil, err
	}
	options := publish.Options{Features: publish.DefaultFeatures(), MIG: mig, Simulated: true}
	made, err := fleet.New(fleet.Spec{
		Machines: []fleet.Count{{Machine: model, Count: nodes}}, Seed: 1, Publish: options, Name: `node-{{printf "%05d" .Number}}`,
	})
	if err != nil {
		return nil, err
	}
	c := &cluster{}
	for member, err := range made.Members() {
		if err != nil {
			return nil, err
		}
		c.nodes = append(c.nodes, member.Node)
		for _, pool := range member.Pools {
			if pool.Driver == gpuDriver {
				c.addPool(pool)
			}
		}
	}
	if len(c.pools) != nodes {
		return nil, fmt.Errorf("%d nodes have %d pools of driver %s, want one each", nodes, len(c.pools), gpuDriver)
	}
	classes, err := publish.DeviceClasses(options)
	for i := range classes {
		c.classes = append(c.classes, &classes[i])
		c.register(classes[i].GetObjectMeta())
	}
	return c, err
}

func (c *cluster) addPool(pool publish.Pool) {
	c.pools = append(c.pools, pool)
	for i := range pool.Slices {
		slice := pool.Slices[i] // it shares memory with others, so only the copy's own fields are set
		c.register(&slice)
		c.slices = append(c.slices, &slice)
	}
}

// register gives an object what the API server would.
func (c *cluster) register(object metav1.Object) {
	c.uids++
	object.SetUID(types.UID(fmt.Sprintf("00000000-0000-4000-8000-%012d", c.uids)))
	object.SetResourceVersion(firstVersion)
}

// firstVersion is the resource version of what is there from the beginning.
const firstVersion = "1"

func newClaim(name string, requests ...resourceapi.DeviceRequest) *resourceapi.ResourceClaim {
	return &resourceapi.ResourceClaim{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		Spec:       resourceapi.ResourceClaimSpec{Devices: resourceapi.DeviceClaim{Requests: requests}},
	}
}

// wants is a request for a number of devices of a class.
func wants(name, class string, count int, expressions ...string) resourceapi.DeviceRequest {
	exactly := &resourceapi.ExactDeviceRequest{DeviceClassName: class, AllocationMode: resourceapi.DeviceAllocationModeExactCount, Count: int64(count)}
	for _, e := range expressions {
		exactly.Selectors = append(exactly.Selectors, resourceapi.DeviceSelector{CEL: &resourceapi.CELDeviceSelector{Expression: e}})
	}
	return resourceapi.DeviceRequest{Name: name, Exactly: exactly}
}

// hold lets a pod that runs have devices of one node, in a claim of their own.
func (c *cluster) hold(node int, devices ...string) {
	pool := c.pools[node]
	claim := newClaim("held-"+strconv.Itoa(len(c.claims)), wants("gpu", gpuClass, len(devices)))
	c.register(claim)
	claim.Finalizers = []string{resourceapi.Finalizer}
	claim.Status.ReservedFor = []resourceapi.ResourceClaimConsumerReference{{Resource: "pods", Name: claim.Name, UID: claim.UID}}
	claim.Status.Allocation = &resourceapi.AllocationResult{NodeSelector: onlyNode(c.nodes[node].Name)}
	results := &claim.Status.Allocation.Devices.Results
	for _, device := range devices {
		*results = append(*results, resourceapi.DeviceRequestAllocationResult{Request: "gpu", Driver: pool.Driver, Pool: pool.Name, Device: device})
	}
	c.claims = append(c.claims, claim)
}

func onlyNode(name string) *corev1.NodeSelector {
	return &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{
		MatchFields: []corev1.NodeSelectorRequirement{{Key: metav1.ObjectNameField, Operator: corev1.NodeSelectorOpIn, Values: []string{name}}},
	}}}
}

// devices lists the names of a node's devices.
func (c *cluster) devices(node int) []string {
	var names []string
	for i := range c.pools[node].Slices {
		for _, device := range c.pools[node].Slices[i].Spec.Devices {
			names = append(names, device.Name)
		}
	}
	return names
}

// holdPartitions gives other pods random partitions of a node's GPUs that fit
// beside each other, each in a claim of its own, until about a half of what a
// partition takes most of is gone.
func (c *cluster) holdPartitions(node int, random *rand.Rand) {
	free := map[string]map[string]int64{} // by counter set and counter
	var devices []*resourceapi.Device
	for i := range c.pools[node].Slices {
		spec := &c.pools[node].Slices[i].Spec
		for _, set := range spec.SharedCounters {
			free[set.Name] = map[string]int64{}
			for name, counter := range set.Counters {
				free[set.Name][name] = counter.Value.Value()
			}
		}
		for k := range spec.Devices {
			devices = append(devices, &spec.Devices[k])
		}
	}
	const enough = 16 // partitions of the eight GPUs of a node
	held := 0
	for _, i := range random.Perm(len(devices)) {
		device := devices[i]
		if held == enough || device.Attributes["type"].StringValue == nil || *device.Attributes["type"].StringValue != "mig" || !take(free, device) {
			continue
		}
		c.hold(node, device.Name)
		held++
	}
}

// take subtracts what the device consumes, if it is all there.
func take(free map[string]map[string]int64, device *resourceapi.Device) bool {
	for _, consumed := range device.ConsumesCounters {
		for name, counter := range consumed.Counters {
			if free[consumed.CounterSet][name] < counter.Value.Value() {
				return false
			}
		}
	}
	for _, consumed := range device.ConsumesCounters {
		for name, counter := range consumed.Counters {
			free[consumed.CounterSet][name] -= counter.Value.Value()
		}
	}
	return true
}

// come adds pods, each with a claim that was generated for it from one of the
// templates, in turn.
func (c *cluster) come(count int, templates ...[]resourceapi.DeviceRequest) {
	c.templates = len(templates)
	for i := range count {
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: fmt.Sprintf("pod-%04d", i)}}
		c.register(pod)
		claim := newClaim(pod.Name+"-devices", templates[i%len(templates)]...)
		c.register(claim)
		claim.OwnerReferences = []metav1.OwnerReference{{APIVersion: "v1", Kind: "Pod", Name: pod.Name, UID: pod.UID, Controller: ptr.To(true)}}
		pod.Spec.Containers = []corev1.Container{{Name: "main", Resources: corev1.ResourceRequirements{Claims: []corev1.ResourceClaim{{Name: "devices"}}}}}
		pod.Spec.ResourceClaims = []corev1.PodResourceClaim{{Name: "devices", ResourceClaimTemplateName: ptr.To("devices")}}
		pod.Status.ResourceClaimStatuses = []corev1.PodResourceClaimStatus{{Name: "devices", ResourceClaimName: ptr.To(claim.Name)}}
		c.claims, c.pods = append(c.claims, claim), append(c.pods, pod)
	}
}
