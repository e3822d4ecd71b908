package metamorphic

import (
	"context"
	"encoding/json"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
)

// faults are inventories that make the mistakes which one may expect of an
// incremental one. Each is ours, behind something that deceives it.
var faults = map[string]func() subject{
	"takes equal UID and resource version for equal content": func() subject {
		return rewriteList(func(first map[string]*resourceapi.ResourceSlice, list []*resourceapi.ResourceSlice) []*resourceapi.ResourceSlice {
			return replaceByFirst(first, list, func(s *resourceapi.ResourceSlice) string { return string(s.UID) + "/" + s.ResourceVersion })
		})
	},
	"takes equal names for equal content": func() subject {
		return rewriteList(func(first map[string]*resourceapi.ResourceSlice, list []*resourceapi.ResourceSlice) []*resourceapi.ResourceSlice {
			return replaceByFirst(first, list, func(s *resourceapi.ResourceSlice) string { return s.Name })
		})
	},
	"forgets no slice": func() subject {
		return rewriteList(func(seen map[string]*resourceapi.ResourceSlice, list []*resourceapi.ResourceSlice) []*resourceapi.ResourceSlice {
			for _, s := range list {
				seen[s.Name] = s
			}
			all := slices.Clone(list)
			for name, s := range seen {
				if !slices.ContainsFunc(list, func(l *resourceapi.ResourceSlice) bool { return l.Name == name }) {
					all = append(all, s)
				}
			}
			return all
		})
	},
	"sees no slice that is listed twice": func() subject {
		return rewriteList(func(_ map[string]*resourceapi.ResourceSlice, list []*resourceapi.ResourceSlice) []*resourceapi.ResourceSlice {
			return slices.DeleteFunc(slices.Clone(list), func(s *resourceapi.ResourceSlice) bool {
				return slices.Index(list, s) != len(list)-1-slices.Index(backwards(list), s)
			})
		})
	},
	"lets the first slice decide the generation": func() subject {
		return rewriteList(func(_ map[string]*resourceapi.ResourceSlice, list []*resourceapi.ResourceSlice) []*resourceapi.ResourceSlice {
			generations := make(map[string]int64)
			return slices.DeleteFunc(slices.Clone(list), func(s *resourceapi.ResourceSlice) bool {
				generation, ok := generations[poolName(s)]
				if !ok {
					generation = s.Spec.Pool.Generation
					generations[poolName(s)] = generation
				}
				return s.Spec.Pool.Generation != generation
			})
		})
	},
	"modifies a slice": func() subject {
		next := ours()
		return func(q *question, list []*resourceapi.ResourceSlice) (asker, error) {
			if len(list) > 0 {
				list[0].Spec.Pool.Generation++
			}
			return next(q, list)
		}
	},
	"keeps the first allocated state": keepFirst(func(q, first *question) { q.Allocated = first.Allocated }),
	"keeps the first classes":         keepFirst(func(q, first *question) { q.Classes = first.Classes }),
	"keeps the first features":        keepFirst(func(q, first *question) { q.Features = first.Features }),
	"keeps nodes by name":             keepNodes,
	"answers from the latest list": func() subject {
		next := ours()
		var mu sync.Mutex
		var latest asker
		return func(q *question, list []*resourceapi.ResourceSlice) (asker, error) {
			a, err := next(q, list)
			if err != nil {
				return nil, err
			}
			mu.Lock()
			defer mu.Unlock()
			latest = a
			return askerFunc(func(ctx context.Context, node *corev1.Node, claims []*resourceapi.ResourceClaim) ([]resourceapi.AllocationResult, error) {
				mu.Lock()
				a := latest
				mu.Unlock()
				return a.Allocate(ctx, node, claims)
			}), nil
		}
	},
	"mixes up callers": func() subject {
		next := ours()
		var mu sync.Mutex
		var latest []*resourceapi.ResourceSlice
		return func(q *question, list []*resourceapi.ResourceSlice) (asker, error) {
			mu.Lock()
			latest = list
			mu.Unlock()
			for range 10 {
				runtime.Gosched()
			}
			mu.Lock()
			list = latest
			mu.Unlock()
			return next(q, list)
		}
	},
}

type askerFunc func(context.Context, *corev1.Node, []*resourceapi.ResourceClaim) ([]resourceapi.AllocationResult, error)

func (f askerFunc) Allocate(ctx context.Context, node *corev1.Node, claims []*resourceapi.ResourceClaim) ([]resourceapi.AllocationResult, error) {
	return f(ctx, node, claims)
}

// rewriteList hands out another list than the one that it gets. The map is the
// memory that it may have.
func rewriteList(rewrite func(memory map[string]*resourceapi.ResourceSlice, list []*resourceapi.ResourceSlice) []*resourceapi.ResourceSlice) subject {
	next := ours()
	var mu sync.Mutex
	memory := make(map[string]*resourceapi.ResourceSlice)
	return func(q *question, list []*resourceapi.ResourceSlice) (asker, error) {
		mu.Lock()
		list = rewrite(memory, list)
		mu.Unlock()
		return next(q, list)
	}
}

