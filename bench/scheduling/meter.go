package scheduling

import (
	"runtime"
	"syscall"
	"time"
)

// meter measures a part of an operation: how long it takes, or with counting what
// it allocates instead, because looking at that takes time itself. Allocations and
// processor time are those of the whole process meanwhile.
type meter struct {
	counting       bool
	took, cpu      time.Duration
	bytes, objects uint64
}

func (m *meter) measure(do func() error) error {
	if !m.counting {
		before, started := processorTime(), time.Now()
		err := do()
		m.took += time.Since(started)
		m.cpu += processorTime() - before
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

// processorTime is what the process has used of all processors. On a busy machine
// it says more than the time that passes.
func processorTime() time.Duration {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		return 0
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
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

func (m *meters) cpu() time.Duration {
	return m.whole.cpu + m.preFilter.cpu + m.filter.cpu + m.reserve.cpu
}

// per is the mean of one operation.
func (m *meters) per(total float64) float64 { return total / float64(m.operations) }

func (m *meters) bytes() float64 {
	return m.per(float64(m.whole.bytes + m.preFilter.bytes + m.filter.bytes + m.reserve.bytes))
}

func (m *meters) objects() float64 {
	return m.per(float64(m.whole.objects + m.preFilter.objects + m.filter.objects + m.reserve.objects))
}
