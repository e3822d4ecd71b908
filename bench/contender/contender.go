package contender

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/dynamic-resource-allocation/cel"
	"k8s.io/dynamic-resource-allocation/structured/schedulerapi"

	"github.com/dray-dev/dray/allocator"
	"github.com/dray-dev/dray/allocator/allocatortest"
	"github.com/dray-dev/dray/bench/family"
)

// Contender is an implementation of the allocator.
type Contender interface {
	// Name as it stands in results: impl=dray.
	Name() string
	// Supports says whether the implementation knows all of the features.
	Supports(allocator.Features) bool
	// failedOnNode marks its errors that concern one node only.
	failedOnNode() error
	// start returns the state of one process.
	start() process
}

// process makes allocators.
type process interface {
	newAllocator(ctx context.Context, s *state, slices []*resourceapi.ResourceSlice) (allocating, error)
}

// allocating is an allocator of any implementation.
type allocating interface {
	Allocate(ctx context.Context, node *corev1.Node, claims []*resourceapi.ResourceClaim) ([]resourceapi.AllocationResult, error)
	work() Work
}

// state is what allocators are made of besides slices, derived once.
type state struct {
	features  allocator.Features
	allocated schedulerapi.AllocatedState
	classes   allocator.DeviceClassLister
	celCache  *cel.Cache
}

// Work is counted exactly.
type Work struct {
	Steps       int64 // nodes of search trees that were entered
	Evaluations int64 // of a CEL expression on a device; -1 if not counted
}

func (w Work) minus(other Work) Work {
	if w.Evaluations < 0 || other.Evaluations < 0 {
		return Work{Steps: w.Steps - other.Steps, Evaluations: -1}
	}
	return Work{Steps: w.Steps - other.Steps, Evaluations: w.Evaluations - other.Evaluations}
}

// All returns the contenders in the order of reports: ours, then upstream's.
func All() []Contender {
	return []Contender{Dray(), Incubating(), Experimental()}
}

// Session answers one case again and again. It is not safe for concurrent use.
type Session struct {
	contender Contender
	c         *family.Case
	process   process
	state     *state
	ready     []allocating // with Op Allocate: not asked yet
	asked     allocating   // with Op Repeat
	changed   bool
	last      Work
}

// Start prepares for a case.
func Start(with Contender, c *family.Case) *Session {
	features := c.Scenario.Features
	return &Session{
		contender: with,
		c:         c,
		process:   with.start(),
		state: &state{
			features:  features,
			allocated: c.Scenario.AllocatedState(),
			classes:   c.Scenario.ClassLister(),
			celCache: cel.NewCache(c.CELCacheSize, cel.Features{
				EnableConsumableCapacity: features.ConsumableCapacity,
				EnableListTypeAttributes: features.ListTypeAttributes,
			}),
		},
	}
}

// Prepare does what n operations need and is not part of them. Do prepares for
// itself where nothing is prepared.
func (s *Session) Prepare(ctx context.Context, n int) error {
	switch s.c.Family.Op {
	case family.Allocate:
		clear(s.ready)
		s.ready = s.ready[:0]
		for range n {
			a, err := s.process.newAllocator(ctx, s.state, s.c.Scenario.Slices)
			if err != nil {
				return err
			}
			s.ready = append(s.ready, a)
		}
	case family.Repeat:
		if s.asked == nil {
			var err error
			s.asked, err = s.process.newAllocator(ctx, s.state, s.c.Scenario.Slices)
			return err
		}
	}
	return nil
}

// Do runs the case's operation once and returns the answer for the last node
// that was asked.
func (s *Session) Do(ctx context.Context) ([]resourceapi.AllocationResult, error) {
	switch s.c.Family.Op {
	case family.Pod:
		return s.pod(ctx)
	case family.Change:
		return s.change(ctx)
	}
	a, err := s.next(ctx)
	if err != nil {
		return nil, err
	}
	before := a.work()
	results, err := a.Allocate(ctx, s.c.Node, s.c.Scenario.Claims)
	s.last = a.work().minus(before)
	return results, err
}

// next returns the allocator to ask.
func (s *Session) next(ctx context.Context) (allocating, error) {
	if s.c.Family.Op == family.Repeat {
		err := s.Prepare(ctx, 1)
		return s.asked, err
	}
	if len(s.ready) == 0 {
		if err := s.Prepare(ctx, 1); err != nil {
			return nil, err
		}
	}
	a := s.ready[len(s.ready)-1]
	s.ready = s.ready[:len(s.ready)-1]
	return a, nil
}

func (s *Session) pod(ctx context.Context) (results []resourceapi.AllocationResult, err error) {
	a, err := s.process.newAllocator(ctx, s.state, s.c.Scenario.Slices)
	if err != nil {
		return nil, err
	}
	for _, node := range s.c.Scenario.Nodes {
		if results, err = a.Allocate(ctx, node, s.c.Scenario.Claims); err != nil {
			break
		}
	}
	s.last = a.work()
	return results, err
}

func (s *Session) change(ctx context.Context) ([]resourceapi.AllocationResult, error) {
	slices := s.c.Scenario.Slices
	if s.changed = !s.changed; s.changed {
		slices = s.c.Changed
	}
	a, err := s.process.newAllocator(ctx, s.state, slices)
	if err != nil {
		return nil, err
	}
	results, err := a.Allocate(ctx, s.c.Node, s.c.Scenario.Claims)
	s.last = a.work()
	return results, err
}

// Work returns what the latest operation took.
func (s *Session) Work() Work { return s.last }

// Answer runs the case's operation once and classifies what it returns, with
// upstream's error made ours where the case says that it concerns one node.
func (s *Session) Answer(ctx context.Context) allocatortest.Outcome {
	outcome := allocatortest.Observe(s.contender.failedOnNode(), func() ([]resourceapi.AllocationResult, error) { return s.Do(ctx) })
	if s.c.FailsOnlyHere && outcome.Class == allocatortest.Failed {
		outcome.Class = allocatortest.FailedOnNode
	}
	return outcome
}
