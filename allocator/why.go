package allocator

import (
	"context"
	"errors"
	"strings"

	corev1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"

	"github.com/dray-dev/dray/allocator/internal/explain"
)

// Verdict is an explanation in short: Reason is what Explanation.Reason says, and
// Cause that of Explanation.First.
type Verdict = explain.Verdict

// Why is Explain in short, for claims that Allocate found no devices for on the
// node, without an error. It says the same, and is meant to be asked about each of
// many nodes: where a request cannot be met by itself it does not search, and
// otherwise it searches once for all nodes that pose the same problem to this
// allocator. What it said to an earlier pod it says again while the answer of that
// pod's search holds.
//
// Without ok there is no verdict: nodes have posed more than 64 problems for which
// requests compete. Errors are those of Explain.
func (a *Allocator) Why(ctx context.Context, node *corev1.Node, claims []*resourceapi.ResourceClaim) (verdict Verdict, ok bool, err error) {
	defer recoverTo(&err)
	if node == nil {
		return Verdict{}, false, &InputError{Err: errors.New("explain claims: node is nil")}
	}
	w, err := a.look(ctx, node, claims)
	if err != nil {
		return Verdict{}, false, err
	}
	answer := w.answer()
	if answer != nil && answer.solution == nil {
		if known := w.knownVerdict(answer); known != nil {
			return *known, true, nil
		}
	}
	memory := a.memory.Get().(*workspace)
	defer a.memory.Put(memory)
	compiled, err := memory.compile(a, claims)
	if err != nil {
		return Verdict{}, false, err
	}
	judgement, ok, err := explain.Judge(ctx, explain.Question{
		Claims:   compiled,
		Target:   a.target(node, w.view),
		Remnants: a.snapshot.Remnants(),
		Steps:    a.explanationSteps,
	}, &a.verdicts)
	if err != nil {
		return Verdict{}, false, contextError(ctx, err)
	}
	if ok && answer != nil && answer.solution == nil && judgement.OfAnswer && w.asking.hasClasses(compiled) {
		w.share(answer, judgement)
	}
	return judgement.Verdict, ok, nil
}

// sharedVerdict is a verdict for whoever asks the question, whatever the claims are
// called. It is immutable.
type sharedVerdict struct {
	// claim is the index of the claim that the reason is about, or -1.
	claim int
	// rest is the reason after the name of the claim, or all of it.
	rest  string
	cause explain.Cause
}

// toldVerdict is a shared verdict and what it is for the claims of an asking.
type toldVerdict struct {
	shared *sharedVerdict
	Verdict
}

// knownVerdict is the verdict that goes with the answer, or nil. A verdict is a
// function of what the answer is one of, except that it also tells of obsolete
// devices: it is not used while there are any.
func (w *at) knownVerdict(answer *answer) *Verdict {
	shared := answer.verdict.Load()
	if shared == nil || len(w.allocator.snapshot.Remnants()) > 0 {
		return nil
	}
	told := w.asking.told.Load()
	if told == nil || told.shared != shared {
		reason := shared.rest
		if shared.claim >= 0 {
			reason = claimSubject + w.claims[shared.claim].Name + shared.rest
		}
		told = &toldVerdict{shared, Verdict{Reason: reason, Cause: shared.cause}}
		w.asking.told.Store(told)
	}
	return &told.Verdict
}

// claimSubject begins a reason that is about a claim.
const claimSubject = "claim "

// share keeps the verdict with the answer, without the name of the claim.
func (w *at) share(answer *answer, j explain.Judgement) {
	rest := j.Reason
	if j.Claim >= 0 {
		var named bool
		if rest, named = strings.CutPrefix(j.Reason, claimSubject+w.claims[j.Claim].Name); !named {
			return
		}
	}
	answer.verdict.Store(w.asking.sharedVerdict(sharedVerdict{j.Claim, rest, j.Cause}))
}

// maxVerdicts bounds how many verdicts a new one is compared with. There are about as
// many as a claim has requests and these have reasons to fail, whatever the nodes.
const maxVerdicts = 32

// sharedVerdict returns an equal verdict that is known, or the verdict.
func (q *question) sharedVerdict(verdict sharedVerdict) *sharedVerdict {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, known := range q.verdicts {
		if *known == verdict {
			return known
		}
	}
	verdict.rest = strings.Clone(verdict.rest)
	if len(q.verdicts) < maxVerdicts {
		q.verdicts = append(q.verdicts, &verdict)
	}
	return &verdict
}
