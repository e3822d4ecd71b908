package inventory

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"

	corev1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
)

// One slice changes, as after each health report of a driver: what does it cost
// until the node can be asked about again? Listers that keep their order are
// cheaper than those that give their slices in a random one.
func BenchmarkSync(b *testing.B) {
	for _, nodes := range []int{500, 5000} {
		for _, devices := range []int{8, 128} {
			for _, shuffled := range []bool{false, true} {
				b.Run(fmt.Sprintf("nodes=%d/devices=%d/changed=1/shuffled=%v", nodes, devices, shuffled), func(b *testing.B) { benchmarkSync(b, nodes, devices, shuffled) })
			}
		}
	}
}

func benchmarkSync(b *testing.B, nodes, devices int, shuffled bool) {
	content := newSlice("content")
	for i := range devices {
		with(fmt.Sprintf("gpu-%d", i))(content)
	}
	var list []*resourceapi.ResourceSlice
	for i := range nodes {
		name := fmt.Sprintf("node-%04d", i)
		list = append(list, newSlice(name, onNode(name), func(s *resourceapi.ResourceSlice) { s.Spec.Devices = content.Spec.Devices }))
	}
	// Two orders in turn, made before the clock runs.
	orders := [2][]int{rand.New(rand.NewPCG(1, 1)).Perm(nodes), rand.New(rand.NewPCG(2, 2)).Perm(nodes)}
	published := make([]*resourceapi.ResourceSlice, nodes)
	inv := New()
	node := newNodeObject("node-0042")
	before := askAbout(b, inv, list, node)
	i := 0
	for b.Loop() {
		i++
		fresh := *list[42]
		fresh.ResourceVersion = strconv.Itoa(i + 1)
		list[42] = &fresh
		copy(published, list)
		if shuffled {
			for from, to := range orders[i%2] {
				published[to] = list[from]
			}
		}
		after := askAbout(b, inv, published, node)
		if after == before || after.Pools[0].Devices != devices {
			b.Fatal("the change was not seen")
		}
		before = after
	}
}

func askAbout(b *testing.B, inv *Inventory, list []*resourceapi.ResourceSlice, node *corev1.Node) *Node {
	return view(b, snapshotOf(b, inv, list...), node, all)
}

// BenchmarkSyncTheSame is what a list costs in which nothing changed, in the order in
// which a map is walked through from another place each time.
func BenchmarkSyncTheSame(b *testing.B) {
	stored := map[string]*resourceapi.ResourceSlice{}
	for i := range 12_500 {
		name := fmt.Sprintf("node-%05d", i)
		stored[name] = newSlice(name, onNode(name), with("gpu-0"))
	}
	walk := func() []*resourceapi.ResourceSlice { return slices.Collect(maps.Values(stored)) }
	inv := New()
	node := newNodeObject("node-00042")
	lists := make([][]*resourceapi.ResourceSlice, 16)
	for i := range lists {
		lists[i] = walk()
	}
	askAbout(b, inv, lists[0], node)
	b.ReportAllocs()
	i := 0
	for b.Loop() {
		i++
		askAbout(b, inv, lists[i%len(lists)], node)
	}
}
