package scheduling

import (
	"runtime"
	"time"
)

// meter measures a part of an operation: how long it takes, or with counting what
// it allocates instead, because looking at that takes time itself. Allocations are
// those of the whole process meanwhile.
type meter struct {
	counting       bool
	took           time.Duration
	bytes, objects uint64
}

func (m *meter) measure(do func() error) error {
	if !m.counting {
		started := time.Now()
		err := do()
		m.took += time.Since(started)
		return err
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	err := do()
	runtime.ReadMemStats(&after)
	m.bytes += after.TotalAlloc - before.TotalAlloc
	m.objects += after.Mallocs - before.Mallocs
	return err
}

// meters are those of one or more operations. Pods has whole only, Plugin the
// others.
type meters struct {
	whole, preFilter, filter, reserve meter
	operations                        int
}

func newMeters(counting bool) *meters {
	m := meter{counting: counting}
	return &meters{whole: m, preFilter: m, filter: m, reserve: m}
}

func (m *meters) took() time.Duration {
	return m.whole.took + m.preFilter.took + m.filter.took + m.reserve.took
}

// per is the mean of one operation.
func (m *meters) per(total float64) float64 { return total / float64(m.operations) }

func (m *meters) bytes() float64 {
	return m.per(float64(m.whole.bytes + m.preFilter.bytes + m.filter.bytes + m.reserve.bytes))
}

func (m *meters) objects() float64 {
	return m.per(float64(m.whole.objects + m.preFilter.objects + m.filter.objects + m.reserve.objects))
}
