package plugin

import "k8s.io/component-base/metrics"

// workMetrics show Work.
var workMetrics = []struct {
	name, help string
	gauge      bool
	of         func(Work) int64
}{
	{"searches_total", "Number of searches for devices on a node that were begun.", false, func(w Work) int64 { return w.Searches }},
	{"reused_answers_total", "Number of answers that needed no search, because an equal node had been searched, or the node for an equal pod.", false, func(w Work) int64 { return w.Reused }},
	{"search_steps_total", "Number of nodes of search trees that were entered.", false, func(w Work) int64 { return w.Steps }},
	{"faithful_searches_total", "Number of searches that kept to upstream's order, because pruning could have passed over an error.", false, func(w Work) int64 { return w.Unpruned }},
	{"selector_evaluations_total", "Number of evaluations of a CEL expression on a device.", false, func(w Work) int64 { return w.SelectorEvaluations }},
	{"ledger_reads_total", "Number of times that the ledger said what is allocated.", false, func(w Work) int64 { return w.LedgerCurrent }},
	{"ledger_fallbacks_total", "Number of times that the manager of claims was asked what is allocated, because the ledger could not be proved current.", false, func(w Work) int64 { return w.LedgerFallbacks }},
	{"ledger_rebuilds_total", "Number of times that the ledger read all claims.", false, func(w Work) int64 { return w.LedgerReadings }},
	{"devices_held_twice", "Number of devices that two claims have at this moment although one should have each for itself.", true, func(w Work) int64 { return w.DevicesHeldTwice }},
	{"claims_in_doubt", "Number of claims whose devices stay in flight at this moment, because it is not known what became of a write.", true, func(w Work) int64 { return w.ClaimsInDoubt }},
}

// workCollector adds up the work of all engines whenever metrics are read, so that
// counting costs what the counters of Work do.
type workCollector struct {
	metrics.BaseStableCollector
	engines func() []*engine
	descs   []*metrics.Desc // one for each of workMetrics
}

// DescribeWithStability implements metrics.StableCollector.
func (c *workCollector) DescribeWithStability(out chan<- *metrics.Desc) {
	c.descs = nil
	for _, m := range workMetrics {
		name := metrics.BuildFQName("", metricsSubsystem, m.name)
		c.descs = append(c.descs, metrics.NewDesc(name, m.help, nil, nil, metrics.ALPHA, ""))
		out <- c.descs[len(c.descs)-1]
	}
}

// CollectWithStability implements metrics.StableCollector.
func (c *workCollector) CollectWithStability(out chan<- metrics.Metric) {
	var works []Work
	for _, engine := range c.engines() {
		works = append(works, engine.work())
	}
	for i, m := range workMetrics {
		var sum int64
		for _, work := range works {
			sum += m.of(work)
		}
		kind := metrics.CounterValue
		if m.gauge {
			kind = metrics.GaugeValue
		}
		out <- metrics.NewLazyConstMetric(c.descs[i], kind, float64(sum))
	}
}
