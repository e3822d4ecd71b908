package plugin

import "sync/atomic"

// Work counts what was done for all plugins that share an engine, since the
// process began. Metrics show it; tests count with it.
type Work struct {
	// Searches for devices that were begun, one for a node and a pod, and Reused,
	// the answers that needed none because an equal node or pod had been searched.
	Searches, Reused int64
	// Steps are the nodes of search trees that were entered.
	Steps int64
	// Unpruned are the searches that kept to upstream's order node by node, because
	// pruning could have passed over an error.
	Unpruned int64
	// SelectorEvaluations are those of a CEL expression on a device.
	SelectorEvaluations int64
	// LedgerCurrent counts how often the ledger could say what is allocated, and
	// LedgerFallbacks how often the manager of claims had to be asked.
	LedgerCurrent, LedgerFallbacks int64
	// LedgerReadings counts how often the ledger read all claims to become current.
	LedgerReadings int64
	// DevicesHeldTwice is the number of devices that two claims have at this
	// moment, of which one should have it for itself.
	DevicesHeldTwice int64
	// ClaimsInDoubt are those whose devices stay in flight at this moment, because it
	// is not known what became of a write.
	ClaimsInDoubt int64
}

// Work returns what was done so far. The numbers are read one after the other.
func (p *Plugin) Work() Work { return p.engine.work() }

func (e *engine) work() Work {
	stats := e.inventory.Stats()
	return Work{
		Searches: stats.Searches, Reused: stats.Reused, Steps: stats.Steps, Unpruned: stats.Unpruned,
		SelectorEvaluations: stats.SelectorEvaluations,
		LedgerCurrent:       e.asked.current.Load(),
		LedgerFallbacks:     e.asked.fallbacks.Load(),
		LedgerReadings:      e.asked.readings.Load(),
		DevicesHeldTwice:    e.asked.heldTwice.Load(),
		ClaimsInDoubt:       e.doubts.Load(),
	}
}

// asked counts where the state of the cluster came from.
type asked struct{ current, fallbacks, readings, heldTwice atomic.Int64 }
