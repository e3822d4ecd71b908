package scheduling

import (
	"fmt"
	"math/rand/v2"

	resourceapi "k8s.io/api/resource/v1"

	"github.com/dray-dev/dray/kubeletplugin/publish"
)

// Op is what is repeated when a case is measured.
type Op string

const (
	// Plugin is PreFilter, Filter, Reserve and Unreserve.
	Plugin Op = "Plugin"
	// Pods is whole cycles that fill the cluster.
	Pods Op = "Pods"
)

// Case is one row of the results.
type Case struct {
	Op    Op
	Name  string // plugin/nodes=500/use=half
	Title string // what it is, in a few words
	// build makes the objects, always the same.
	build func() (*cluster, error)
}

const gpusPerNode = 8

// perNode is how many GPUs of each node are in use, by the word for it. "full"
// leaves one GPU on some nodes.
var perNode = map[string]int{"empty": 0, "half": gpusPerNode / 2, "full": gpusPerNode}

// bigGPU is what pods ask for beside the class.
const bigGPU = `device.capacity["gpu.dray.dev"].memory.compareTo(quantity("40Gi")) >= 0`

func oneGPU() []resourceapi.DeviceRequest {
	return []resourceapi.DeviceRequest{wants("gpu", gpuClass, 1, bigGPU)}
}

// Cases lists all. With quick, clusters are as small as can be, to see that
// everything works.
func Cases(quick bool) []*Case {
	size := func(usual, small int) int {
		if quick {
			return small
		}
		return usual
	}
	var cases []*Case
	for _, nodes := range []int{size(500, 12), size(5000, 110)} {
		for _, use := range []string{"empty", "half", "full"} {
			cases = append(cases, &Case{Plugin, fmt.Sprintf("plugin/nodes=%d/use=%s", nodes, use),
				"one GPU, on all nodes", func() (*cluster, error) { return ordinary(nodes, use, comingPods, oneGPU()) }})
		}
	}
	different := size(differentPods, 6)
	cases = append(cases, &Case{Plugin, fmt.Sprintf("plugin/nodes=%d/use=half/templates=%d", size(500, 12), different),
		"one GPU, every pod asks in other words", func() (*cluster, error) {
			var templates [][]resourceapi.DeviceRequest
			for i := range different {
				templates = append(templates, []resourceapi.DeviceRequest{wants(fmt.Sprintf("gpu-%d", i), gpuClass, 1, bigGPU)})
			}
			return ordinary(size(500, 12), "half", different, templates...)
		}})
	for _, nodes := range []int{size(500, 12), size(5000, 110)} {
		for _, use := range []string{"empty", "half", "full"} {
			cases = append(cases, &Case{Pods, fmt.Sprintf("pods/nodes=%d/use=%s", nodes, use),
				"one GPU, whole cycles", func() (*cluster, error) { return ordinary(nodes, use, min(podsInARow, nodes), oneGPU()) }})
		}
	}
	devices := size(100_000, 400)
	for _, each := range []int{1, gpusPerNode} {
		cases = append(cases, &Case{Plugin, fmt.Sprintf("state/devices=%d/claims=%d", devices, devices/each),
			"one GPU on one node, all others are full", func() (*cluster, error) { return allTaken(devices, each) }})
	}
	for _, use := range []string{"empty", "half"} {
		nodes := size(5000, 20)
		cases = append(cases, &Case{Plugin, fmt.Sprintf("mig/nodes=%d/use=%s", nodes, use),
			"two partitions of 8 GPUs with every placement", func() (*cluster, error) { return partitioned(nodes, use) }})
	}
	for _, nodes := range []int{size(500, 12), size(5000, 110)} {
		cases = append(cases, &Case{Plugin, fmt.Sprintf("unsat/nodes=%d/devices=used", nodes),
			"one GPU, all are in use", func() (*cluster, error) { return unsatisfiable(nodes, gpusPerNode, oneGPU()) }})
	}
	nodes, requests := size(500, 12), size(gpusPerNode, 5)
	return append(cases, &Case{Plugin, fmt.Sprintf("unsat/nodes=%d/requests=%d", nodes, requests),
		"one GPU in each request, one more than are free", func() (*cluster, error) {
			var each []resourceapi.DeviceRequest
			for i := range requests {
				each = append(each, wants(fmt.Sprintf("gpu-%d", i), gpuClass, 1, bigGPU))
			}
			return unsatisfiable(nodes, gpusPerNode+1-requests, each)
		}})
}

const (
	// comingPods is how many come in cases of Plugin: enough that each is another one.
	comingPods = 64
	// differentPods are more than our plugin remembers questions of.
	differentPods = 100
	// podsInARow is how many fill the cluster in cases of Pods, no more than freeGPUs.
	podsInARow = 25
	// freeGPUs is about how many GPUs are free in a full cluster, each on another node.
	freeGPUs = 50
)

// ordinary: pods that run have some of the GPUs of every node, each in a claim of
// its own; pods that come want one.
func ordinary(nodes int, use string, pods int, templates ...[]resourceapi.DeviceRequest) (*cluster, error) {
	c, err := newCluster(nodes, publish.MIGOff)
	if err != nil {
		return nil, err
	}
	every := max(1, nodes/freeGPUs)
	for node := range nodes {
		taken := perNode[use]
		if use == "full" && node%every == every-1 {
			taken--
		}
		for _, device := range c.devices(node)[:taken] {
			c.hold(node, device)
		}
	}
	c.come(pods, templates...)
	return c, nil
}

// allTaken: so many GPUs in use, some in each claim, and one node with free ones.
func allTaken(devices, each int) (*cluster, error) {
	nodes := devices/gpusPerNode + 1
	c, err := newCluster(nodes, publish.MIGOff)
	if err != nil {
		return nil, err
	}
	for node := range nodes - 1 {
		names := c.devices(node)
		for len(names) > 0 {
			c.hold(node, names[:each]...)
			names = names[each:]
		}
	}
	c.come(comingPods, oneGPU())
	c.ask = []string{c.nodes[nodes-1].Name}
	return c, nil
}

// partitioned: nodes whose GPUs can be cut in every way that MIG knows. With "half"
// each GPU has two partitions, different ones on every node.
func partitioned(nodes int, use string) (*cluster, error) {
	c, err := newCluster(nodes, publish.MIGDynamic)
	if err != nil {
		return nil, err
	}
	if use == "half" {
		random := rand.New(rand.NewPCG(1, uint64(nodes)))
		for node := range nodes {
			c.holdPartitions(node, random)
		}
	}
	profile := func(name string) string {
		return fmt.Sprintf(`device.attributes["gpu.dray.dev"].profile == %q`, name)
	}
	c.come(comingPods, []resourceapi.DeviceRequest{
		wants("large", migClass, 1, profile("3g.40gb")), wants("small", migClass, 1, profile("1g.10gb")),
	})
	return c, nil
}

// unsatisfiable: nodes of which none has what the pods want.
func unsatisfiable(nodes, taken int, requests []resourceapi.DeviceRequest) (*cluster, error) {
	c, err := newCluster(nodes, publish.MIGOff)
	if err != nil {
		return nil, err
	}
	for node := range nodes {
		for _, device := range c.devices(node)[:taken] {
			c.hold(node, device)
		}
	}
	c.come(comingPods, requests)
	return c, nil
}
