package allocatortest

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
)

// reach says how the slices of a pool get to nodes.
type reach int

const (
	reachLocal     reach = iota // all slices on one node
	reachZone                   // by a node selector
	reachAll                    // all nodes
	reachPerDevice              // each device has its own node selection
	reachSpread                 // one slice for each node: a multi-host pool
)

// poolPlan is a pool while it is being drawn. Its devices resemble each other,
// as those of a real driver do, so that constraints have a chance.
type poolPlan struct {
	driver, name string
	reach        reach
	node         string
	style        deviceStyle
	slices       []*resourceapi.ResourceSlice
}

func (b *builder) addPools() {
	perNode := make(map[string]int)
	for i, driver := range b.drivers {
		for _, node := range b.s.Nodes {
			if !b.chance([]int{97, 88, 80}[i]) {
				continue
			}
			count := between(b.T, []int{3, 1, 1}[i], []int{8, 5, 3}[i])
			if b.deep && i == 0 {
				count = between(b.T, 6, 8)
			}
			perNode[node.Name] += count
			b.addPool(&poolPlan{driver: driver, name: node.Name, reach: reachLocal, node: node.Name}, count)
		}
	}
	// Names that sort before and after those of the nodes.
	for _, shared := range []struct {
		feature Feature
		name    string
		reach   reach
		most    int
	}{
		{NodeSelectorPool, "fabric", reachZone, 3},
		{AllNodesPool, "attic", reachAll, 2},
		{PerDeviceNodeSelection, "rack", reachPerDevice, 4},
		{SpreadPool, "spread", reachSpread, 2 * len(b.s.Nodes)},
	} {
		if !b.wants(shared.feature) {
			continue
		}
		count := 1 + below(b.T, shared.most)
		b.visible += count
		b.addPool(&poolPlan{driver: pick(b.T, b.drivers), name: shared.name, reach: shared.reach}, count)
	}
	if b.wants(ResultLimit) && b.chance(30) {
		b.addCrowd()
	}
	most := 0
	for _, n := range perNode {
		most = max(most, n)
	}
	b.visible += most
}

// addCrowd adds a pool with more plain devices than fit into one claim.
func (b *builder) addCrowd() {
	b.crowded = true
	p := &poolPlan{driver: gpuDriver, name: "crowd", reach: reachAll}
	slice := b.slice(p, "devices")
	for i := range between(b.T, 30, 36) {
		slice.Spec.Devices = append(slice.Spec.Devices, resourceapi.Device{Name: fmt.Sprintf("dev-%02d", i)})
	}
	slice.Spec.Pool.ResourceSliceCount = 1
	b.pools = append(b.pools, p)
}

func (b *builder) addPool(p *poolPlan, devices int) {
	p.style = b.styleFor(p.driver)
	sliceCount := 1
	switch {
	case p.reach == reachSpread:
		sliceCount = len(b.s.Nodes)
	case devices > 1 && b.chance(35):
		sliceCount = 2
	}
	for i := range sliceCount {
		slice := b.slice(p, fmt.Sprintf("devices-%d", i))
		if p.reach == reachSpread {
			slice.Spec.NodeName = ptr.To(b.s.Nodes[i].Name)
		}
	}
	for i := range devices {
		slice := p.slices[i%sliceCount]
		slice.Spec.Devices = append(slice.Spec.Devices, b.device(p, i))
	}
	if p.style.counterSets > 0 {
		b.addCounterSlices(p)
	}
	for _, slice := range p.slices {
		slice.Spec.Pool.ResourceSliceCount = int64(len(p.slices))
	}
	b.pools = append(b.pools, p)
}

