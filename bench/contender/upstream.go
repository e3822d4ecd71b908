package contender

import (
	"context"
	"fmt"
	"reflect"
	"sync"
	"sync/atomic"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/dynamic-resource-allocation/structured"
	"k8s.io/klog/v2"

	"github.com/dray-dev/dray/allocator"
)

// Incubating is what Kubernetes 1.37 runs with its default features.
func Incubating() Contender { return upstream{variant: "incubating"} }

// Experimental knows all features, and is what ours is held to.
func Experimental() Contender { return upstream{variant: "experimental"} }

type upstream struct{ variant string }

func (u upstream) Name() string { return u.variant }

func (u upstream) Supports(f allocator.Features) bool {
	return u.variant == "experimental" ||
		!f.CompatibilityGroups && !f.DerivedAttributes && !f.ListTypeAttributes && !f.OptionalNodeOperations
}

func (upstream) failedOnNode() error { return structured.ErrFailedAllocationOnNode }
func (u upstream) start() process    { return u }

// choosing serialises the choice of an implementation, which upstream keeps in
// a variable of the process.
var choosing sync.Mutex

func (u upstream) newAllocator(ctx context.Context, s *state, slices []*resourceapi.ResourceSlice) (allocating, error) {
	choosing.Lock()
	defer choosing.Unlock()
	structured.EnableAllocators(u.variant)
	a, err := structured.NewAllocator(ctx, structured.Features(s.features), s.allocated, s.classes, slices, s.celCache)
	if err != nil {
		return nil, fmt.Errorf("create upstream's %s allocator: %w", u.variant, err)
	}
	return &upstreamAllocator{Allocator: a, statistics: reflect.ValueOf(a).MethodByName("GetStats"), evaluations: evaluationsIn(ctx)}, nil
}

type upstreamAllocator struct {
	structured.Allocator
	statistics  reflect.Value // a method of a type that cannot be named here
	evaluations *atomic.Int64 // nil if nobody counts
}

func (a *upstreamAllocator) Allocate(ctx context.Context, node *corev1.Node, claims []*resourceapi.ResourceClaim) ([]resourceapi.AllocationResult, error) {
	return a.Allocator.Allocate(ctx, node, claims)
}

func (a *upstreamAllocator) work() Work {
	w := Work{Steps: a.statistics.Call(nil)[0].FieldByName("NumAllocateOneInvocations").Int(), Evaluations: -1}
	if a.evaluations != nil {
		w.Evaluations = a.evaluations.Load()
	}
	return w
}

// Counting returns a context in which upstream's evaluations of CEL expressions
// are counted. Upstream has no counter, but logs each one in detail; so it is
// slow then, and must not be timed.
func Counting(ctx context.Context) context.Context {
	return klog.NewContext(ctx, logr.New(&evaluationCounter{count: new(atomic.Int64)}))
}

func evaluationsIn(ctx context.Context) *atomic.Int64 {
	if counter, ok := klog.FromContext(ctx).GetSink().(*evaluationCounter); ok {
		return counter.count
	}
	return nil
}

// evaluationCounter is a sink of logs that counts one message.
type evaluationCounter struct{ count *atomic.Int64 }

// evaluated is what upstream says about each evaluation, at detailLevel.
const (
	evaluated   = "CEL result"
	detailLevel = 7
)

func (*evaluationCounter) Init(logr.RuntimeInfo)  {}
func (*evaluationCounter) Enabled(level int) bool { return level <= detailLevel }

func (c *evaluationCounter) Info(_ int, message string, _ ...any) {
	if message == evaluated {
		c.count.Add(1)
	}
}

func (*evaluationCounter) Error(error, string, ...any)      {}
func (c *evaluationCounter) WithValues(...any) logr.LogSink { return c }
func (c *evaluationCounter) WithName(string) logr.LogSink   { return c }
