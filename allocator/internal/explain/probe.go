package explain

import (
	"context"
	"errors"
	"slices"

	"github.com/dray-dev/dray/allocator/internal/index"
	"github.com/dray-dev/dray/allocator/internal/search"
)

// answer of a search that may end early.
type answer uint8

const (
	// unknown: the search was ended, or met a fault.
	unknown answer = iota
	fits
	fitsNot
)

// prober searches variations of one problem. Every variation is a copy that
// shares with the original what it does not change.
type prober struct {
	ctx   context.Context
	steps int64 // for one search
	left  int64 // for all of them
}

// try searches a problem. The error is the context's.
func (p *prober) try(problem search.Problem) (answer, error) {
	problem.MaxSteps = min(p.steps, p.left)
	if problem.MaxSteps <= 0 {
		return unknown, nil
	}
	outcome := search.Run(p.ctx, &problem)
	p.left -= outcome.Steps
	switch {
	case outcome.Solution != nil:
		return fits, nil
	case outcome.Interrupted != nil && !errors.Is(outcome.Interrupted, search.ErrSteps):
		return unknown, outcome.Interrupted
	case outcome.Interrupted != nil || outcome.Fault != nil:
		return unknown, nil
	}
	return fitsNot, nil
}

// only keeps the given requests of a problem.
func only(p search.Problem, keep []*followed) search.Problem {
	var claims []search.Claim
	last := -1
	for _, r := range keep {
		claim := &p.Claims[r.claimNumber]
		if r.claimNumber != last {
			claims = append(claims, search.Claim{Constraints: claim.Constraints})
			last = r.claimNumber
		}
		requests := &claims[len(claims)-1].Requests
		*requests = append(*requests, claim.Requests[r.number])
	}
	p.Claims = claims
	return p
}

// withAlternatives returns a copy whose alternatives are changed copies.
func withAlternatives(p search.Problem, claim int, change func(*search.Alternative)) search.Problem {
	p.Claims = slices.Clone(p.Claims)
	c := &p.Claims[claim]
	c.Requests = slices.Clone(c.Requests)
	for i := range c.Requests {
		alternatives := slices.Clone(c.Requests[i].Alternatives)
		for j := range alternatives {
			change(&alternatives[j])
		}
		c.Requests[i].Alternatives = alternatives
	}
	return p
}

// withoutConstraint lifts one constraint of a claim.
func withoutConstraint(p search.Problem, claim, constraint int) search.Problem {
	return withAlternatives(p, claim, func(a *search.Alternative) {
		a.Tests = slices.DeleteFunc(slices.Clone(a.Tests), func(t search.Test) bool { return t.Constraint == constraint })
	})
}

// withCounters fills the counters of which lift is true to what all devices of
// their pool draw together.
func withCounters(p search.Problem, lift func(counterKey) bool) search.Problem {
	p.Pools = slices.Clone(p.Pools)
	for i := range p.Pools {
		pool := &p.Pools[i]
		if pool.Counters == nil {
			continue
		}
		left := pool.Left.Clone()
		lifted := make([]bool, left.Len())
		for counter := range lifted {
			if lifted[counter] = lift(counterKey{i, counter}); lifted[counter] {
				left.Sub(counter, left, counter)
			}
		}
		for use := range pool.Counters.Uses {
			if counter := pool.Counters.Uses[use].Counter; lifted[counter] {
				left.Add(counter, pool.Counters.Drawn, use)
			}
		}
		pool.Left = left
	}
	return p
}

// withCapacity fills the capacities of which lift is true, given the share and
// the entry in it, to what all requests take together.
func withCapacity(p search.Problem, lift func(share, entry int) bool) search.Problem {
	shares := slices.Clone(p.Shares)
	for i := range shares {
		shares[i] = shares[i].Clone()
		for j := range shares[i].Len() {
			if !lift(i, j) {
				continue
			}
			shares[i].Sub(j, shares[i], j)
			for _, demand := range demands(p.Claims, i) {
				shares[i].Add(j, demand, j)
			}
		}
	}
	p.Shares = shares
	return p
}

// demands lists what the alternatives take of a device that can be shared.
func demands(claims []search.Claim, share int) []index.Amounts {
	var list []index.Amounts
	for _, claim := range claims {
		for _, request := range claim.Requests {
			for _, alternative := range request.Alternatives {
				if alternative.Demands != nil && alternative.Demands[share].Len() > 0 {
					list = append(list, alternative.Demands[share])
				}
			}
		}
	}
	return list
}

// withoutGroups lifts compatibility groups.
func withoutGroups(p search.Problem) search.Problem {
	p.GroupsEnforced = false
	return p
}

// withoutLimit lets a claim hold any number of devices.
func withoutLimit(p search.Problem) search.Problem {
	p.MaxResults = p.Width * (1 + len(p.Claims))
	for _, claim := range p.Claims {
		p.MaxResults += len(claim.Requests) * p.Width
	}
	return p
}
