package allocator

import (
	"hash/maphash"
	"reflect"
	"slices"
	"sync"
	"sync/atomic"

	corev1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/dynamic-resource-allocation/cel"

	"github.com/dray-dev/dray/allocator/internal/inventory"
	"github.com/dray-dev/dray/allocator/internal/request"
	"github.com/dray-dev/dray/allocator/internal/search"
)

// answers lets a pod have the answers of an earlier one that asked for the same, on
// all nodes whose devices did not change since. The pods of a Deployment or a Job ask
// for the same, and one that was placed changes one node.
//
// Why that is sound. An answer is what search.Run said, and that is a function of the
// problem that request.Bind makes (search.Scratch.Key). Bind is a function of
//
//   - the features, the CEL cache, the claims' specs and the classes that these name:
//     a question has all of them, and is another one if any differs;
//   - the view of the node, which is immutable and has a number of its own;
//   - what is held of the view's pools, of which each state has a version of its own
//     (inventory.Held.Versions);
//   - whether the node declares that node operations can be skipped.
//
// An answer is used only while all of these are the same. They are compared as a
// whole, never by a hash alone. What the claims' names, the node's other fields or
// the time have a part in (errors, results) is not kept: errors and searches that the
// context ended are not answers, and results are written anew for each pod.
//
// Invariants:
//
//  1. weight is the sum of the weights of the questions in the list.
//  2. A question that is not in the list is gone, and has no answers.
//  3. An answer refers to nothing of an inventory, so that it keeps no slice alive.
type answers struct {
	weight atomic.Int64

	mu        sync.Mutex
	questions []*question
	// asked counts the allocators, so that the question which nobody asked for the
	// longest time can be told.
	asked uint64
}

// The bounds of what an inventory remembers. A unit of weight is what an answer takes
// without its solution, some 150 bytes, so that maxWeight is about 20 MB.
const (
	maxQuestions = 64
	maxWeight    = 1 << 17
	weightUnit   = 150
)

// question is what some pods ask for.
type question struct {
	print    uint64
	features request.Features
	cache    *cel.Cache
	claims   []*resourceapi.ResourceClaim
	// classes are those of the claims' alternatives, in order.
	classes []*resourceapi.DeviceClass
	// asked is answers.asked when it was asked last; answers.mu protects it.
	asked uint64

	mu    sync.RWMutex
	gone  bool
	nodes map[string]*answer
	// weight is one for each answer, and those of the solutions.
	weight int64
	// solutions are those of the answers, each once, by their hashes: most nodes have
	// one of a few.
	solutions map[uint64][]*sharedSolution
	// verdicts are up to maxVerdicts of the answers' verdicts.
	verdicts []*sharedVerdict
}

// answer is what a search said about a node. All but verdict is immutable.
type answer struct {
	view     uint64
	held     []uint64
	skipping bool
	// solution is nil if the claims do not fit.
	solution *search.Solution
	shared   *sharedSolution // what solution is of
	// verdict is nil until somebody has asked why they do not fit.
	verdict atomic.Pointer[sharedVerdict]
}

// asking is the question that an allocator found for the claims it was asked about
// last.
type asking struct {
	claims []*resourceapi.ResourceClaim
	// question is nil if answers are not to be shared for the claims.
	*question
	// told is the verdict of the node before, in the words of these claims.
	told atomic.Pointer[toldVerdict]
}

// asks returns the question that the claims are, or nil.
func (a *Allocator) asks(claims []*resourceapi.ResourceClaim) *asking {
	if a.usage.Held == nil {
		return nil
	}
	asking := a.asking.Load()
	if asking == nil || !slices.Equal(asking.claims, claims) {
		asking = a.find(claims)
		a.asking.Store(asking)
	}
	if asking.question == nil {
		return nil
	}
	return asking
}

func (a *Allocator) find(claims []*resourceapi.ResourceClaim) *asking {
	memory := a.memory.Get().(*workspace)
	defer a.memory.Put(memory)
	var q *question
	if compiled, err := memory.compile(a, claims); err == nil && !compiled.Failed {
		q = a.inventory.answers.find(a, claims, compiled)
	}
	return &asking{claims: slices.Clone(claims), question: q}
}

// find returns the question that the claims are, and makes it if nobody has asked it.
func (s *answers) find(a *Allocator, claims []*resourceapi.ResourceClaim, compiled *request.Claims) *question {
	print := fingerprint(claims)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asked++
	for _, q := range s.questions {
		if q.print == print && q.is(a, claims, compiled) {
			q.asked = s.asked
			return q
		}
	}
	if len(s.questions) >= maxQuestions {
		s.forgetOldest()
	}
	q := &question{
		print: print, features: a.features, cache: a.evaluator.Cache, claims: slices.Clone(claims), classes: classesOf(compiled),
		asked: s.asked, nodes: make(map[string]*answer),
	}
	s.questions = append(s.questions, q)
	return q
}

