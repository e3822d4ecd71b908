package runner

import (
	"context"
	"fmt"
	"runtime"

	"golang.org/x/perf/benchfmt"

	"github.com/dray-dev/dray/allocator"
	"github.com/dray-dev/dray/allocator/allocatortest"
	"github.com/dray-dev/dray/bench/family"
	"github.com/dray-dev/dray/bench/record"
)

// cluster is one whose inventory is weighed.
type cluster struct{ nodes, devices int }

// clusters lists those that are wanted: a hundred thousand devices on nodes of
// eight, and on nodes of 128.
func (o *Options) clusters() []cluster {
	all := []cluster{{12500, 8}, {782, 128}}
	if o.Quick {
		all = []cluster{{100, 8}}
	}
	var wanted []cluster
	for _, c := range all {
		if o.matches(c.name()) {
			wanted = append(wanted, c)
		}
	}
	return wanted
}

func (c cluster) name() string { return fmt.Sprintf("inventory/nodes=%d/n=%d", c.nodes, c.devices) }

// measure weighs an inventory in which every node has been asked about, so that
// nothing is left to be made later. The slices are the caller's and weighed
// apart; upstream keeps nothing between pods, so there is nothing to compare.
func (c cluster) measure(ctx context.Context, records recorder) error {
	empty := heap()
	in := family.Cluster(c.nodes, c.devices)
	slices := heap()
	celCache := allocatortest.NewCELCaches().For(in.Scenario)
	state, classes := in.Scenario.AllocatedState(), in.Scenario.ClassLister()
	before := heap()
	inventory := allocator.NewInventory()
	a, err := inventory.NewAllocator(ctx, in.Scenario.Features, state, classes, in.Scenario.Slices, celCache)
	if err != nil {
		return err
	}
	for _, node := range in.Scenario.Nodes {
		if results, err := a.Allocate(ctx, node, in.Scenario.Claims); err != nil || results == nil {
			return fmt.Errorf("node %s got %d results and error %v, want one result", node.Name, len(results), err)
		}
	}
	after := heap()
	runtime.KeepAlive(inventory)
	runtime.KeepAlive(celCache)
	runtime.KeepAlive(in)
	devices := float64(c.nodes * c.devices)
	return records.Write(fmt.Sprintf("Inventory/family=inventory/nodes=%d/n=%d/impl=dray", c.nodes, c.devices), 1,
		benchfmt.Value{Value: record.Round((after - before) / devices), Unit: BytesPerDevice},
		benchfmt.Value{Value: record.Round((slices - empty) / devices), Unit: SliceBytes})
}

// heap is what is reachable, after garbage is collected for good: what a
// finalizer or a pool holds goes in the second collection.
func heap() float64 {
	runtime.GC()
	runtime.GC()
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return float64(stats.HeapAlloc)
}
