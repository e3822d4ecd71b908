package driver

import (
	"time"

	"k8s.io/component-base/metrics"
)

// Metrics of all drivers in a process. A nil *Metrics counts nothing.
type Metrics struct {
	operations    *metrics.CounterVec
	durations     *metrics.HistogramVec
	publishErrors *metrics.CounterVec
	devices       *metrics.GaugeVec
	tainted       *metrics.GaugeVec
}

// NewMetrics registers them.
func NewMetrics(registry metrics.KubeRegistry) *Metrics {
	const subsystem = "dray_kubeletplugin"
	m := &Metrics{
		operations: metrics.NewCounterVec(&metrics.CounterOpts{Subsystem: subsystem, Name: "claim_operations_total",
			Help: "Claims that were to be prepared or taken back, by result: success or error.", StabilityLevel: metrics.ALPHA},
			[]string{"driver_name", "operation", "result"}),
		durations: metrics.NewHistogramVec(&metrics.HistogramOpts{Subsystem: subsystem, Name: "claim_operation_duration_seconds",
			Help:    "Time that it takes to prepare a claim or to take it back.",
			Buckets: []float64{.005, .025, .1, .25, .5, 1, 2.5, 5, 10, 20, 45}, StabilityLevel: metrics.ALPHA},
			[]string{"driver_name", "operation"}),
		publishErrors: metrics.NewCounterVec(&metrics.CounterOpts{Subsystem: subsystem, Name: "publish_errors_total",
			Help: "Errors while ResourceSlices were written: dropped-fields, invalid or other.", StabilityLevel: metrics.ALPHA},
			[]string{"driver_name", "reason"}),
		devices: metrics.NewGaugeVec(&metrics.GaugeOpts{Subsystem: subsystem, Name: "published_devices",
			Help: "Devices that are published.", StabilityLevel: metrics.ALPHA}, []string{"driver_name", "node"}),
		tainted: metrics.NewGaugeVec(&metrics.GaugeOpts{Subsystem: subsystem, Name: "tainted_devices",
			Help: "Devices that are published with taints.", StabilityLevel: metrics.ALPHA}, []string{"driver_name", "node"}),
	}
	registry.MustRegister(m.operations, m.durations, m.publishErrors, m.devices, m.tainted)
	return m
}

// Begin has the series of a driver begin at zero.
func (m *Metrics) Begin(driver string) {
	if m == nil {
		return
	}
	for _, operation := range []string{"prepare", "unprepare"} {
		for _, result := range []string{"success", "error"} {
			m.operations.WithLabelValues(driver, operation, result).Add(0)
		}
	}
	for _, reason := range []string{"dropped-fields", "invalid", "other"} {
		m.publishErrors.WithLabelValues(driver, reason).Add(0)
	}
}

func (m *Metrics) operation(driver, operation string, err error, took time.Duration) {
	if m == nil {
		return
	}
	result := "success"
	if err != nil {
		result = "error"
	}
	m.operations.WithLabelValues(driver, operation, result).Inc()
	m.durations.WithLabelValues(driver, operation).Observe(took.Seconds())
}

func (m *Metrics) publishError(driver, reason string) {
	if m != nil {
		m.publishErrors.WithLabelValues(driver, reason).Inc()
	}
}

func (m *Metrics) published(driver, node string, devices, tainted int) {
	if m == nil {
		return
	}
	m.devices.WithLabelValues(driver, node).Set(float64(devices))
	m.tainted.WithLabelValues(driver, node).Set(float64(tainted))
}
