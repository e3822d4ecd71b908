package inventory

import (
	"encoding/binary"
	"hash/maphash"
	"maps"
	"slices"
	"sync"
	"sync/atomic"

	corev1 "k8s.io/api/core/v1"
)

// Snapshot is the cluster's devices at one moment. It never changes; any number
// of goroutines may use it.
type Snapshot struct {
	// local has, for each node that some slice names, the pools of those slices.
	local localNodes
	// shared are the pools with a slice that does not name one node.
	shared *sharedPools

	// remnants are found when they are first asked for.
	findRemnants sync.Once
	remnants     Remnants
}

// sharedPools is replaced as a whole when one of its groups changes: its
// address tells whether a Node is still current.
type sharedPools struct {
	groups []*group
	// others are the nodes that no slice names.
	mu     sync.Mutex
	others map[string]*nodeViews
	// interned are the views of nodes that reach the same pools, by the pools.
	interned map[string]*Node
}

// nodeViews are the views of one node, one for each setting of the features.
type nodeViews struct {
	// groups are the pools of slices that name the node, by pool key.
	groups []*group
	views  [numVariants]atomic.Pointer[Node]
}

// maxOthers bounds how many nodes without slices are remembered: autoscalers
// ask about nodes with ever new names.
const maxOthers = 1 << 16

// Node returns what a node reaches. The error is a *SelectionError.
func (s *Snapshot) Node(node *corev1.Node, v Variant) (*Node, error) {
	views := s.local.get(node.Name)
	if views == nil {
		views = s.shared.other(node.Name)
	}
	view := &views.views[v.number()]
	if n := view.Load(); n != nil && n.current(node, s.shared) {
		return n, nil
	}
	n, err := newNode(node, mergeGroups(views.groups, s.shared.groups), s.shared, v)
	if err != nil {
		return nil, err
	}
	s.shared.intern(n)
	view.Store(n)
	return n, nil
}

// intern lets nodes that reach the same pools share what is said about those.
// Where a device names its nodes itself, the view is the node's own.
func (p *sharedPools) intern(n *Node) {
	if len(p.groups) == 0 || slices.ContainsFunc(n.Reach, func(r Reach) bool { return r.Matches != nil }) {
		return
	}
	key := make([]byte, 0, 4*len(n.Pools))
	for _, pool := range n.Pools {
		key = binary.AppendUvarint(key, pool.serial)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if same, found := p.interned[string(key)]; found {
		n.Domain, n.Pools, n.Reach = same.Domain, same.Pools, same.Reach
		return
	}
	if p.interned == nil || len(p.interned) >= maxOthers {
		p.interned = make(map[string]*Node)
	}
	p.interned[string(key)] = n
}

func (p *sharedPools) other(name string) *nodeViews {
	p.mu.Lock()
	defer p.mu.Unlock()
	views, ok := p.others[name]
	if !ok {
		if p.others == nil || len(p.others) >= maxOthers {
			p.others = make(map[string]*nodeViews)
		}
		views = &nodeViews{}
		p.others[name] = views
	}
	return views
}

// mergeGroups joins two lists ordered by key; a pool can be in both.
func mergeGroups(a, b []*group) []*group {
	if len(b) == 0 {
		return a
	}
	merged := make([]*group, 0, len(a)+len(b))
	merged = append(append(merged, a...), b...)
	slices.SortFunc(merged, compareGroups)
	return slices.Compact(merged)
}

// localNodes is a map from node name to views of which a changed copy is cheap:
// only the parts that hold changed entries are copied.
type localNodes [numParts]map[string]*nodeViews

const numParts = 256

var partSeed = maphash.MakeSeed()

func part(name string) int { return int(maphash.String(partSeed, name) % numParts) }

func (l *localNodes) get(name string) *nodeViews { return l[part(name)][name] }

// with returns the snapshot after some groups were replaced. It shares with s
// all nodes that do not reach any of them.
func (s *Snapshot) with(replaced []replacement) *Snapshot {
	next := &Snapshot{local: s.local, shared: s.shared}
	fresh := make(map[string]*nodeViews)
	shared, sharedChanged := s.shared.groups, false
	for _, r := range replaced {
		if r.before != nil {
			for _, name := range r.before.nodes {
				views := next.freshViews(fresh, name)
				views.groups = slices.DeleteFunc(views.groups, func(g *group) bool { return g == r.before })
			}
		}
		if r.after != nil {
			for _, name := range r.after.nodes {
				views := next.freshViews(fresh, name)
				views.groups = append(views.groups, r.after)
			}
		}
		if r.before != nil && r.before.shared || r.after != nil && r.after.shared {
			shared, sharedChanged = r.replaceIn(slices.Clone(shared)), true
		}
	}
	if sharedChanged {
		slices.SortFunc(shared, compareGroups)
		next.shared = &sharedPools{groups: shared}
	}
	next.local.replace(fresh)
	return next
}

// replaceIn swaps the group in a list that the caller owns.
func (r replacement) replaceIn(list []*group) []*group {
	list = slices.DeleteFunc(list, func(g *group) bool { return g == r.before })
	if r.after != nil && r.after.shared {
		list = append(list, r.after)
	}
	return list
}

// freshViews returns the views that replace a node's present ones, with the
// groups that it has so far.
func (s *Snapshot) freshViews(fresh map[string]*nodeViews, name string) *nodeViews {
	views := fresh[name]
	if views == nil {
		views = &nodeViews{}
		if present := s.local.get(name); present != nil {
			views.groups = slices.Clone(present.groups)
		}
		fresh[name] = views
	}
	return views
}

// replace puts the fresh views in place. Parts of the map are copied before
// they change: older snapshots go on using them.
func (l *localNodes) replace(fresh map[string]*nodeViews) {
	var copied [numParts]bool
	for name, views := range fresh {
		i := part(name)
		if !copied[i] {
			copied[i] = true
			l[i] = maps.Clone(l[i])
			if l[i] == nil {
				l[i] = make(map[string]*nodeViews)
			}
		}
		if len(views.groups) == 0 {
			delete(l[i], name)
			continue
		}
		slices.SortFunc(views.groups, compareGroups)
		l[i][name] = views
	}
}

func compareGroups(a, b *group) int { return comparePoolKeys(a.key, b.key) }
