package explain_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/dray-dev/dray/allocator"
	"github.com/dray-dev/dray/allocator/allocatortest"
	"github.com/dray-dev/dray/allocator/internal/explain"
)

var (
	seeds = flag.Int("seeds", 600, "number of random scenarios for each test of explanations")
	seed  = flag.Uint64("seed", 0, "the first seed")
)

var celCaches = allocatortest.NewCELCaches()

// eachScenario runs a test on random scenarios; a failure names the seed.
func eachScenario(t *testing.T, test func(t *testing.T, s *allocatortest.Scenario)) {
	for i := range uint64(*seeds) {
		s := allocatortest.FromSeed(*seed + i)
		ok := t.Run(fmt.Sprintf("seed=%d", *seed+i), func(t *testing.T) { test(t, s) })
		if !ok {
			t.Fatalf("again with -seed %d -seeds 1", *seed+i)
		}
	}
}

func newAllocator(t *testing.T, s *allocatortest.Scenario) *allocator.Allocator {
	t.Helper()
	inventory := allocator.NewInventory(allocator.WithExplanationSteps(20_000))
	a, err := inventory.NewAllocator(context.Background(), s.Features, s.AllocatedState(), s.ClassLister(), s.Slices, celCaches.For(s))
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func explainOn(t *testing.T, a *allocator.Allocator, s *allocatortest.Scenario, node *corev1.Node) *allocator.Explanation {
	t.Helper()
	e, err := a.Explain(context.Background(), node, s.Claims)
	if err != nil {
		t.Fatalf("explain: %v", err)
	}
	return e
}

func TestExplanationsAgreeWithAllocate(t *testing.T) {
	eachScenario(t, func(t *testing.T, s *allocatortest.Scenario) {
		a := newAllocator(t, s)
		for _, node := range s.Nodes {
			e := explainOn(t, a, s, node)
			if !e.Fits && e.First.Binding.Cause == explain.Undecided {
				continue
			}
			ctx, cancel := context.WithTimeout(context.Background(), time.Second)
			results, err := a.Allocate(ctx, node, s.Claims)
			ended := ctx.Err() != nil
			cancel()
			if ended {
				continue
			}
			text := ""
			if err != nil {
				text = err.Error()
			}
			if fits := results != nil; e.Fits != fits || e.Error != text {
				t.Errorf("node %s: explained fits=%v error=%q, allocated fits=%v error=%q", node.Name, e.Fits, e.Error, fits, text)
			}
		}
	})
}

func TestExplanationsAreWellFormed(t *testing.T) {
	eachScenario(t, func(t *testing.T, s *allocatortest.Scenario) {
		before, inUse := s.Clone(), s.AllocatedState()
		a, again := newAllocator(t, s), newAllocator(t, s)
		for _, node := range s.Nodes {
			e := explainOn(t, a, s, node)
			checkForm(t, e)
			text := encode(t, e)
			if diff := cmp.Diff(text, encode(t, explainOn(t, again, s, node))); diff != "" {
				t.Errorf("node %s: another explanation differs\n%s", node.Name, diff)
			}
			for _, claim := range s.Allocated {
				if strings.Contains(text, claim.Name) {
					t.Errorf("node %s: claim %s is none of those that were asked about\n%s", node.Name, claim.Name, text)
				}
			}
			if strings.Contains(e.Reason(), node.Name) || strings.Contains(e.Reason(), "example.com/"+node.Name) {
				t.Errorf("the reason names a node: %s", e.Reason())
			}
		}
		if diff := cmp.Diff(before, s); diff != "" {
			t.Errorf("the scenario was modified\n%s", diff)
		}
		if diff := cmp.Diff(inUse, s.AllocatedState()); diff != "" {
			t.Errorf("the allocated state was modified\n%s", diff)
		}
	})
}

// checkForm checks what holds for every explanation by itself.
func checkForm(t *testing.T, e *allocator.Explanation) {
	t.Helper()
	if e.Fits != (e.First == nil) || e.Fits != (e.Reason() == "") || e.Fits && e.Error != "" {
		t.Errorf("fits=%v, first=%v, reason %q, error %q", e.Fits, e.First, e.Reason(), e.Error)
	}
	for _, claim := range e.Claims {
		for _, request := range claim.Requests {
			met := false
			for _, f := range request.Alternatives {
				checkFunnel(t, f)
				if f.Binding != nil && f.Binding.Pool != nil && !slices.Contains(e.Pools, *f.Binding.Pool) {
					t.Errorf("request %s: pool %v is none of %v", f.Name, *f.Binding.Pool, e.Pools)
				}
				met = met || f.Binding == nil
			}
			if e.Fits && !met {
				t.Errorf("the claims fit, and request %s cannot be met", request.Request)
			}
		}
	}
	for i, line := range strings.Split(e.Text(), "\n") {
		if len(line) > 100 && len(strings.Fields(line)) > 1 && len(strings.Fields(line)[1]) < 60 {
			t.Errorf("line %d has %d columns: %s", i+1, len(line), line)
		}
	}
}

func checkFunnel(t *testing.T, f allocator.Funnel) {
	t.Helper()
	for i, stage := range f.Stages {
		if i > 0 && stage.Left+stage.Faults > f.Stages[i-1].Left {
			t.Errorf("request %s: %d devices before stage %s, %d and %d faults after", f.Name, f.Stages[i-1].Left, stage.Stage, stage.Left, stage.Faults)
		}
	}
	if f.Binding == nil || f.Binding.Stage == "" {
		return
	}
	for _, stage := range f.Stages {
		short := stage.Left < max(f.Wanted, 1)
		if stage.Stage == f.Binding.Stage {
			if !short {
				t.Errorf("request %s wants %d, and %d after stage %s bind", f.Name, f.Wanted, stage.Left, stage.Stage)
			}
			return
		}
		if short && !f.All {
			t.Errorf("request %s is short at stage %s already, not %s", f.Name, stage.Stage, f.Binding.Stage)
		}
	}
}

// encode also checks that the value survives JSON.
func encode(t *testing.T, e *allocator.Explanation) string {
	t.Helper()
	text, err := json.MarshalIndent(e, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.DisallowUnknownFields()
	var back allocator.Explanation
	if err := decoder.Decode(&back); err != nil {
		t.Fatal(err)
	}
	if again, _ := json.MarshalIndent(&back, "", " "); !bytes.Equal(text, again) {
		t.Errorf("the explanation does not survive JSON:\n%s\n%s", text, again)
	}
	return string(text)
}

// TestOneDeviceAloneIsDecidedByTheFunnel compares the stages with the search: a
// request for one device, alone, fits if and only if a device is left.
func TestOneDeviceAloneIsDecidedByTheFunnel(t *testing.T) {
	compared := 0
	eachScenario(t, func(t *testing.T, s *allocatortest.Scenario) {
		for _, claim := range s.Claims {
			for i := range claim.Spec.Devices.Requests {
				alone := aloneWith(s, claim, i)
				if alone == nil {
					continue
				}
				a := newAllocator(t, alone)
				for _, node := range alone.Nodes {
					e := explainOn(t, a, alone, node)
					if e.Error != "" {
						continue
					}
					compared++
					if f := e.Claims[0].Requests[0].Alternatives[0]; e.Fits != (f.Binding == nil) {
						t.Errorf("node %s: the search and the funnel disagree:\n%s", node.Name, e.Text())
					}
				}
			}
		}
	})
	t.Logf("%d requests compared", compared)
}

// aloneWith returns the scenario with one of its requests, for one device; nil
// for a request of another kind.
func aloneWith(s *allocatortest.Scenario, claim *resourceapi.ResourceClaim, request int) *allocatortest.Scenario {
	exactly := claim.Spec.Devices.Requests[request].Exactly
	if exactly == nil || exactly.AllocationMode != resourceapi.DeviceAllocationModeExactCount {
		return nil
	}
	alone := *s
	only := claim.DeepCopy()
	only.Spec.Devices.Requests = only.Spec.Devices.Requests[request : request+1]
	only.Spec.Devices.Requests[0].Exactly.Count = 1
	alone.Claims = []*resourceapi.ResourceClaim{only}
	return &alone
}

// TestExplanationsAreBounded gives a search that would take very long a small
// budget.
func TestExplanationsAreBounded(t *testing.T) {
	s := allocatortest.FromSeed(1)
	all := true
	slice := &resourceapi.ResourceSlice{ObjectMeta: metav1.ObjectMeta{Name: "slice"}}
	slice.Spec = resourceapi.ResourceSliceSpec{Driver: "gpu.example.com", AllNodes: &all,
		Pool: resourceapi.ResourcePool{Name: "pool", Generation: 1, ResourceSliceCount: 1}}
	class := &resourceapi.DeviceClass{ObjectMeta: metav1.ObjectMeta{Name: "any"}}
	claim := &resourceapi.ResourceClaim{ObjectMeta: metav1.ObjectMeta{Name: "claim", Namespace: "default"}}
	for i := range 26 {
		slice.Spec.Devices = append(slice.Spec.Devices, resourceapi.Device{Name: fmt.Sprintf("device-%d", i)})
	}
	for i, count := range []int64{14, 13} {
		// The last device is in error, so that the search must not prune and walks on to it.
		claim.Spec.Devices.Requests = append(claim.Spec.Devices.Requests, resourceapi.DeviceRequest{Name: fmt.Sprintf("r%d", i),
			Exactly: &resourceapi.ExactDeviceRequest{DeviceClassName: "any", Count: count, AllocationMode: resourceapi.DeviceAllocationModeExactCount}})
	}
	claim.Spec.Devices.Requests[1].Exactly.Selectors = []resourceapi.DeviceSelector{{CEL: &resourceapi.CELDeviceSelector{
		Expression: `!device.allowMultipleAllocations || device.attributes["gpu.example.com"].missing`}}}
	shared := true
	slice.Spec.Devices = append(slice.Spec.Devices, resourceapi.Device{Name: "shared", AllowMultipleAllocations: &shared})
	s = &allocatortest.Scenario{Nodes: s.Nodes[:1], Classes: []*resourceapi.DeviceClass{class}, Slices: []*resourceapi.ResourceSlice{slice},
		Claims: []*resourceapi.ResourceClaim{claim}, Features: allocator.Features{ConsumableCapacity: true}}
	for _, steps := range []int64{-1, 0, 1, 5, 10} {
		inventory := allocator.NewInventory(allocator.WithExplanationSteps(steps))
		a, err := inventory.NewAllocator(context.Background(), s.Features, s.AllocatedState(), s.ClassLister(), s.Slices, celCaches.For(s))
		if err != nil {
			t.Fatal(err)
		}
		e := explainOn(t, a, s, s.Nodes[0])
		if e.Fits || e.First.Binding.Cause != explain.Undecided || e.First.Request == "" {
			t.Errorf("%d steps: %s", steps, e.Text())
		}
	}
}

func TestExplainEndsWithItsContext(t *testing.T) {
	s := allocatortest.FromSeed(1)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	a := newAllocator(t, s)
	if _, err := a.Explain(ctx, s.Nodes[0], s.Claims); !errors.Is(err, allocator.ErrGaveUp) || !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want an error that matches ErrGaveUp and the context's", err)
	}
	if _, err := a.ExplainCluster(ctx, s.Nodes, s.Claims); !errors.Is(err, allocator.ErrGaveUp) {
		t.Errorf("got %v, want an error that matches ErrGaveUp", err)
	}
	var input *allocator.InputError
	if _, err := a.Explain(context.Background(), nil, s.Claims); !errors.As(err, &input) {
		t.Errorf("no node: got %v, want an *InputError", err)
	}
}

func TestNoNodesAreNoGroups(t *testing.T) {
	s := allocatortest.FromSeed(1)
	c, err := newAllocator(t, s).ExplainCluster(context.Background(), nil, s.Claims)
	if err != nil {
		t.Fatal(err)
	}
	if text, err := json.Marshal(c); err != nil || string(text) != `{"nodes":0,"groups":[]}` {
		t.Errorf("without nodes the value is %s with error %v", text, err)
	}
}

func TestClusterExplanationCountsEveryNode(t *testing.T) {
	eachScenario(t, func(t *testing.T, s *allocatortest.Scenario) {
		a := newAllocator(t, s)
		c, err := a.ExplainCluster(context.Background(), s.Nodes, s.Claims)
		if err != nil {
			t.Fatal(err)
		}
		want := make(map[string]int)
		for _, node := range s.Nodes {
			want[explainOn(t, a, s, node).Reason()]++
		}
		got := make(map[string]int)
		for i, g := range c.Groups {
			got[g.Reason] = g.Nodes
			if i > 0 && (g.Nodes > c.Groups[i-1].Nodes || g.Nodes == c.Groups[i-1].Nodes && g.Reason <= c.Groups[i-1].Reason) {
				t.Errorf("group %q is out of order", g.Reason)
			}
			if g.Explanation.Node != g.Examples[0] || g.Explanation.Reason() != g.Reason {
				t.Errorf("group %q has the explanation of %s: %s", g.Reason, g.Explanation.Node, g.Explanation.Reason())
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
	})
}
