package fleet

import (
	"fmt"
	"iter"
	"maps"
	"math/rand/v2"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/dray-dev/dray/hwsim/machine"
	"github.com/dray-dev/dray/kubeletplugin/hardware"
	"github.com/dray-dev/dray/kubeletplugin/publish"
)

// Fleet is a Spec in which nothing is wrong. One goroutine at a time may use it.
type Fleet struct {
	spec      Spec
	instances []instance
	names     *names
	publisher *publish.Publisher
	nodes     int
}

// Member is a node of the fleet, or a fabric pool.
type Member struct {
	Machine string
	// Instance is the name of the rack, or of the node itself, and Place the node's
	// place in the rack, from 0: with the fleet's seed they are the machine's identity.
	Instance string
	Place    int
	// Node and Hardware are nil for a fabric pool.
	Node     *corev1.Node
	Hardware *hardware.Node
	// Fabric is nil for a node.
	Fabric *hardware.FabricPool
	// Pools are the slices by driver. They share memory with those of other
	// members and must not be changed.
	Pools []publish.Pool
}

// New checks a whole fleet: every name, every label, and the slices of each
// machine once. What it returns can be gone through without an error.
func New(spec Spec) (*Fleet, error) {
	if err := spec.check(); err != nil {
		return nil, err
	}
	f := &Fleet{spec: spec}
	var err error
	if f.names, err = newNames(&spec); err != nil {
		return nil, err
	}
	if f.publisher, err = publish.New(spec.Publish); err != nil {
		return nil, fmt.Errorf("fleet: %w", err)
	}
	if _, err = publish.DeviceClasses(spec.Publish); err != nil {
		return nil, fmt.Errorf("fleet: %w", err)
	}
	f.order()
	return f, f.check()
}

// order lists the instances.
func (f *Fleet) order() {
	next := map[string]int{} // a machine may be there more than once
	for _, count := range f.spec.Machines {
		name := count.Machine.Name()
		for range count.Count {
			f.instances = append(f.instances, instance{machine: count.Machine, index: next[name], capacity: count.Capacity})
			next[name]++
		}
	}
	if f.spec.Shuffle {
		r := rand.New(rand.NewPCG(f.spec.Seed, 0))
		r.Shuffle(len(f.instances), func(i, j int) { f.instances[i], f.instances[j] = f.instances[j], f.instances[i] })
	}
	for i := range f.instances {
		f.instances[i].number = i
	}
}

// check goes through the fleet's names and labels, and through the slices of the
// first instance of each machine.
func (f *Fleet) check() error {
	taken := map[string]string{} // by a node or a fabric pool: both name pools of slices
	published := map[*machine.Machine]bool{}
	for i := len(f.instances); i < len(f.names.zones); i++ { // zones that are dealt to nobody
		if _, err := f.names.fillZone(i, &Place{Machine: f.spec.Machines[0].Machine.Name()}); err != nil {
			return err
		}
	}
	for _, instance := range f.instances {
		made, place, err := f.make(instance)
		if err != nil {
			return err
		}
		first := !published[instance.machine]
		published[instance.machine] = true
		if made.Pool != nil {
			if err := f.take(taken, made.Pool.Name, "fabric pool"); err != nil {
				return err
			}
			for _, key := range slices.Sorted(maps.Keys(made.Pool.NodeLabels)) {
				if problems := validation.IsValidLabelValue(made.Pool.NodeLabels[key]); len(problems) > 0 {
					return fmt.Errorf("fleet: name: fabric pool %s would select nodes by %s=%q, which no label can be: %s",
						made.Pool.Name, key, made.Pool.NodeLabels[key], problems[0])
				}
			}
			if first {
				if _, err := f.publisher.Fabric(made.Pool, publish.State{}); err != nil {
					return fmt.Errorf("fleet: machine %s: %w", instance.machine.Name(), err)
				}
			}
		}
		for i := range made.Nodes {
			node := &made.Nodes[i]
			if err := f.take(taken, node.Name, "node"); err != nil {
				return err
			}
			f.nodes++
			at := place.of(node)
			if _, err := f.object(&at, node.Hardware); err != nil {
				return err
			}
			if first {
				if err := node.Hardware.Validate(); err != nil {
					return fmt.Errorf("fleet: machine %s: %w", instance.machine.Name(), err)
				}
				if _, err := f.publisher.Node(node.Name, node.Hardware, publish.State{}); err != nil {
					return fmt.Errorf("fleet: machine %s: %w", instance.machine.Name(), err)
				}
			}
		}
	}
	return nil
}

// take records who has a name, and fails if another has it.
func (f *Fleet) take(taken map[string]string, name, what string) error {
	other, ok := taken[name]
	taken[name] = what
	if !ok {
		return nil
	}
	both := "two " + what + "s"
	if other != what {
		both = "a " + other + " and a " + what
	}
	return fmt.Errorf("fleet: name: %s would be called %q: the template %q must tell instances apart, "+
		"by .Machine and .Index or by .Number", both, name, f.spec.name())
}

// NodeCount is how many nodes there are.
func (f *Fleet) NodeCount() int { return f.nodes }

// make names and makes an instance.
func (f *Fleet) make(i instance) (*machine.Instance, Place, error) {
	place := Place{Machine: i.machine.Name(), Index: i.index, Number: i.number, capacity: i.capacity}
	zone, err := f.names.zone(&place)
	if err != nil {
		return nil, place, err
	}
	place.Zone = zone
	name, err := f.names.instance(&place)
	if err != nil {
		return nil, place, err
	}
	place.Instance = name
	return i.machine.Instantiate(machine.Identity{Name: name, Seed: f.spec.Seed}), place, nil
}

// of is the place of one node of the instance.
func (p Place) of(node *machine.Node) Place {
	p.Node, p.Member, p.Clique = node.Name, node.Place, node.Clique
	p.architecture, p.memoryGiB = node.Architecture, node.MemoryGiB
	return p
}

// Members yields the members in order, each made when it is its turn. An error
// ends the sequence; after New it can only be a bug.
func (f *Fleet) Members() iter.Seq2[Member, error] {
	return func(yield func(Member, error) bool) {
		for _, instance := range f.instances {
			made, place, err := f.make(instance)
			if err != nil {
				yield(Member{}, err)
				return
			}
			for i := range made.Nodes {
				member, err := f.member(instance.machine, place.of(&made.Nodes[i]), &made.Nodes[i])
				if !yield(member, err) || err != nil {
					return
				}
			}
			if made.Pool != nil {
				pools, err := f.publisher.Fabric(made.Pool, publish.State{})
				if !yield(Member{Machine: instance.machine.Name(), Fabric: made.Pool, Pools: pools}, err) || err != nil {
					return
				}
			}
		}
	}
}

func (f *Fleet) member(m *machine.Machine, place Place, node *machine.Node) (Member, error) {
	object, err := f.object(&place, node.Hardware)
	if err != nil {
		return Member{}, err
	}
	pools, err := f.publisher.Node(node.Name, node.Hardware, publish.State{})
	if err != nil {
		return Member{}, fmt.Errorf("fleet: machine %s: %w", m.Name(), err)
	}
	return Member{Machine: m.Name(), Instance: place.Instance, Place: place.Member, Node: object, Hardware: node.Hardware, Pools: pools}, nil
}
