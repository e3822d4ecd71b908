package allocator

import (
	"sync/atomic"

	"github.com/dray-dev/dray/allocator/internal/search"
)

// Stats counts work exactly, so that counts can gate a change without noise.
type Stats struct {
	// Steps is the number of nodes of search trees that were entered, never more
	// than upstream's allocator enters (it counts its calls of allocateOne).
	Steps int64
	// SelectorEvaluations is the number of times a CEL expression was evaluated
	// on a device.
	SelectorEvaluations int64
	// Searches is the number of searches that were begun.
	Searches int64
	// Reused is the number of answers that needed no search, because a node with
	// the same problem had been searched.
	Reused int64
	// Unpruned is the number of searches that kept to the faithful order, because
	// pruning could have passed over an error.
	Unpruned int64
}

// Stats returns the work of all calls so far.
func (a *Allocator) Stats() Stats {
	stats := a.work.stats()
	stats.SelectorEvaluations = a.evaluator.Evaluations.Load()
	return stats
}

// Stats returns the work of all allocators of the inventory so far.
func (inv *Inventory) Stats() Stats { return inv.work.stats() }

// work is Stats while it is being counted. An allocator's evaluations are counted
// by its evaluator.
type work struct{ steps, evaluations, searches, reused, unpruned atomic.Int64 }

func (w *work) stats() Stats {
	return Stats{
		Steps:               w.steps.Load(),
		SelectorEvaluations: w.evaluations.Load(),
		Searches:            w.searches.Load(),
		Reused:              w.reused.Load(),
		Unpruned:            w.unpruned.Load(),
	}
}

// searched counts a search, or an answer that was reused in its place.
func (a *Allocator) searched(outcome *search.Outcome, reused bool) {
	for _, w := range [...]*work{&a.work, &a.inventory.work} {
		if reused {
			w.reused.Add(1)
			continue
		}
		w.searches.Add(1)
		w.steps.Add(outcome.Steps)
		if outcome.Unpruned {
			w.unpruned.Add(1)
		}
	}
}
