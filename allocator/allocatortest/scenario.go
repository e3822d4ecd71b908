package allocatortest

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/dynamic-resource-allocation/cel"
	"k8s.io/dynamic-resource-allocation/structured/schedulerapi"
	"k8s.io/utils/ptr"

	"github.com/dray-dev/dray/allocator"
)

// Scenario is everything that an allocator is asked about at once: a cluster
// and the claims to allocate together on one of its nodes.
//
// A scenario owns its objects. Code under test must not modify them; code that
// wants a variation works on a [Scenario.Clone] and calls [Scenario.Stamp].
type Scenario struct {
	Features  allocator.Features
	Nodes     []*corev1.Node
	Slices    []*resourceapi.ResourceSlice
	Classes   []*resourceapi.DeviceClass
	Allocated []*resourceapi.ResourceClaim // hold devices: status.allocation is set
	Claims    []*resourceapi.ResourceClaim // to be allocated together, in this order
}

// Clone returns a deep copy.
func (s *Scenario) Clone() *Scenario {
	return &Scenario{
		Features:  s.Features,
		Nodes:     cloneAll(s.Nodes),
		Slices:    cloneAll(s.Slices),
		Classes:   cloneAll(s.Classes),
		Allocated: cloneAll(s.Allocated),
		Claims:    cloneAll(s.Claims),
	}
}

func cloneAll[T interface{ DeepCopy() T }](objects []T) []T {
	if objects == nil {
		return nil
	}
	clones := make([]T, len(objects))
	for i, object := range objects {
		clones[i] = object.DeepCopy()
	}
	return clones
}

// GoString keeps rapid's log of a failing draw to one line; a case folder has
// the details.
func (s *Scenario) GoString() string {
	return fmt.Sprintf("scenario with %d nodes, %d slices, %d classes, %d allocated claims, %d claims",
		len(s.Nodes), len(s.Slices), len(s.Classes), len(s.Allocated), len(s.Claims))
}

// Node returns the node of that name, or nil.
func (s *Scenario) Node(name string) *corev1.Node {
	for _, node := range s.Nodes {
		if node.Name == name {
			return node
		}
	}
	return nil
}

// AllocatedState derives what is in use from the allocated claims by the rules
// of the scheduler: results with admin access count for nothing, a result with
// a share ID is a share, and every other one takes the whole device.
func (s *Scenario) AllocatedState() schedulerapi.AllocatedState {
	state := schedulerapi.AllocatedState{
		AllocatedDevices:         sets.New[schedulerapi.DeviceID](),
		AllocatedSharedDeviceIDs: sets.New[schedulerapi.SharedDeviceID](),
		AggregatedCapacity:       schedulerapi.NewConsumedCapacityCollection(),
	}
	for _, claim := range s.Allocated {
		if claim.Status.Allocation == nil {
			continue
		}
		for _, result := range claim.Status.Allocation.Devices.Results {
			if ptr.Deref(result.AdminAccess, false) {
				continue
			}
			id := schedulerapi.MakeDeviceID(result.Driver, result.Pool, result.Device)
			if result.ShareID == nil {
				state.AllocatedDevices.Insert(id)
				continue
			}
			state.AllocatedSharedDeviceIDs.Insert(schedulerapi.MakeSharedDeviceID(id, result.ShareID))
			if result.ConsumedCapacity != nil {
				state.AggregatedCapacity.Insert(schedulerapi.NewDeviceConsumedCapacity(id, result.ConsumedCapacity))
			}
		}
	}
	return state
}

// ClassLister serves the scenario's classes. It is safe for concurrent use.
func (s *Scenario) ClassLister() allocator.DeviceClassLister {
	byName := make(map[string]*resourceapi.DeviceClass, len(s.Classes))
	for _, class := range s.Classes {
		byName[class.Name] = class
	}
	return classLister{classes: s.Classes, byName: byName}
}

type classLister struct {
	classes []*resourceapi.DeviceClass
	byName  map[string]*resourceapi.DeviceClass
}

func (l classLister) List() ([]*resourceapi.DeviceClass, error) { return l.classes, nil }

func (l classLister) Get(name string) (*resourceapi.DeviceClass, error) {
	if class, found := l.byName[name]; found {
		return class, nil
	}
	return nil, apierrors.NewNotFound(schema.GroupResource{Group: resourceapi.GroupName, Resource: "deviceclasses"}, name)
}

// CELCaches holds one large cache for each combination of features that CEL
// knows, so that the few expressions in use are compiled once per run.
type CELCaches struct {
	caches map[cel.Features]*cel.Cache
}

// NewCELCaches compiles nothing yet. The caches are safe for concurrent use.
func NewCELCaches() *CELCaches {
	c := &CELCaches{caches: make(map[cel.Features]*cel.Cache)}
	for _, consumable := range []bool{false, true} {
		for _, lists := range []bool{false, true} {
			f := cel.Features{EnableConsumableCapacity: consumable, EnableListTypeAttributes: lists}
			c.caches[f] = cel.NewCache(10000, f)
		}
	}
	return c
}

// For returns the cache for the scenario's features.
func (c *CELCaches) For(s *Scenario) *cel.Cache {
	return c.caches[cel.Features{
		EnableConsumableCapacity: s.Features.ConsumableCapacity,
		EnableListTypeAttributes: s.Features.ListTypeAttributes,
	}]
}