func replaceByFirst(first map[string]*resourceapi.ResourceSlice, list []*resourceapi.ResourceSlice, key func(*resourceapi.ResourceSlice) string) []*resourceapi.ResourceSlice {
	list = slices.Clone(list)
	for i, s := range list {
		if known, ok := first[key(s)]; ok {
			list[i] = known
		} else {
			first[key(s)] = s
		}
	}
	return list
}

func backwards(list []*resourceapi.ResourceSlice) []*resourceapi.ResourceSlice {
	list = slices.Clone(list)
	slices.Reverse(list)
	return list
}

// keepFirst goes on using a part of the first question.
func keepFirst(part func(q, first *question)) func() subject {
	return func() subject {
		next := ours()
		var mu sync.Mutex
		var first *question
		return func(q *question, list []*resourceapi.ResourceSlice) (asker, error) {
			mu.Lock()
			if first == nil {
				first = q
			}
			stale := *q
			part(&stale, first)
			mu.Unlock()
			return next(&stale, list)
		}
	}
}

// keepNodes goes on using the first object that it saw of each node.
func keepNodes() subject {
	next := ours()
	var mu sync.Mutex
	nodes := make(map[string]*corev1.Node)
	return func(q *question, list []*resourceapi.ResourceSlice) (asker, error) {
		a, err := next(q, list)
		if err != nil {
			return nil, err
		}
		return askerFunc(func(ctx context.Context, node *corev1.Node, claims []*resourceapi.ResourceClaim) ([]resourceapi.AllocationResult, error) {
			mu.Lock()
			if known, ok := nodes[node.Name]; ok {
				node = known
			} else {
				nodes[node.Name] = node
			}
			mu.Unlock()
			return a.Allocate(ctx, node, claims)
		}), nil
	}
}

// The comparison is only worth something if it finds such inventories.
func TestFaultyInventoriesAreFound(t *testing.T) {
	for name, create := range faults {
		t.Run(name, func(t *testing.T) {
			if underRaceDetector && name != "mixes up callers" {
				t.Skip("the race detector adds nothing to a fault that one caller meets")
			}
			if firstFailing(1, 1000, create, new(statistics)) == nil {
				t.Error("1000 histories show no difference")
			}
		})
	}
}

// What shrinking leaves fails in the same way each time, and no step of it can
// be left out.
func TestShrinkLeavesWhatMatters(t *testing.T) {
	create := faults["takes equal UID and resource version for equal content"]
	h := firstFailing(1, 1000, create, new(statistics))
	if h == nil {
		t.Fatal("no history fails")
	}
	short, f := shrink(h, create)
	if f == nil {
		t.Fatal("the shrunk history does not fail")
	}
	text := fmt.Sprintf("%s\n%s", short.text(f.taken), f)
	if again := short.live(create, new(statistics)); again == nil || again.step != f.step || again.what != f.what {
		t.Errorf("it fails in another way when it is run again: %v\n%s", again, text)
	}
	if !strings.Contains(text, "taint: ") {
		t.Errorf("only a taint can make this fault show\n%s", text)
	}
	if len(short.steps) >= len(h.steps) || len(short.start.Slices) > 1 {
		t.Errorf("%d of %d steps and %d slices are left\n%s", len(short.steps), len(h.steps), len(short.start.Slices), text)
	}
	for i := range short.steps {
		shorter := &history{seed: short.seed, start: short.start, steps: slices.Delete(slices.Clone(short.steps), i, i+1)}
		if shorter.live(create, new(statistics)) != nil {
			t.Errorf("step %d can be left out\n%s", i+1, text)
		}
	}
}

// A history that is run again must be the same history, or no seed helps.
func TestHistoriesFollowFromTheirSeeds(t *testing.T) {
	for seed := range uint64(20) {
		first, second := trace(t, seed), trace(t, seed)
		for i := range min(len(first), len(second)) {
			if first[i] != second[i] {
				t.Fatalf("seed %d: once\n%s\nand once\n%s", seed, first[i], second[i])
			}
		}
		if len(first) != len(second) {
			t.Fatalf("seed %d: %d lines, then %d", seed, len(first), len(second))
		}
	}
}

// trace lists what happens in a history and what the world is after each step.
func trace(t *testing.T, seed uint64) []string {
	t.Helper()
	h := newHistory(seed)
	w := newWorld(h.start)
	lines := []string{h.text(nil)}
	for _, s := range h.steps {
		lines = append(lines, w.apply(s))
		q := w.question()
		w.answers = askAnew(ours(), q, q.Slices)
		for _, object := range []any{w.Features, w.Nodes, w.Classes, w.Slices, w.Allocated, w.Claims} {
			text, err := json.Marshal(object)
			if err != nil {
				t.Fatal(err)
			}
			lines = append(lines, string(text))
		}
	}
	return lines
}
