package family

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/utils/ptr"
)

// Families in which what costs is what other nodes publish.

// Cluster returns a case of op Pod that is no family's: a cluster of any size.
func Cluster(nodes, devices int) *Case {
	c := cluster(nodes, devices)
	c.Scenario.Stamp()
	return c
}

// cluster has nodes with the same ordinary devices each, and an ordinary claim.
func cluster(nodes, devices int) *Case {
	c := ordinary(size("n", devices))
	c.Scenario.Nodes, c.Scenario.Slices = nil, nil
	for i := range nodes {
		node := newNode(nodeName(i))
		c.Scenario.Nodes = append(c.Scenario.Nodes, node)
		c.Scenario.Slices = append(c.Scenario.Slices, localPool(node.Name, node.Name, newDevices(devices))...)
	}
	c.Node = c.Scenario.Nodes[0]
	return c
}

// onePod: a scheduler asks every node of a cluster.
func onePod(s Size) *Case { return cluster(s.Of("nodes"), s.Of("n")) }

// hardOnEveryNode: every node of a cluster has the devices of noTransversal, but
// for what tells one device from another. Nobody sees before a search that the
// claim fits on none of them.
func hardOnEveryNode(s Size) *Case {
	c, nodes := noTransversal(s), s.Of("nodes")
	devices := c.Scenario.Slices[0].Spec.Devices
	c.Scenario.Nodes, c.Scenario.Slices = nil, nil
	for i := range nodes {
		node, own := newNode(nodeName(i)), make([]resourceapi.Device, len(devices))
		for j := range devices {
			devices[j].DeepCopyInto(&own[j])
			own[j].Attributes["uuid"] = resourceapi.DeviceAttribute{StringValue: ptr.To(uuid(i*len(devices) + j))}
		}
		c.Scenario.Nodes = append(c.Scenario.Nodes, node)
		c.Scenario.Slices = append(c.Scenario.Slices, localPool(node.Name, node.Name, own)...)
	}
	c.Node = c.Scenario.Nodes[0]
	c.Steps *= int64(nodes)
	return c
}

// selectedPools: pools on the network, each with a selector of nodes that this
// node does not match, beside the node's own devices.
func selectedPools(s Size) *Case {
	c := ordinary(size("n", 8))
	for i := range s.Of("pools") {
		slices := newPool(fmt.Sprintf("network-%05d", i), 1, newDevices(1))
		slices[0].Spec.NodeSelector = &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{
			MatchExpressions: []corev1.NodeSelectorRequirement{{
				Key: "rack", Operator: corev1.NodeSelectorOpIn, Values: []string{fmt.Sprintf("rack-%d", i)},
			}},
		}}}
		c.Scenario.Slices = append(c.Scenario.Slices, slices...)
	}
	return c
}

// lastOfCluster: one pool for all nodes, of which only the last device is free.
func lastOfCluster(s Size) *Case {
	const perClaim = resourceapi.AllocationResultsMaxSize
	c, n := newCase(), s.Of("n")
	c.withClasses()
	c.Scenario.Slices = newPool("cluster", resourceapi.ResourceSliceMaxDevices, newDevices(n))
	for _, slice := range c.Scenario.Slices {
		slice.Spec.AllNodes = ptr.To(true)
	}
	for first := 0; first < n-1; first += perClaim {
		var results []resourceapi.DeviceRequestAllocationResult
		for i := first; i < min(n-1, first+perClaim); i++ {
			results = append(results, held("cluster", deviceName(i)))
		}
		c.allocate(fmt.Sprintf("other-%d", first), results...)
	}
	c.Scenario.Claims = []*resourceapi.ResourceClaim{newClaim("c", wants("r", anyClass, 1))}
	return c
}

// poolOverNodes: one pool whose slices belong to a node each.
func poolOverNodes(s Size) *Case {
	const perNode = 8
	c, nodes := newCase(), s.Of("nodes")
	c.withClasses()
	c.Scenario.Slices = newPool("cluster", perNode, newDevices(nodes*perNode))
	for i, slice := range c.Scenario.Slices {
		slice.Spec.NodeName = ptr.To(nodeName(i))
	}
	c.Scenario.Claims = []*resourceapi.ResourceClaim{newClaim("c", wants("r", anyClass, 1))}
	return c
}
