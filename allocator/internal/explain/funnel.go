package explain

import (
	"context"
	"fmt"

	"github.com/dray-dev/dray/allocator/internal/bitset"
	"github.com/dray-dev/dray/allocator/internal/index"
	"github.com/dray-dev/dray/allocator/internal/inventory"
	"github.com/dray-dev/dray/allocator/internal/request"
	"github.com/dray-dev/dray/allocator/internal/search"
)

// followed is a request whose alternatives have been followed through the stages.
type followed struct {
	claim *request.Claim
	// claimNumber and number are its indices in the problem.
	claimNumber, number int
	compiled            *request.Request
	alternatives        []*alternative
}

// alternative is what is known of one alternative of a request, alone.
type alternative struct {
	of       *followed
	compiled *request.Alternative
	// problem is the same alternative in the problem; nil without a problem.
	problem  *search.Alternative
	progress *request.Progress
	// left has a set for each stage up to StageCompatible, in the order of stageOrder.
	left []bitset.Set
	// constraints has an entry for each constraint that covers the alternative.
	constraints []constraintCount
	wanted      int
	// binding is nil where the alternative can be met alone.
	binding *Binding
	// doubtful: whether it can be met alone depends on devices that nobody can judge.
	doubtful bool
	// shortAt is the index in stageOrder at which it cannot be met.
	shortAt int
}

// follow takes every request of the claims through the stages. The error is the
// context's.
func (e *explainer) follow() error {
	for i, claim := range e.Claims.Claims {
		funnel := ClaimFunnel{Claim: claim.Name(), Requests: []RequestFunnel{}}
		for j := range claim.Requests {
			r := &followed{claim: claim, claimNumber: i, number: j, compiled: &claim.Requests[j]}
			e.requests = append(e.requests, r)
			requestFunnel := RequestFunnel{Request: r.compiled.API.Name}
			for k := range r.compiled.Alternatives {
				a := &alternative{of: r, compiled: &r.compiled.Alternatives[k]}
				if e.problem != nil {
					a.problem = &e.problem.Claims[i].Requests[j].Alternatives[k]
				}
				r.alternatives = append(r.alternatives, a)
				if err := e.followAlternative(a); err != nil {
					return err
				}
				requestFunnel.Alternatives = append(requestFunnel.Alternatives, a.funnel())
			}
			funnel.Requests = append(funnel.Requests, requestFunnel)
		}
		e.out.Claims = append(e.out.Claims, funnel)
	}
	return nil
}

func (e *explainer) followAlternative(a *alternative) (err error) {
	a.wanted = a.compiled.Count
	if !a.compiled.Sound() {
		return nil
	}
	if a.progress, err = e.examination.Progress(a.compiled); err != nil {
		return err
	}
	a.left = append(a.left, a.progress.Left[:]...)
	if a.compiled.All {
		a.wanted = a.progress.Members.Count()
	}
	if a.wanted > 0 && a.compiled.All {
		// A device that is too small even when empty is none of all.
		for stage := request.OnNode; stage < request.NumStages; stage++ {
			a.left[stage].And(a.progress.Members)
		}
	}
	room := a.progress.Left[request.WithCapacity]
	counted := e.afterCounters(a, room)
	a.left = append(a.left, counted, e.afterGroups(counted))
	if a.problem != nil {
		e.countConstraints(a)
	}
	if err := e.examineAlone(a); err != nil {
		return err
	}
	return context.Cause(e.ctx)
}

// together is the most devices that can be taken under each of the constraints
// alone, of those that none of them refuses.
func (a *alternative) together() int {
	most := a.passed(len(a.left)).Count()
	for _, c := range a.constraints {
		most = min(most, c.most)
	}
	return most
}

// count is the number of devices left after a stage.
func (a *alternative) count(stage int) int {
	if stageOrder[stage] == StageConstraint {
		return a.together()
	}
	return a.left[stage].Count()
}

// lacks says whether too little is left after a stage.
func (a *alternative) lacks(stage int) bool {
	switch members := a.progress.Members; {
	case !a.compiled.All || stageOrder[stage] == StageConstraint:
		return a.count(stage) < a.wanted
	case a.wanted == 0:
		return a.left[stage].Empty() // All means at least one.
	default:
		missing := members.Clone()
		missing.AndNot(a.left[stage])
		return !missing.Empty()
	}
}

// stages is the number of stages that were looked at.
func (a *alternative) stages() int {
	if a.problem != nil {
		return len(stageOrder)
	}
	return len(a.left)
}

func (a *alternative) funnel() Funnel {
	f := Funnel{Name: a.compiled.FullName(), All: a.compiled.All, Wanted: a.wanted, Admin: a.compiled.Admin, Binding: a.binding}
	if a.compiled.Class != nil {
		f.Class = a.compiled.Class.Name
	}
	if a.progress == nil {
		return f
	}
	for i := range a.stages() {
		count := StageCount{Stage: stageOrder[i], Left: a.count(i)}
		if i < len(a.progress.Faulty) {
			count.Faults = a.progress.Faulty[i].Count()
		}
		f.Stages = append(f.Stages, count)
	}
	return f
}

// furthest returns the alternative that came furthest, if none of them can be
// met alone; nil if one can, or if nobody can say.
func (r *followed) furthest() *alternative {
	var best *alternative
	for _, a := range r.alternatives {
		if a.binding == nil || a.doubtful {
			return nil
		}
		if best == nil || a.shortAt > best.shortAt {
			best = a
		}
	}
	return best
}

func troubleOf(w *inventory.Withheld) PoolTrouble {
	t := PoolTrouble{Pool: w.Driver + "/" + w.Pool, Reason: w.Reason, Devices: w.Len()}
	switch {
	case w.Obsolete():
		t.State = PoolObsolete
	case w.Status == index.Incomplete:
		t.State = PoolIncomplete
	default:
		t.State = PoolInvalid
	}
	return t
}

// deviceName is driver/pool/device.
func (e *explainer) deviceName(position int) string {
	pool, device := e.Target.Node.Locate(position)
	return e.Target.Node.Pools[pool].DeviceID(device).String()
}

// shortName is the request as it is named beside others: claim/request, without
// the namespace, which they have in common.
func (r *followed) shortName() string {
	return fmt.Sprintf("%s/%s", r.claim.API.Name, r.compiled.API.Name)
}
