package inventory

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	corev1 "k8s.io/api/core/v1"
	draapi "k8s.io/dynamic-resource-allocation/api"
)

// poolKey identifies a pool: pool names are unique for each driver only.
type poolKey struct{ driver, pool string }

func (k poolKey) String() string { return k.driver + "/" + k.pool }

func comparePoolKeys(a, b poolKey) int {
	return cmp.Or(cmp.Compare(a.driver, b.driver), cmp.Compare(a.pool, b.pool))
}

// Variant is the part of the features that decides which slices count.
type Variant struct {
	// Partitionable: counters and per-device node selection are understood.
	Partitionable bool
	// CompatibilityGroups: compatibility groups are understood.
	CompatibilityGroups bool
}

const numVariants = 4

func (v Variant) number() int {
	n := 0
	if v.Partitionable {
		n |= 1
	}
	if v.CompatibilityGroups {
		n |= 2
	}
	return n
}

// group is the newest generation of one pool, cluster-wide. Older generations
// are dropped before a group is made: whatever a node can see of them is
// obsolete (ResourcePool.Generation in the API; docs/deviations.md 5).
//
// A group is immutable but for the caches in variants.
type group struct {
	key          poolKey
	driver, pool draapi.UniqueString
	// slices by name, the order in which their devices are tried.
	slices []*Slice
	// obsolete are the slices of older generations, by name. They count for
	// nothing; an explanation mentions them.
	obsolete []*Slice
	// disagreement says which slices contradict each other about the number of
	// slices; empty when they agree.
	disagreement string
	// count is the number of slices that each slice says the pool has.
	count int64
	// nodes are the nodes that some slice names, sorted.
	nodes []string
	// shared: some slice does not name one node.
	shared bool
	// variants are made when they are asked for.
	variants [numVariants]atomic.Pointer[groupVariant]
}

// newGroup takes all slices of one pool, of all generations.
func newGroup(key poolKey, all []*Slice) *group {
	g := &group{key: key, driver: draapi.MakeUniqueString(key.driver), pool: draapi.MakeUniqueString(key.pool)}
	newest := all[0].API.Spec.Pool.Generation
	for _, s := range all {
		newest = max(newest, s.API.Spec.Pool.Generation)
	}
	for _, s := range all {
		if s.API.Spec.Pool.Generation == newest {
			g.slices = append(g.slices, s)
		} else {
			g.obsolete = append(g.obsolete, s)
		}
	}
	slices.SortStableFunc(g.slices, compareSlices)
	slices.SortStableFunc(g.obsolete, compareSlices)
	first := g.slices[0].API
	g.count = first.Spec.Pool.ResourceSliceCount
	for _, s := range g.slices[1:] {
		if n := s.API.Spec.Pool.ResourceSliceCount; n != g.count {
			g.disagreement = fmt.Sprintf("slices disagree about resourceSliceCount: %s says %d, %s says %d", first.Name, g.count, s.API.Name, n)
			break
		}
	}
	for _, s := range g.slices {
		if s.target.kind == targetNodeName {
			g.nodes = append(g.nodes, s.target.nodeName)
		} else {
			g.shared = true
		}
	}
	slices.Sort(g.nodes)
	g.nodes = slices.Compact(g.nodes)
	return g
}

func compareSlices(a, b *Slice) int {
	return cmp.Or(cmp.Compare(a.API.Name, b.API.Name), cmp.Compare(a.API.UID, b.API.UID))
}

// groupVariant is a group under one setting of the features. A node's group has
// one slice and a scheduler one setting, so there are as many of these as nodes:
// lists that are equal are shared, and a map is made only where it is needed.
type groupVariant struct {
	// visible are the slices that the allocator understands.
	visible []*Slice
	// local are the indices in visible of the slices that name a node, by the
	// node's name and then in order; open are all others.
	local, open []int
	// all counts towards completeness: what is visible, and the slices with
	// counters even while those are not understood. As upstream has it,
	// slices with compatibility groups do not count while those are off.
	all     []*Slice
	members memberCache

	mu sync.Mutex
	// whole is the pool for nodes that reach every visible slice.
	whole *Pool
	// parts are the pools for nodes that reach some, keyed by the indices.
	parts map[string]*Pool
}

func (g *group) variant(v Variant) *groupVariant {
	known := &g.variants[v.number()]
	gv := known.Load()
	if gv == nil {
		gv = newVariant(g.slices, v)
		if !known.CompareAndSwap(nil, gv) {
			gv = known.Load() // Somebody was faster.
		}
	}
	return gv
}

func newVariant(all []*Slice, v Variant) *groupVariant {
	gv := &groupVariant{
		all: without(all, func(s *Slice) bool { return s.usesGroups && !v.CompatibilityGroups }),
	}
	gv.visible = without(gv.all, func(s *Slice) bool {
		return !v.Partitionable && (s.setsPerDeviceSelection || s.definesCounters)
	})
	for i, s := range gv.visible {
		if s.target.kind == targetNodeName {
			gv.local = append(gv.local, i)
		} else {
			gv.open = append(gv.open, i)
		}
	}
	slices.SortStableFunc(gv.local, func(a, b int) int {
		return strings.Compare(gv.visible[a].target.nodeName, gv.visible[b].target.nodeName)
	})
	return gv
}

// without returns the list itself if none is to be left out.
func without(list []*Slice, leftOut func(*Slice) bool) []*Slice {
	if !slices.ContainsFunc(list, leftOut) {
		return list
	}
	return slices.DeleteFunc(slices.Clone(list), leftOut)
}

// named returns the indices in visible of the slices that name a node. They are
// a part of local, without room to append.
func (gv *groupVariant) named(node string) []int {
	compare := func(i int, name string) int { return strings.Compare(gv.visible[i].target.nodeName, name) }
	first, _ := slices.BinarySearchFunc(gv.local, node, compare)
	end := first
	for end < len(gv.local) && compare(gv.local[end], node) == 0 {
		end++
	}
	return gv.local[first:end:end]
}

// poolFor returns the pool as the node sees it, nil where it reaches no slice.
func (g *group) poolFor(node *corev1.Node, v Variant) (*Pool, error) {
	gv := g.variant(v)
	reached := gv.named(node.Name)
	if len(gv.open) > 0 {
		reached = slices.Clone(reached)
		for _, i := range gv.open {
			reaches, err := gv.visible[i].reaches(node)
			if err != nil {
				return nil, err
			}
			if reaches {
				reached = append(reached, i)
			}
		}
		slices.Sort(reached)
	}
	if len(reached) == 0 {
		return nil, nil
	}

	gv.mu.Lock()
	defer gv.mu.Unlock()
	if len(reached) == len(gv.visible) {
		if gv.whole == nil {
			gv.whole = g.build(gv, gv.visible, v)
		}
		return gv.whole, nil
	}
	key := make([]byte, 0, len(reached)*2)
	for _, i := range reached {
		key = binary.AppendUvarint(key, uint64(i))
	}
	pool, ok := gv.parts[string(key)]
	if !ok {
		part := make([]*Slice, len(reached))
		for i, j := range reached {
			part[i] = gv.visible[j]
		}
		pool = g.build(gv, part, v)
		if gv.parts == nil {
			gv.parts = make(map[string]*Pool)
		}
		gv.parts[string(key)] = pool
	}
	return pool, nil
}
