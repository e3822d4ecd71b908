package metamorphic

import (
	"context"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"sync"

	corev1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"

	"github.com/dray-dev/dray/allocator"
	"github.com/dray-dev/dray/allocator/allocatortest"
)

// asker answers for one question and list; see Allocator.Allocate.
type asker interface {
	Allocate(ctx context.Context, node *corev1.Node, claims []*resourceapi.ResourceClaim) ([]resourceapi.AllocationResult, error)
}

// subject is an inventory under test: it makes an asker from a list of the
// question's slices.
type subject func(q *question, list []*resourceapi.ResourceSlice) (asker, error)

// caches compile each of the few expressions once.
var caches = allocatortest.NewCELCaches()

// ours is the subject that this package is for. Its allocators share answers
// between nodes from the first step on.
func ours() subject {
	inventory := allocator.NewInventory(allocator.WithSharedSearches(0))
	return func(q *question, list []*resourceapi.ResourceSlice) (asker, error) {
		return inventory.NewAllocator(context.Background(), q.Features, q.AllocatedState(), q.ClassLister(), list, caches.For(&q.Scenario))
	}
}

// ask collects the answers for every node.
func ask(a asker, err error, q *question) []allocatortest.Outcome {
	outcomes := make([]allocatortest.Outcome, len(q.Nodes))
	for i, node := range q.Nodes {
		outcomes[i] = allocatortest.Observe(allocator.ErrFailedOnNode, func() ([]resourceapi.AllocationResult, error) {
			if err != nil {
				return nil, fmt.Errorf("new allocator: %w", err)
			}
			return a.Allocate(context.Background(), node, q.Claims)
		})
	}
	return outcomes
}

func askAnew(s subject, q *question, list []*resourceapi.ResourceSlice) []allocatortest.Outcome {
	a, err := s(q, list)
	return ask(a, err, q)
}

// askAlone makes an allocator for each node, so that none can have the answer of
// another.
func askAlone(s subject, q *question, list []*resourceapi.ResourceSlice) []allocatortest.Outcome {
	outcomes := make([]allocatortest.Outcome, len(q.Nodes))
	for i := range q.Nodes {
		one := *q
		one.Nodes = q.Nodes[i : i+1]
		outcomes[i] = askAnew(s, &one, list)[0]
	}
	return outcomes
}

// failure is the first difference in a history.
type failure struct {
	step  int // the step after which it was found; 0 is the start
	what  string
	taken []string // what the steps did
}

func (f *failure) String() string { return fmt.Sprintf("after step %d: %s", f.step, f.what) }

// earlier is a question of a step before, and an allocator made for it.
type earlier struct {
	question *question
	asker    asker
	err      error
}

// run is one history being lived through.
type run struct {
	create    func() subject
	inventory subject // the one that lives through all of it
	learning  *learner
	world     *world
	earlier   []earlier // the latest few, oldest first
	stats     *statistics
}

// maxEarlier is how far back callers with earlier lists and allocators live.
const maxEarlier = 3

// live runs a history on a subject and returns the first difference, or nil.
func (h *history) live(create func() subject, stats *statistics) *failure {
	r := &run{create: create, inventory: create(), learning: newLearner(), world: newWorld(h.start), stats: stats}
	order := rand.New(rand.NewPCG(h.seed, 2))
	var taken []string
	for i := 0; ; i++ {
		mode := alone
		if i > 0 {
			taken = append(taken, r.world.apply(h.steps[i-1]))
			mode = h.steps[i-1].mode
			stats.step(h.steps[i-1])
		}
		if what := r.check(mode, order); what != "" {
			return &failure{step: i, what: what, taken: taken}
		}
		if i == len(h.steps) {
			return nil
		}
	}
}

