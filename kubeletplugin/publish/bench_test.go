package publish_test

import (
	"testing"

	"github.com/dray-dev/dray/kubeletplugin/publish"
)

// BenchmarkNode publishes one DGX H100 with every MIG placement, 208 devices, as
// a fleet does: one Publisher for all nodes.
func BenchmarkNode(b *testing.B) {
	node := readNode(b, "dgx-h100")
	publisher, err := publish.New(publish.Options{Features: publish.DefaultFeatures(), MIG: publish.MIGDynamic, Simulated: true})
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		pools, err := publisher.Node("node-1", node, publish.State{})
		if err != nil {
			b.Fatal(err)
		}
		devices := 0
		for i := range pools[0].Slices {
			devices += len(pools[0].Slices[i].Spec.Devices)
		}
		if devices != 208 {
			b.Fatalf("%d devices", devices)
		}
	}
}

// BenchmarkFirstNode has a new Publisher for each node, as a driver's start does.
func BenchmarkFirstNode(b *testing.B) {
	node := readNode(b, "dgx-h100")
	b.ReportAllocs()
	for b.Loop() {
		publisher, err := publish.New(publish.Options{Features: publish.DefaultFeatures(), MIG: publish.MIGDynamic})
		if err != nil {
			b.Fatal(err)
		}
		if _, err := publisher.Node("node-1", node, publish.State{}); err != nil {
			b.Fatal(err)
		}
	}
}