func (b *builder) slice(p *poolPlan, suffix string) *resourceapi.ResourceSlice {
	slice := &resourceapi.ResourceSlice{
		TypeMeta:   metav1.TypeMeta{APIVersion: "resource.k8s.io/v1", Kind: "ResourceSlice"},
		ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("%s-%s-%s", classOf[p.driver], p.name, suffix)},
		Spec: resourceapi.ResourceSliceSpec{
			Driver: p.driver,
			Pool:   resourceapi.ResourcePool{Name: p.name, Generation: 3},
		},
	}
	switch p.reach {
	case reachLocal, reachSpread:
		slice.Spec.NodeName = ptr.To(p.node)
	case reachZone:
		slice.Spec.NodeSelector = b.zoneSelector()
	case reachAll:
		slice.Spec.AllNodes = ptr.To(true)
	case reachPerDevice:
		slice.Spec.PerDeviceNodeSelection = ptr.To(true)
	}
	if b.chance(2) && slice.Spec.PerDeviceNodeSelection == nil {
		slice.Spec.PerDeviceNodeSelection = ptr.To(false)
	}
	if p.style.skipOperations {
		slice.Spec.SkipNodeOperations = p.style.skipped
	}
	p.slices = append(p.slices, slice)
	b.s.Slices = append(b.s.Slices, slice)
	return slice
}

// addCounterSlices publishes the counter sets of a pool. They need not reach
// the nodes that the devices reach, only belong to the same pool.
func (b *builder) addCounterSlices(p *poolPlan) {
	slice := b.slice(p, "counters")
	if p.reach == reachSpread || (p.reach == reachPerDevice && b.chance(50)) {
		slice.Spec.PerDeviceNodeSelection = nil
		slice.Spec.NodeName = ptr.To(pick(b.T, b.s.Nodes).Name)
	}
	if p.reach == reachPerDevice && slice.Spec.NodeName == nil {
		slice.Spec.PerDeviceNodeSelection = nil
		slice.Spec.AllNodes = ptr.To(true)
	}
	memory := []string{"20Gi", "40Gi", "41943040Ki"}
	if b.hugeCounters {
		memory = []string{"7Ei", "5Ei"}
	}
	for i := range p.style.counterSets {
		slice.Spec.SharedCounters = append(slice.Spec.SharedCounters, resourceapi.CounterSet{
			Name: counterSet(i),
			Counters: counters("slots", pick(b.T, []string{"2", "3", "4"}), "memory", pick(b.T, memory),
				"share", pick(b.T, []string{"1", "1500m", "0.75"})),
		})
	}
}

func counterSet(i int) string { return fmt.Sprintf("set-%d", i) }

func (b *builder) zoneSelector() *corev1.NodeSelector {
	requirement := corev1.NodeSelectorRequirement{Key: zoneLabel, Operator: corev1.NodeSelectorOpIn, Values: []string{"zone-1"}}
	switch below(b.T, 5) {
	case 1:
		requirement.Values = []string{"zone-1", "zone-2"}
		if b.chance(50) {
			requirement.Values = []string{"zone-2", "zone-1"}
		}
	case 2:
		requirement = corev1.NodeSelectorRequirement{Key: zoneLabel, Operator: corev1.NodeSelectorOpExists}
	case 3:
		requirement = corev1.NodeSelectorRequirement{Key: hostLabel, Operator: corev1.NodeSelectorOpNotIn, Values: []string{"node-c"}}
	}
	term := corev1.NodeSelectorTerm{MatchExpressions: []corev1.NodeSelectorRequirement{requirement}}
	if b.chance(25) {
		term.MatchFields = []corev1.NodeSelectorRequirement{{Key: "metadata.name", Operator: corev1.NodeSelectorOpIn, Values: []string{"node-a"}}}
	}
	return &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{term}}
}

// selectNodes gives a device of a per-device pool its nodes. Two terms pass
// API validation here, unlike in the slice.
func (b *builder) selectNodes(device *resourceapi.Device) {
	switch below(b.T, 4) {
	case 0:
		device.AllNodes = ptr.To(true)
	case 1, 2:
		device.NodeName = ptr.To(pick(b.T, b.s.Nodes).Name)
	case 3:
		device.NodeSelector = b.zoneSelector()
		if b.chance(8) {
			device.NodeSelector.NodeSelectorTerms = append(device.NodeSelector.NodeSelectorTerms, b.zoneSelector().NodeSelectorTerms...)
		}
	}
}
