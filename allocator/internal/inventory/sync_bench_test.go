package inventory

import (
	"fmt"
	"strconv"
	"testing"

	corev1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
)

// One slice changes, as after each health report of a driver: what does it cost
// until the node can be asked about again?
func BenchmarkSync(b *testing.B) {
	for _, nodes := range []int{500, 5000} {
		for _, devices := range []int{8, 128} {
			b.Run(fmt.Sprintf("nodes=%d/devices=%d/changed=1", nodes, devices), func(b *testing.B) { benchmarkSync(b, nodes, devices) })
		}
	}
}

func benchmarkSync(b *testing.B, nodes, devices int) {
	content := newSlice("content")
	for i := range devices {
		with(fmt.Sprintf("gpu-%d", i))(content)
	}
	var list []*resourceapi.ResourceSlice
	for i := range nodes {
		name := fmt.Sprintf("node-%04d", i)
		list = append(list, newSlice(name, onNode(name), func(s *resourceapi.ResourceSlice) { s.Spec.Devices = content.Spec.Devices }))
	}
	inv := New()
	node := newNodeObject("node-0042")
	before := askAbout(b, inv, list, node)
	i := 0
	for b.Loop() {
		i++
		fresh := *list[42]
		fresh.ResourceVersion = strconv.Itoa(i + 1)
		list[42] = &fresh
		after := askAbout(b, inv, list, node)
		if after == before || after.Pools[0].Devices != devices {
			b.Fatal("the change was not seen")
		}
		before = after
	}
}

func askAbout(b *testing.B, inv *Inventory, list []*resourceapi.ResourceSlice, node *corev1.Node) *Node {
	return view(b, snapshotOf(b, inv, list...), node, all)
}
