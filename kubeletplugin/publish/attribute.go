package publish

import (
	"slices"
	"strings"
	"unicode/utf8"

	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/dray-dev/dray/kubeletplugin/hardware"
)

// Attributes that Kubernetes defines for all drivers, and our mark.
const (
	attributePCIBusID  = resourceapi.QualifiedName("resource.kubernetes.io/pciBusID")
	attributePCIeRoot  = resourceapi.QualifiedName("resource.kubernetes.io/pcieRoot")
	attributeNUMANode  = resourceapi.QualifiedName("resource.kubernetes.io/numaNode")
	AttributeSimulated = resourceapi.QualifiedName("dray.dev/simulated")
)

type (
	attributes = map[resourceapi.QualifiedName]resourceapi.DeviceAttribute
	capacities = map[resourceapi.QualifiedName]resourceapi.DeviceCapacity
	counters   = map[string]resourceapi.Counter
)

// replacement stands for bytes that are not UTF-8, which the API does not carry:
// files and libraries may hold any.
const replacement = "\uFFFD"

func text(s string) resourceapi.DeviceAttribute {
	s = strings.ToValidUTF8(s, replacement)
	return resourceapi.DeviceAttribute{StringValue: &s}
}

func number(n int) resourceapi.DeviceAttribute {
	v := int64(n)
	return resourceapi.DeviceAttribute{IntValue: &v}
}

var yes, no = true, false

func truth(b bool) resourceapi.DeviceAttribute {
	if b {
		return resourceapi.DeviceAttribute{BoolValue: &yes}
	}
	return resourceapi.DeviceAttribute{BoolValue: &no}
}

// description is a text that only people read, which may be cut to fit.
func description(s string) resourceapi.DeviceAttribute {
	s = strings.ToValidUTF8(s, replacement)
	if n := resourceapi.DeviceAttributeMaxValueLength; len(s) > n {
		for !utf8.RuneStart(s[n]) {
			n--
		}
		s = s[:n]
	}
	return text(strings.TrimSpace(s))
}

func amount(n int) resourceapi.DeviceCapacity {
	return resourceapi.DeviceCapacity{Value: *resource.NewQuantity(int64(n), resource.BinarySI)}
}

func bytes(n uint64) resourceapi.DeviceCapacity {
	return resourceapi.DeviceCapacity{Value: *resource.NewQuantity(int64(n), resource.BinarySI)}
}

func count(n int) resourceapi.Counter {
	return resourceapi.Counter{Value: *resource.NewQuantity(int64(n), resource.BinarySI)}
}

// topology adds where a function sits: address, root, NUMA node, each if known.
func (p *Publisher) topology(a attributes, f *hardware.PCIFunction, node *hardware.Node) {
	a[attributePCIBusID] = text(f.Address.String())
	p.rootAndNUMANode(a, f, node)
}

func (p *Publisher) rootAndNUMANode(a attributes, f *hardware.PCIFunction, node *hardware.Node) {
	if f.Root != "" {
		a[attributePCIeRoot] = text(f.Root)
	}
	if f.NUMANode >= 0 { // -1 would match every other device without a node
		a[attributeNUMANode] = p.numaNode(f.NUMANode, node)
	}
}

// numaNode is a number, or a list that starts with it and goes on with the nodes
// of the same socket that are as near to it as any other node is. Two devices
// match if their lists share an element.
func (p *Publisher) numaNode(id int, node *hardware.Node) resourceapi.DeviceAttribute {
	if !p.options.NUMANodeList {
		return number(id)
	}
	list := []int64{int64(id)}
	i := slices.IndexFunc(node.NUMANodes, func(n hardware.NUMANode) bool { return n.ID == id })
	if i >= 0 && len(node.NUMANodes[i].Distances) == len(node.NUMANodes) {
		own := &node.NUMANodes[i]
		nearest := -1
		for j, distance := range own.Distances {
			if j != i && (nearest < 0 || distance < nearest) {
				nearest = distance
			}
		}
		for j, other := range node.NUMANodes {
			if j != i && own.Distances[j] == nearest && other.Socket == own.Socket {
				list = append(list, int64(other.ID))
			}
		}
	}
	return resourceapi.DeviceAttribute{IntValues: list}
}

// mark adds the mark of simulated devices, if they are.
func (p *Publisher) mark(a attributes) attributes {
	if p.options.Simulated {
		a[AttributeSimulated] = truth(true)
	}
	return a
}
