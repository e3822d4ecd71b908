package publish_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	resourceapi "k8s.io/api/resource/v1"
	"pgregory.net/rapid"

	"github.com/dray-dev/dray/kubeletplugin/hardware"
	"github.com/dray-dev/dray/kubeletplugin/publish"
)

// draw publishes a random node, or skips it where 1.34 has no slice for it.
func draw(t *rapid.T) (node *hardware.Node, options publish.Options, state publish.State, pools []publish.Pool) {
	r := &random{T: t}
	node, options = r.node(), r.options()
	plain := mustPublish(t, options, node, publish.State{})
	devices := map[publish.DeviceID]bool{}
	for _, pool := range plain {
		for _, d := range devicesOf([]publish.Pool{pool}) {
			devices[publish.DeviceID{Driver: pool.Driver, Device: d.Name}] = true
		}
	}
	state = r.state(devices)
	return node, options, state, mustPublish(t, options, node, state)
}

func mustPublish(t *rapid.T, options publish.Options, node *hardware.Node, state publish.State) []publish.Pool {
	publisher, err := publish.New(options)
	if err != nil {
		t.Fatal(err)
	}
	pools, err := publisher.Node("node-1", node, state)
	if errors.Is(err, publish.ErrDoesNotFit) && options.Minor == 34 {
		t.Skip("no slice of 1.34 holds it")
	}
	if err != nil {
		t.Fatal(err)
	}
	return pools
}

func TestAPIServersAdmitEverySlice(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		_, options, _, pools := draw(t)
		for _, pool := range pools {
			for i := range pool.Slices {
				if problem := rules(&pool.Slices[i], options.Minor); problem != "" {
					t.Fatalf("slice %s: %s", pool.Slices[i].Name, problem)
				}
			}
			if problem := poolRules(&pool); problem != "" {
				t.Fatalf("pool of %s: %s", pool.Driver, problem)
			}
		}
	})
}

// A server drops fields of features that it lacks, so there must be none.
func TestNothingIsPublishedThatTheServerDrops(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		_, options, _, pools := draw(t)
		f := options.Features
		for _, d := range devicesOf(pools) {
			if len(d.ConsumesCounters) > 0 && !f.PartitionableDevices {
				t.Fatalf("%s consumes counters", d.Name)
			}
			if len(d.Taints) > 0 && !f.DeviceTaints {
				t.Fatalf("%s has taints", d.Name)
			}
			if d.AllowMultipleAllocations != nil && !f.ConsumableCapacity {
				t.Fatalf("%s is shared", d.Name)
			}
			for _, c := range d.ConsumesCounters {
				if len(c.CompatibilityGroups) > 0 && !f.CompatibilityGroups {
					t.Fatalf("%s has groups", d.Name)
				}
			}
			for name, a := range d.Attributes {
				if a.IntValues != nil && !f.ListAttributes {
					t.Fatalf("%s has a list in %s", d.Name, name)
				}
			}
		}
	})
}

func TestSlicesAreAFunctionOfTheInput(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		node, options, state, pools := draw(t)
		before := encode(t, node)
		first := encode(t, pools)
		publisher, err := publish.New(options)
		if err != nil {
			t.Fatal(err)
		}
		other := (&random{T: t}).node()
		for _, n := range []*hardware.Node{other, node} { // a fleet's Publisher has seen other nodes
			pools, err = publisher.Node("node-1", n, state)
			if err != nil && !errors.Is(err, publish.ErrDoesNotFit) {
				t.Fatal(err)
			}
		}
		if diff := cmp.Diff(first, encode(t, pools)); diff != "" {
			t.Fatalf("a Publisher that has seen another node publishes something else: %s", diff)
		}
		again, err := publisher.Node("node-1", node, publish.State{})
		if err != nil {
			t.Fatal(err)
		}
		fresh := mustPublish(t, options, node, publish.State{})
		if diff := cmp.Diff(encode(t, fresh), encode(t, again)); diff != "" {
			t.Fatalf("taints of before are still there: %s", diff)
		}
		if encode(t, node) != before {
			t.Fatal("the node has been changed")
		}
	})
}

// How a pool is divided depends on the version of Kubernetes; what is in it, and
// in which order, does not.
func TestDevicesDoNotDependOnTheSplit(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := &random{T: t}
		node, options := r.node(), r.options()
		options.Features.ListAttributes, options.Features.CompatibilityGroups = false, false
		options.NUMANodeList, options.VGPU = false, false
		var devices []string
		for _, minor := range []int{34, 35, 37} {
			options.Minor = minor
			pools := mustPublish(t, options, node, publish.State{})
			devices = append(devices, encode(t, devicesOf(pools))+encode(t, setsOf(pools)))
		}
		if devices[0] != devices[1] || devices[1] != devices[2] {
			t.Fatalf("the devices differ: %s", cmp.Diff(devices[0], devices[2]))
		}
	})
}

// A device that consumes a whole counter set and any other one of the set
// exclude each other.
func TestTheWholeAndItsPartsExcludeEachOther(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		_, _, _, pools := draw(t)
		for _, pool := range pools {
			sets, devices := setsOf([]publish.Pool{pool}), devicesOf([]publish.Pool{pool})
			for i := range devices {
				for j := range devices {
					for _, a := range devices[i].ConsumesCounters {
						for _, b := range devices[j].ConsumesCounters {
							if i != j && a.CounterSet == b.CounterSet && isWhole(sets[a.CounterSet], a.Counters) && fitTogether(sets[a.CounterSet], a.Counters, b.Counters) {
								t.Fatalf("%s and %s fit together", devices[i].Name, devices[j].Name)
							}
						}
					}
				}
			}
		}
	})
}

func isWhole(set, consumed map[string]resourceapi.Counter) bool {
	for name, counter := range set {
		if c, ok := consumed[name]; !ok || c.Value.Cmp(counter.Value) != 0 {
			return false
		}
	}
	return true
}

func fitTogether(set, a, b map[string]resourceapi.Counter) bool {
	for name, counter := range set {
		sum := a[name].Value.DeepCopy()
		sum.Add(b[name].Value)
		if sum.Cmp(counter.Value) > 0 {
			return false
		}
	}
	return true
}

// encode is JSON, in which maps are sorted.
func encode(t *rapid.T, value any) string {
	data, err := json.Marshal(value)
	if err != nil {
		t.Fatal(fmt.Errorf("encode: %w", err))
	}
	return string(data)
}
