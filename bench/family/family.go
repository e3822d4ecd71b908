package family

import (
	corev1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"

	"github.com/dray-dev/dray/allocator"
	"github.com/dray-dev/dray/allocator/allocatortest"
)

// Op is what is repeated when a case is measured.
type Op string

const (
	// Allocate asks an allocator about one node, the first one that it is asked
	// about. Making the allocator is not part of it, and what a process keeps
	// between pods is warm.
	Allocate Op = "Allocate"
	// Repeat asks the same allocator about the same node again: what a further
	// node costs for one pod, if it is like one before.
	Repeat Op = "Repeat"
	// Pod makes an allocator and asks it about every node: what a scheduler
	// does for one pod.
	Pod Op = "Pod"
	// Change replaces one slice by a changed one, makes an allocator and asks
	// it about the node of that slice.
	Change Op = "Change"
)

// Family is one way in which allocating gets expensive.
type Family struct {
	Name  string // short, unique: F1
	Title string // what the case is, in a few words
	Op    Op
	// Test sizes take every implementation milliseconds, Gate is the size that
	// work is counted on, Bench sizes are timed.
	Test  []Size
	Gate  Size
	Bench []Size
	// Build makes the case of one size.
	Build func(Size) *Case
}

// Case is one instance of a family. It is not modified after it is built.
type Case struct {
	Family   *Family
	Size     Size
	Scenario *allocatortest.Scenario
	// Node is the one that is asked about, unless Op is Pod.
	Node *corev1.Node
	// Changed is what the scenario's slices turn into and back with Op Change,
	// otherwise nil.
	Changed []*resourceapi.ResourceSlice
	// Steps is the number of steps of a search that only backtracks, by the
	// family's formula; -1 where there is none.
	Steps int64
	// CELCacheSize is how many compiled expressions are kept: as many as the
	// scheduler keeps, or enough.
	CELCacheSize int
	// FailsOnlyHere says that upstream ends the pod with an error where it
	// should only refuse the node (deviation 1 of docs/deviations.md).
	FailsOnlyHere bool
}

// Name is the name of the case in results: F3/n=16/c=4.
func (c *Case) Name() string { return c.Family.Name + "/" + c.Size.String() }

// Case builds the case of one size.
func (f *Family) Case(s Size) *Case {
	c := f.Build(s)
	c.Family, c.Size = f, s
	c.Scenario.Stamp()
	return c
}

// Nodes are those that one operation asks about.
func (c *Case) Nodes() []*corev1.Node {
	if c.Family.Op == Pod {
		return c.Scenario.Nodes
	}
	return []*corev1.Node{c.Node}
}

// stock are the features that are on in Kubernetes 1.37 unless somebody
// switches them off. Both of upstream's allocators that are compared know them.
func stock() allocator.Features {
	return allocator.Features{
		AdminAccess:             true,
		ConsumableCapacity:      true,
		DeviceBindingAndStatus:  true,
		DeviceTaints:            true,
		FractionalCapacityRange: true,
		PartitionableDevices:    true,
		PrioritizedList:         true,
	}
}

// kept is the number of compiled expressions that are enough for every case.
const kept = 1000

// newCase returns a case of one node that asks about it. The caller adds slices
// and requests.
func newCase() *Case {
	node := newNode(nodeName(0))
	return &Case{
		Scenario:     &allocatortest.Scenario{Features: stock(), Nodes: []*corev1.Node{node}},
		Node:         node,
		Steps:        -1,
		CELCacheSize: kept,
	}
}
