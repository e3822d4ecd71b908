package plugin

import (
	"time"

	"k8s.io/component-base/metrics"
	"k8s.io/component-base/metrics/legacyregistry"
)

// metricsSubsystem begins the names of all metrics of the plugin.
const metricsSubsystem = "dray_scheduler"

// point is an extension point, in the framework's words.
type point string

const (
	pointPreEnqueue         point = "PreEnqueue"
	pointPreFilter          point = "PreFilter"
	pointFilter             point = "Filter"
	pointPostFilter         point = "PostFilter"
	pointPodGroupPostFilter point = "PodGroupPostFilter"
	pointScore              point = "Score"
	pointReserve            point = "Reserve"
	pointUnreserve          point = "Unreserve"
	pointPreBind            point = "PreBind"
)

var points = []point{pointPreEnqueue, pointPreFilter, pointFilter, pointPostFilter, pointPodGroupPostFilter,
	pointScore, pointReserve, pointUnreserve, pointPreBind}

// timedCycles: the points that are called for each node are timed in one cycle out
// of so many. A look at the clock costs as much as an answer that is known.
const timedCycles = 10

// instruments are the plugin's metrics. docs/metrics.md says what each is for, and
// a test compares. Labels have fixed sets of values and all series exist from the
// beginning; no object's name is a value.
//
// Until they are registered they count nothing and cost next to nothing.
type instruments struct {
	duration *metrics.HistogramVec
	refusals *metrics.CounterVec
	doubles  *metrics.Counter

	durations map[point]metrics.ObserverMetric
	causes    map[cause]metrics.CounterMetric
}

func newInstruments() *instruments {
	i := &instruments{
		duration: metrics.NewHistogramVec(&metrics.HistogramOpts{
			Subsystem: metricsSubsystem,
			Name:      "extension_point_duration_seconds",
			Help: "Time in seconds of one call of the plugin at an extension point. " +
				"Filter and Score are timed in one scheduling cycle out of ten.",
			// 1 µs to 67 s: an answer that is known, to a wait for devices.
			Buckets:        metrics.ExponentialBuckets(1e-6, 4, 14),
			StabilityLevel: metrics.ALPHA,
		}, []string{"extension_point"}),
		refusals: metrics.NewCounterVec(&metrics.CounterOpts{
			Subsystem: metricsSubsystem,
			Name:      "refusals_total",
			Help: "Number of times that the plugin found that a pod does not fit, by cause: " +
				"once for each node asked, or once for the pod where no node can help.",
			StabilityLevel: metrics.ALPHA,
		}, []string{"cause"}),
		doubles: metrics.NewCounter(&metrics.CounterOpts{
			Subsystem:      metricsSubsystem,
			Name:           "devices_allocated_twice_total",
			Help:           "Number of times that a claim was seen to have a device that another claim has, and one of them should have for itself.",
			StabilityLevel: metrics.ALPHA,
		}),
	}
	return i
}

// registry is where metrics are added.
type registry interface {
	Register(metrics.Registerable) error
	CustomRegister(metrics.StableCollector) error
}

// served is the registry that the process serves.
type served struct{}

func (served) Register(m metrics.Registerable) error { return legacyregistry.Register(m) }

func (served) CustomRegister(c metrics.StableCollector) error {
	return legacyregistry.CustomRegister(c)
}

// register makes the metrics count, and adds them to a registry, together with the
// work of the engines. It is called once, before the first count.
func (i *instruments) register(to registry, engines func() []*engine) error {
	for _, metric := range []metrics.Registerable{i.duration, i.refusals, i.doubles} {
		if err := to.Register(metric); err != nil {
			return err
		}
	}
	if err := to.CustomRegister(&workCollector{engines: engines}); err != nil {
		return err
	}
	i.durations = make(map[point]metrics.ObserverMetric, len(points))
	for _, point := range points {
		i.durations[point] = i.duration.WithLabelValues(string(point))
	}
	i.causes = make(map[cause]metrics.CounterMetric, len(causes))
	for _, cause := range causes {
		i.causes[cause] = i.refusals.WithLabelValues(string(cause))
	}
	return nil
}

// refused counts a refusal.
func (i *instruments) refused(why cause) {
	counter := i.causes[why]
	if counter == nil {
		counter = i.causes[causeUnexplained]
	}
	if counter != nil {
		counter.Inc()
	}
}

// took notes how long the plugin was at an extension point, which it entered at
// the given time.
func (p *Plugin) took(at point, since time.Time) {
	if observer := p.engine.metrics.durations[at]; observer != nil {
		observer.Observe(p.clock.Since(since).Seconds())
	}
}

// timesNodes says whether the cycle that begins times its calls for each node.
func (e *engine) timesNodes() bool { return e.cycles.Add(1)%timedCycles == 1 }