func (s *answers) forgetOldest() {
	oldest := 0
	for i, q := range s.questions {
		if q.asked < s.questions[oldest].asked {
			oldest = i
		}
	}
	q := s.questions[oldest]
	s.questions = slices.Delete(s.questions, oldest, oldest+1)
	q.mu.Lock()
	defer q.mu.Unlock()
	s.weight.Add(-q.weight)
	q.gone, q.weight, q.nodes, q.solutions, q.verdicts = true, 0, nil, nil, nil
}

// fingerprint is equal for equal claims.
func fingerprint(claims []*resourceapi.ResourceClaim) uint64 {
	var h maphash.Hash
	h.SetSeed(printSeed)
	for _, claim := range claims {
		for i := range claim.Spec.Devices.Requests {
			r := &claim.Spec.Devices.Requests[i]
			h.WriteString(r.Name)
			if r.Exactly != nil {
				h.WriteString(r.Exactly.DeviceClassName)
				h.WriteByte(byte(r.Exactly.Count))
			}
			for j := range r.FirstAvailable {
				h.WriteString(r.FirstAvailable[j].DeviceClassName)
			}
		}
	}
	return h.Sum64()
}

var printSeed = maphash.MakeSeed()

// is compares whole objects rather than the fields that are read today, so that a
// field that is added to the API is compared as well. Of objects that differ only in
// how a quantity is represented it may say that they are not the same.
func (q *question) is(a *Allocator, claims []*resourceapi.ResourceClaim, compiled *request.Claims) bool {
	if q.features != a.features || q.cache != a.evaluator.Cache || len(q.claims) != len(claims) {
		return false
	}
	for i := range claims {
		if q.claims[i] != claims[i] && !reflect.DeepEqual(&q.claims[i].Spec.Devices, &claims[i].Spec.Devices) {
			return false
		}
	}
	return q.hasClasses(compiled)
}

// hasClasses says whether the claims were compiled with the classes of the question.
func (q *question) hasClasses(compiled *request.Claims) bool {
	i := 0
	same := true
	eachClass(compiled, func(class *resourceapi.DeviceClass) {
		same = same && i < len(q.classes) && sameClass(q.classes[i], class)
		i++
	})
	return same && i == len(q.classes)
}

func sameClass(a, b *resourceapi.DeviceClass) bool {
	return a == b || a != nil && b != nil && a.Name == b.Name && reflect.DeepEqual(&a.Spec, &b.Spec)
}

func classesOf(compiled *request.Claims) []*resourceapi.DeviceClass {
	var classes []*resourceapi.DeviceClass
	eachClass(compiled, func(class *resourceapi.DeviceClass) { classes = append(classes, class) })
	return classes
}

func eachClass(compiled *request.Claims, visit func(*resourceapi.DeviceClass)) {
	for _, claim := range compiled.Claims {
		for i := range claim.Requests {
			for j := range claim.Requests[i].Alternatives {
				visit(claim.Requests[i].Alternatives[j].Class)
			}
		}
	}
}

// known returns what an earlier search said about the node as it is now, or nil.
func (q *question) known(node *corev1.Node, view *inventory.Node, held *inventory.Held) *answer {
	q.mu.RLock()
	answer := q.nodes[node.Name]
	q.mu.RUnlock()
	if answer == nil || answer.view != view.Serial() || answer.skipping != q.skipping(node) || !held.SameVersions(answer.held, view) {
		return nil
	}
	return answer
}

func (q *question) skipping(node *corev1.Node) bool {
	return q.features.OptionalNodeOperations && request.SupportsSkipping(node)
}

// keep notes what a search said about the node.
func (s *answers) keep(q *question, node *corev1.Node, view *inventory.Node, held *inventory.Held, solution *search.Solution) {
	a := &answer{
		view: view.Serial(), skipping: q.skipping(node),
		held: held.Versions(make([]uint64, 0, len(view.Pools)), view),
	}
	q.mu.Lock()
	if q.gone {
		q.mu.Unlock()
		return
	}
	before := q.weight
	q.share(a, solution)
	q.release(q.nodes[node.Name])
	q.nodes[node.Name] = a
	s.weight.Add(q.weight - before)
	q.mu.Unlock()
	if s.weight.Load() <= maxWeight {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for s.weight.Load() > maxWeight && len(s.questions) > 0 {
		s.forgetOldest()
	}
}
