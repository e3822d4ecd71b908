package publish_test

import (
	"reflect"
	"testing"

	"github.com/dray-dev/dray/kubeletplugin/publish"
)

// A fleet of thousands of nodes is published in seconds because nodes share what
// depends on the model alone.
func TestNodesOfAFleetShareWhatTheirModelsHaveInCommon(t *testing.T) {
	publisher, err := publish.New(publish.Options{Features: publish.DefaultFeatures(), MIG: publish.MIGDynamic})
	if err != nil {
		t.Fatal(err)
	}
	var pools [2][]publish.Pool
	for i, name := range []string{"node-1", "node-2"} {
		// Two nodes that have been read apart share no memory themselves.
		if pools[i], err = publisher.Node(name, readNode(t, "dgx-h100"), publish.State{}); err != nil {
			t.Fatal(err)
		}
	}
	first, second := devicesOf(pools[0]), devicesOf(pools[1])
	for i := range first {
		a, b := &first[i], &second[i]
		if !same(a.Capacity, b.Capacity) || !same(a.ConsumesCounters[0].Counters, b.ConsumesCounters[0].Counters) ||
			a.Attributes["driverVersion"].VersionValue != b.Attributes["driverVersion"].VersionValue {
			t.Errorf("%s has a copy of its own", a.Name)
		}
	}
}

func same(a, b any) bool { return reflect.ValueOf(a).Pointer() == reflect.ValueOf(b).Pointer() }
