package explain

import (
	"context"
	"encoding/binary"
	"sync"

	resourceapi "k8s.io/api/resource/v1"

	"github.com/dray-dev/dray/allocator/internal/request"
	"github.com/dray-dev/dray/allocator/internal/search"
)

// Verdict is an explanation in short.
type Verdict struct {
	// Reason is what Explanation.Reason says.
	Reason string
	// Cause is that of Explanation.First.
	Cause Cause
}

// Judgement is a verdict and what it is one of.
type Judgement struct {
	Verdict
	// Claim is the index of the claim that Reason is about, or -1 if it is about none
	// or about an error.
	Claim int
	// OfAnswer: the verdict is a function of what the answer of the search is one of
	// (request.Bind), besides the claims' names.
	OfAnswer bool
}

// Verdicts remembers what the searches of one allocator have found, so that nodes
// which pose the same problem have the same verdict for the price of one. The zero
// value is ready. It is safe for concurrent use.
type Verdicts struct {
	mu    sync.Mutex
	known map[string]*sharedVerdict // by verdictKey
}

// sharedVerdict is the verdict for one problem. Its lock is held while it is looked
// for.
type sharedVerdict struct {
	mu        sync.Mutex
	known     bool
	judgement Judgement
}

// The bounds of what is remembered. Each problem costs up to 17 times
// Question.Steps, once; problems beyond the bounds have no verdict.
const (
	maxVerdicts   = 64
	maxVerdictKey = 1 << 14
)

// Judge is Explain in short, for a question to which the answer is known to be that
// the claims do not fit. Where a request cannot be met by itself, no search is
// needed. Where it takes requests together to fail, one search for each problem
// decides; the sentence says nothing of a node that the problem does not.
//
// Without ok there is no verdict: there were too many problems. The error is the
// context's cause.
func Judge(ctx context.Context, q Question, v *Verdicts) (judgement Judgement, ok bool, err error) {
	e, bindErr, err := begin(ctx, q)
	if err != nil {
		return Judgement{}, false, err
	}
	if bindErr != nil {
		e.bindError(bindErr)
		return e.judgement(), true, nil
	}
	if e.alone() {
		judgement = e.judgement()
		// What is withheld depends on labels and on slices that no answer looks at.
		judgement.OfAnswer = len(e.withheld) == 0
		return judgement, true, nil
	}
	shared := v.of(e.problem, q.Claims)
	if shared == nil {
		return Judgement{}, false, nil
	}
	shared.mu.Lock()
	defer shared.mu.Unlock()
	if !shared.known {
		if err := e.together(); err != nil {
			return Judgement{}, false, err
		}
		shared.known, shared.judgement = true, e.judgement()
		shared.judgement.OfAnswer = true
	}
	return shared.judgement, true, nil
}

func (e *explainer) judgement() Judgement {
	return Judgement{Verdict: Verdict{Reason: e.out.Reason(), Cause: e.out.First.Binding.Cause}, Claim: e.firstClaim}
}

// of returns what is known of the problem, or nil if there is no room for it.
func (v *Verdicts) of(p *search.Problem, claims *request.Claims) *sharedVerdict {
	key, ok := verdictKey(p, claims)
	if !ok || len(key) > maxVerdictKey {
		return nil
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	shared := v.known[string(key)]
	if shared == nil && len(v.known) < maxVerdicts {
		if v.known == nil {
			v.known = map[string]*sharedVerdict{}
		}
		shared = &sharedVerdict{}
		v.known[string(key)] = shared
	}
	return shared
}

// verdictKey is search.Scratch.Key and the names that a sentence can have, of which a
// problem has none: those of claims, requests and the attributes of constraints. The
// claims of one allocator can differ from node to node, as that for extended
// resources does.
func verdictKey(p *search.Problem, claims *request.Claims) (key []byte, ok bool) {
	key, ok = new(search.Scratch).Key(p)
	if !ok {
		return nil, false
	}
	name := func(text string) { key = append(binary.AppendUvarint(key, uint64(len(text))), text...) }
	for _, claim := range claims.Claims {
		name(claim.API.Name)
		for i := range claim.Requests {
			for j := range claim.Requests[i].Alternatives {
				name(claim.Requests[i].Alternatives[j].Parent)
				name(claim.Requests[i].Alternatives[j].Name)
			}
		}
		for i := range claim.API.Spec.Devices.Constraints {
			c := &claim.API.Spec.Devices.Constraints[i]
			for _, attribute := range []*resourceapi.FullyQualifiedName{c.MatchAttribute, c.DistinctAttribute} {
				if attribute != nil {
					name(string(*attribute))
				}
			}
		}
	}
	return key, true
}
