package inventory

import (
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/dray-dev/dray/allocator/internal/bitset"
	"github.com/dray-dev/dray/allocator/internal/index"
)

// Node is everything that one node reaches, for one setting of the features.
//
// Pools are ordered as upstream tries them: by driver and pool name, those with
// a device that has binding conditions after all others. Incomplete and invalid
// pools keep their place; they have no devices.
type Node struct {
	index.Domain
	Pools []*Pool
	// Reach says for each pool which of its PerDevice devices the node reaches. It
	// is read-only.
	Reach []Reach

	// serial is different for each view of the process.
	serial uint64
	// selective: node selectors had a say in what the node reaches.
	selective bool
	// labels are those that the node had; nil unless selective.
	labels map[string]string
	shared *sharedPools
}

// Reach is the answer of the devices that name their nodes themselves.
type Reach struct {
	// Matches: the node reaches the device.
	Matches bitset.Set
	// Faulty: the device's node selector cannot be parsed. Errors has the reasons.
	Faulty bitset.Set
	Errors map[int]error
}

func newNode(node *corev1.Node, groups []*group, shared *sharedPools, v Variant) (*Node, error) {
	n := &Node{serial: serials.Add(1), shared: shared, selective: len(shared.groups) > 0}
	var bound []*Pool
	for _, g := range groups {
		pool, err := g.poolFor(node, v)
		switch {
		case err != nil:
			return nil, err
		case pool == nil:
		case pool.bound:
			bound = append(bound, pool)
		default:
			n.Pools = append(n.Pools, pool)
		}
	}
	n.Pools = append(n.Pools, bound...)
	plain := make([]*index.Pool, len(n.Pools))
	n.Reach = noReach(len(n.Pools))
	own := false
	for i, pool := range n.Pools {
		plain[i] = &pool.Pool
		if !pool.PerDevice.Empty() {
			if !own {
				n.Reach, own = make([]Reach, len(n.Pools)), true
			}
			n.Reach[i] = pool.reach(node)
			n.selective = true
		}
	}
	if n.selective {
		n.labels = maps.Clone(node.Labels)
	}
	n.Domain = index.NewDomain(plain)
	return n, nil
}

// nothingSaid is what nodes share that reach no device with nodes of its own.
var nothingSaid [16]Reach

// noReach returns the Reach of that many pools without such devices. It is read-only.
func noReach(pools int) []Reach {
	if pools > len(nothingSaid) {
		return make([]Reach, pools)
	}
	return nothingSaid[:pools:pools]
}

func (p *Pool) reach(node *corev1.Node) Reach {
	r := Reach{Matches: bitset.New(p.Devices), Faulty: bitset.New(p.Devices)}
	for device := range p.PerDevice.All {
		s, i := p.locate(device)
		matches, err := s.perDevice[i].matches(node)
		switch {
		case err != nil:
			r.Faulty.Add(device)
			if r.Errors == nil {
				r.Errors = make(map[int]error)
			}
			r.Errors[device] = err
		case matches:
			r.Matches.Add(device)
		}
	}
	return r
}

// Serial is a number that no other view has. A view never changes.
func (n *Node) Serial() uint64 { return n.serial }

// Invalid returns the first pool whose slices contradict each other, or nil.
func (n *Node) Invalid() *Pool {
	i := slices.IndexFunc(n.Pools, func(p *Pool) bool { return p.Status == index.Invalid })
	if i < 0 {
		return nil
	}
	return n.Pools[i]
}

// current says whether the node view still holds. A node selector can only see
// a node's labels and name.
func (n *Node) current(node *corev1.Node, shared *sharedPools) bool {
	return n.shared == shared && (!n.selective || maps.Equal(n.labels, node.Labels))
}