// check asks everybody about the world and says what differs.
func (r *run) check(mode mode, order *rand.Rand) string {
	q := r.world.question()
	before := q.Clone()
	before.Allocated = nil // only the state that is derived from them is handed out

	q.want = askAlone(r.create(), q, copies(q.Slices))
	r.stats.answers(r.world.answers, q.want)
	r.world.answers = q.want
	got := askAnew(r.create(), q, shuffled(copies(q.Slices), order))
	if what := difference("a fresh inventory with the list in another order", q, got); what != "" {
		return what
	}
	if what := r.askInventory(mode, q, order); what != "" {
		return what
	}
	if what := r.askLearner(mode, q, order); what != "" {
		return what
	}
	for i, e := range r.earlier {
		what := fmt.Sprintf("the allocator made %d steps ago, asked again", (len(r.earlier)-i+1)/2)
		if what := difference(what, e.question, ask(e.asker, e.err, e.question)); what != "" {
			return what
		}
	}
	list := shuffled(q.Slices, order)
	for _, s := range []subject{r.inventory, r.learning.subject} {
		a, err := s(q, list)
		r.earlier = append(r.earlier, earlier{question: q, asker: a, err: err})
	}
	if len(r.earlier) > 2*maxEarlier {
		r.earlier = r.earlier[2:]
	}
	return modified(before, q)
}

// askInventory compares the answers of the inventory that has lived through
// the history.
func (r *run) askInventory(mode mode, q *question, order *rand.Rand) string {
	return r.askSubject("the inventory", r.inventory, mode, q, order)
}

func (r *run) askSubject(who string, s subject, mode mode, q *question, order *rand.Rand) string {
	callers := []*question{q}
	if mode != alone && len(r.earlier) > 0 {
		callers = []*question{pick(order, r.earlier).question, q}
	}
	if mode != concurrent {
		for _, caller := range callers {
			what := who
			if caller != q {
				what = who + ", for a caller with an earlier list"
			}
			got := askAnew(s, caller, shuffled(caller.Slices, order))
			if what := difference(what, caller, got); what != "" {
				return what
			}
		}
		return ""
	}
	const goroutines, rounds = 4, 2
	differences := make([]string, goroutines)
	var group sync.WaitGroup
	start := make(chan struct{})
	for g := range goroutines {
		caller := callers[g%len(callers)]
		lists := make([][]*resourceapi.ResourceSlice, rounds)
		for i := range lists {
			lists[i] = shuffled(caller.Slices, order)
		}
		group.Go(func() {
			<-start
			for _, list := range lists {
				if what := difference(who+", asked by several at once", caller, askAnew(s, caller, list)); what != "" {
					differences[g] = what
					return
				}
			}
		})
	}
	close(start)
	group.Wait()
	for _, what := range differences {
		if what != "" {
			return what
		}
	}
	return ""
}

// difference compares with what a fresh inventory has said.
func difference(who string, q *question, got []allocatortest.Outcome) string {
	for i, node := range q.Nodes {
		if diff := allocatortest.Diff(q.want[i], got[i]); diff != "" {
			return fmt.Sprintf("%s differs from a fresh one on node %s: %s", who, node.Name, diff)
		}
	}
	return ""
}

// modified says which objects are not what they were before they were handed
// out. Quantities remember how they were printed, so even printing one counts.
func modified(before *allocatortest.Scenario, q *question) string {
	for i, slice := range before.Slices {
		if !reflect.DeepEqual(slice, q.Slices[i]) {
			return "slice " + slice.Name + " was modified"
		}
	}
	for i, claim := range before.Claims {
		if !reflect.DeepEqual(claim, q.Claims[i]) {
			return "claim " + claim.Name + " was modified"
		}
	}
	for i, class := range before.Classes {
		if !reflect.DeepEqual(class, q.Classes[i]) {
			return "class " + class.Name + " was modified"
		}
	}
	for i, node := range before.Nodes {
		if !reflect.DeepEqual(node, q.Nodes[i]) {
			return "node " + node.Name + " was modified"
		}
	}
	return ""
}

func copies(list []*resourceapi.ResourceSlice) []*resourceapi.ResourceSlice {
	list = slices.Clone(list)
	for i := range list {
		list[i] = list[i].DeepCopy()
	}
	return list
}

func shuffled(list []*resourceapi.ResourceSlice, r *rand.Rand) []*resourceapi.ResourceSlice {
	list = slices.Clone(list)
	r.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
	return list
}
