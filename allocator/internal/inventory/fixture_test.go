package inventory

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/dray-dev/dray/allocator/internal/bitset"
)

// all is the variant with every feature.
var all = Variant{Partitionable: true, CompatibilityGroups: true}

// change edits a slice while it is being made.
type change func(*resourceapi.ResourceSlice)

// newSlice is a complete pool of its own, "driver/<name>", on all nodes, unless
// changes say otherwise.
func newSlice(name string, changes ...change) *resourceapi.ResourceSlice {
	s := &resourceapi.ResourceSlice{
		ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID("uid-" + name), ResourceVersion: "1"},
		Spec:       resourceapi.ResourceSliceSpec{Driver: "driver", Pool: resourceapi.ResourcePool{Name: name, Generation: 1, ResourceSliceCount: 1}},
	}
	for _, change := range changes {
		change(s)
	}
	spec := &s.Spec
	if spec.NodeName == nil && spec.NodeSelector == nil && spec.PerDeviceNodeSelection == nil && spec.AllNodes == nil {
		yes := true
		spec.AllNodes = &yes
	}
	return s
}

// pool puts the slice into a pool of so many slices.
func pool(name string, count int64) change {
	return func(s *resourceapi.ResourceSlice) {
		s.Spec.Pool.Name, s.Spec.Pool.ResourceSliceCount = name, count
	}
}

func generation(n int64) change {
	return func(s *resourceapi.ResourceSlice) { s.Spec.Pool.Generation = n }
}

func driver(name string) change {
	return func(s *resourceapi.ResourceSlice) { s.Spec.Driver = name }
}

func version(v string) change {
	return func(s *resourceapi.ResourceSlice) { s.ResourceVersion = v }
}

func onNode(name string) change {
	return func(s *resourceapi.ResourceSlice) { s.Spec.NodeName = &name }
}

// onNodes is for nodes with the label.
func onNodes(key, value string) change {
	return func(s *resourceapi.ResourceSlice) { s.Spec.NodeSelector = selects(key, corev1.NodeSelectorOpIn, value) }
}

// nowhere is how a slice looks whose way to name nodes is not known yet.
func nowhere(s *resourceapi.ResourceSlice) {
	no := false
	s.Spec.AllNodes = &no
}

func selects(key string, operator corev1.NodeSelectorOperator, values ...string) *corev1.NodeSelector {
	return &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{
		MatchExpressions: []corev1.NodeSelectorRequirement{{Key: key, Operator: operator, Values: values}},
	}}}
}

// with adds a device.
func with(name string, edits ...func(*resourceapi.Device)) change {
	return func(s *resourceapi.ResourceSlice) {
		device := resourceapi.Device{Name: name}
		for _, edit := range edits {
			edit(&device)
		}
		s.Spec.Devices = append(s.Spec.Devices, device)
	}
}

// perDevice lets the devices say which nodes reach them.
func perDevice(s *resourceapi.ResourceSlice) {
	yes := true
	s.Spec.PerDeviceNodeSelection = &yes
}

func deviceOn(node string) func(*resourceapi.Device) {
	return func(d *resourceapi.Device) { d.NodeName = &node }
}

func deviceOnNodes(selector *corev1.NodeSelector) func(*resourceapi.Device) {
	return func(d *resourceapi.Device) { d.NodeSelector = selector }
}

func tainted(key string, effect resourceapi.DeviceTaintEffect) func(*resourceapi.Device) {
	return func(d *resourceapi.Device) {
		d.Taints = append(d.Taints, resourceapi.DeviceTaint{Key: key, Effect: effect})
	}
}

// counters adds a counter set: names and amounts alternate.
func counters(set string, pairs ...string) change {
	return func(s *resourceapi.ResourceSlice) {
		s.Spec.SharedCounters = append(s.Spec.SharedCounters, resourceapi.CounterSet{Name: set, Counters: counterMap(pairs)})
	}
}

func counterMap(pairs []string) map[string]resourceapi.Counter {
	m := map[string]resourceapi.Counter{}
	for pair := range slices.Chunk(pairs, 2) {
		m[pair[0]] = resourceapi.Counter{Value: resource.MustParse(pair[1])}
	}
	return m
}

// draws lets a device consume counters: names and amounts alternate.
func draws(set string, pairs ...string) func(*resourceapi.Device) {
	return func(d *resourceapi.Device) {
		d.ConsumesCounters = append(d.ConsumesCounters, resourceapi.DeviceCounterConsumption{CounterSet: set, Counters: counterMap(pairs)})
	}
}

// grouped gives groups to the latest consumption of the device.
func grouped(groups ...string) func(*resourceapi.Device) {
	return func(d *resourceapi.Device) {
		d.ConsumesCounters[len(d.ConsumesCounters)-1].CompatibilityGroups = groups
	}
}

func newNodeObject(name string, labels ...string) *corev1.Node {
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{}}}
	for pair := range slices.Chunk(labels, 2) {
		node.Labels[pair[0]] = pair[1]
	}
	return node
}

func snapshotOf(t testing.TB, inv *Inventory, list ...*resourceapi.ResourceSlice) *Snapshot {
	t.Helper()
	snapshot, err := inv.Sync(list)
	if err != nil {
		t.Fatal(err)
	}
	return snapshot
}

func view(t testing.TB, s *Snapshot, node *corev1.Node, v Variant) *Node {
	t.Helper()
	n, err := s.Node(node, v)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// see is what a node with no labels sees of the slices, with all features.
func see(t testing.TB, node string, list ...*resourceapi.ResourceSlice) *Node {
	t.Helper()
	return view(t, snapshotOf(t, New(), list...), newNodeObject(node), all)
}

// describe writes a view down: pools in order, devices by number, and all that
// is known about each. Two views with one description cannot be told apart.
func describe(n *Node) string {
	var text strings.Builder
	for i, p := range n.Pools {
		fmt.Fprintf(&text, "%s %s", p, p.Status)
		if p.Reason != "" {
			fmt.Fprintf(&text, " (%s)", p.Reason)
		}
		text.WriteString(":")
		for device := range p.Devices {
			fmt.Fprintf(&text, " %s", p.At(device).Name)
			for i, set := range []bitset.Set{p.MultiAllocatable, p.ConsumesCounters, p.Binding, p.SkipsNodeOperations, p.Tainted, p.Metered} {
				if set.Has(device) {
					text.WriteString(" " + []string{"multi", "counters", "binding", "skips", "tainted", "metered"}[i])
				}
			}
			if p.PerDevice.Has(device) {
				fmt.Fprintf(&text, " reached=%v,%v,%v", n.Reach[i].Matches.Has(device), n.Reach[i].Faulty.Has(device), n.Reach[i].Errors[device])
			}
			if p.MemberOf != nil {
				fmt.Fprintf(&text, " member %d", p.MemberOf[device])
			}
		}
		if c := p.Counters; c != nil {
			fmt.Fprintf(&text, " sets %v %v available %v", c.Sets, c.Names, c.Available)
			fmt.Fprintf(&text, " uses %v %v drawn %v groups %v %v", c.Starts, c.Uses, c.Drawn, c.GroupStarts, c.GroupUses)
		}
		text.WriteString("\n")
	}
	return text.String()
}

// names are the devices of a view in the order of positions, with their pools.
func names(n *Node) []string {
	var list []string
	for _, p := range n.Pools {
		for device := range p.Devices {
			list = append(list, p.String()+"/"+p.At(device).Name)
		}
	}
	return list
}
