package allocator_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/dray-dev/dray/allocator"
	"github.com/dray-dev/dray/allocator/allocatortest"
)

// looked is a context that ends when it has been looked at some times: so a
// search is interrupted at an exact place, without a clock. It is for one
// goroutine.
type looked struct {
	context.Context
	left int
	end  func(context.Context) (context.Context, context.CancelFunc)
}

func (c *looked) Err() error {
	if c.left--; c.left == 0 {
		ended, release := c.end(c.Context)
		defer release()
		c.Context = ended
	}
	return c.Context.Err()
}

// endsAtLook returns a context that is canceled, with a cause, at its nth look.
func endsAtLook(n int, cause error) context.Context {
	return &looked{context.Background(), n, func(ctx context.Context) (context.Context, context.CancelFunc) {
		ctx, cancel := context.WithCancelCause(ctx)
		cancel(cause)
		return ctx, func() {}
	}}
}

// expiresAtLook returns a context whose deadline has passed at its nth look.
func expiresAtLook(n int, cause error) context.Context {
	return &looked{context.Background(), n, func(ctx context.Context) (context.Context, context.CancelFunc) {
		return context.WithDeadlineCause(ctx, time.Unix(0, 0), cause)
	}}
}

// packing asks for 16 devices that use up 48 counters, each device three of
// them: exact cover, for which no quick answer is known. There is none here,
// and to find that out takes longer than any test.
func packing() *allocatortest.Scenario {
	const counters, devices = 48, 96
	rng := rand.New(rand.NewPCG(1, 2))
	sets := []resourceapi.CounterSet{{Name: "left"}, {Name: "right"}}
	for i := range sets {
		sets[i].Counters = make(map[string]resourceapi.Counter)
	}
	set := func(counter int) int { return counter / (counters / 2) }
	for i := range counters {
		sets[set(i)].Counters[fmt.Sprintf("c%d", i)] = resourceapi.Counter{Value: resource.MustParse("1")}
	}
	list := newGPUs(devices)
	for i := range list {
		consumes := make(map[int]map[string]resourceapi.Counter)
		for _, counter := range rng.Perm(counters)[:3] {
			if consumes[set(counter)] == nil {
				consumes[set(counter)] = make(map[string]resourceapi.Counter)
			}
			consumes[set(counter)][fmt.Sprintf("c%d", counter)] = resourceapi.Counter{Value: resource.MustParse("1")}
		}
		for number := range sets {
			if consumes[number] != nil {
				list[i].ConsumesCounters = append(list[i].ConsumesCounters, resourceapi.DeviceCounterConsumption{CounterSet: sets[number].Name, Counters: consumes[number]})
			}
		}
	}
	s := newScenario(0, newClaim("c", wants("r", counters/3)))
	shared := newSlice("slice-counters", nodeName)
	shared.Spec.SharedCounters = sets
	s.Slices = []*resourceapi.ResourceSlice{shared, newSlice("slice-devices", nodeName, list...)}
	for _, slice := range s.Slices {
		slice.Spec.Pool.ResourceSliceCount = 2
	}
	return s
}

var errShutdown = errors.New("the scheduler shuts down")

func TestASearchIsGivenUpWithTheCauseOfItsContext(t *testing.T) {
	past, cancelPast := context.WithDeadline(context.Background(), time.Unix(0, 0))
	defer cancelPast()
	canceled, cancel := context.WithCancel(context.Background())
	cancel()
	ended, end := context.WithCancelCause(context.Background())
	end(errShutdown)

	const duringTheSearch = 3 // looks
	for name, test := range map[string]struct {
		ctx    context.Context
		cause  error
		before bool // The search has not begun.
	}{
		"deadline before the search": {past, context.DeadlineExceeded, true},
		"canceled before the search": {canceled, context.Canceled, true},
		"ended before the search":    {ended, errShutdown, true},
		"ended at the first look":    {endsAtLook(1, errShutdown), errShutdown, true},
		"deadline in the search":     {expiresAtLook(duringTheSearch, nil), context.DeadlineExceeded, false},
		"deadline with a cause":      {expiresAtLook(duringTheSearch, errShutdown), errShutdown, false},
		"canceled in the search":     {endsAtLook(duringTheSearch, nil), context.Canceled, false},
		"ended in the search":        {endsAtLook(duringTheSearch, errShutdown), errShutdown, false},
		"ended by another deadline":  {endsAtLook(duringTheSearch, context.DeadlineExceeded), context.DeadlineExceeded, false},
	} {
		t.Run(name, func(t *testing.T) {
			inventory := allocator.NewInventory()
			s := packing()
			a, err := newAllocator(inventory, s)
			if err != nil {
				t.Fatal(err)
			}
			results, err := a.Allocate(test.ctx, s.Nodes[0], s.Claims)
			if steps := a.Stats().Steps; (steps == 0) != test.before {
				t.Errorf("the search took %d steps", steps)
			}
			if err == nil {
				t.Fatalf("answered %v after %d steps: the instance is no longer hard, take a harder one", results, a.Stats().Steps)
			}
			if !errors.Is(err, allocator.ErrGaveUp) || !errors.Is(err, test.cause) || results != nil {
				t.Errorf("got %v, %v, want an error that matches ErrGaveUp and %q", results, err, test.cause)
			}
			if want := "filter operation aborted: " + test.cause.Error(); err.Error() != want {
				t.Errorf("the text is %q, want %q", err, want)
			}
			if kinds := kindsOf(err); len(kinds) != 1 {
				t.Errorf("the error is all of %v", kinds)
			}
			checkGood(t, inventory)
		})
	}
}

func TestAnInterruptedSearchCanBeRepeated(t *testing.T) {
	s := packing()
	s.Claims[0].Spec.Devices.Requests[0].Exactly.Count = 8
	a, err := newAllocator(allocator.NewInventory(), s)
	if err != nil {
		t.Fatal(err)
	}
	want, err := a.Allocate(context.Background(), s.Nodes[0], s.Claims)
	if err != nil || want == nil {
		t.Fatalf("got %v, %v, want devices", want, err)
	}
	if _, err := a.Allocate(endsAtLook(1, errShutdown), s.Nodes[0], s.Claims); !errors.Is(err, errShutdown) {
		t.Fatalf("got %v, want to be interrupted", err)
	}
	again, err := a.Allocate(context.Background(), s.Nodes[0], s.Claims)
	if err != nil {
		t.Fatal(err)
	}
	if diff := allocatortest.Diff(allocatortest.Outcome{Results: want}, allocatortest.Outcome{Results: again}); diff != "" {
		t.Error(diff)
	}
}

// lengthy is true, after so many iterations that the CEL runtime looks at the
// context.
const lengthy = `device.attributes["gpu.example.com"].all(k, [0, 1, 2, 3, 4, 5, 6, 7, 8, 9].all(a, ` +
	`[0, 1, 2, 3, 4, 5, 6, 7, 8, 9].all(b, [0, 1, 2, 3, 4, 5, 6, 7, 8, 9].all(c, a + b + c >= 0))))`

func TestAnInterruptedSelectorIsNoVerdict(t *testing.T) {
	canceled, cancel := context.WithCancelCause(context.Background())
	cancel(errShutdown)
	for name, change := range map[string]func(*allocatortest.Scenario){
		"selector": func(s *allocatortest.Scenario) { request(s).Selectors = celSelectors([]string{lengthy}) },
		"derived attribute": func(s *allocatortest.Scenario) {
			request(s).DerivedAttributes = derived(lengthy)
			s.Claims[0].Spec.Devices.Constraints = matching("example.com/derived")
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newScenario(2, newClaim("c", wants("r", 2)))
			change(s)
			a, err := newAllocator(allocator.NewInventory(), s)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := a.Allocate(canceled, s.Nodes[0], s.Claims); !errors.Is(err, allocator.ErrGaveUp) || !errors.Is(err, errShutdown) {
				t.Fatalf("got %v, want to be interrupted", err)
			}
			if steps := a.Stats().Steps; steps != 0 {
				t.Fatalf("the search took %d steps: the CEL runtime did not look at the context", steps)
			}
			results, err := a.Allocate(context.Background(), s.Nodes[0], s.Claims)
			if err != nil || results == nil {
				t.Errorf("got %v, %v, want devices: the interruption was taken for a verdict", results, err)
			}
		})
	}
}
