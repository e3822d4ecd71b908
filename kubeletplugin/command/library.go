package command

import (
	"context"
	"errors"
	"sync"
	"time"

	"k8s.io/klog/v2"

	"github.com/dray-dev/dray/kubeletplugin/driver"
	"github.com/dray-dev/dray/kubeletplugin/hardware"
)

// patient is a GPU library that may not be there, or not answer: the driver's container is
// often up before NVIDIA's driver is, and stays up while that is upgraded. Then it is
// asked less and less often, and that is said once.
type patient struct {
	hardware.GPULibrary
	log   klog.Logger
	clock driver.Clock
	// stale, if set, is told that only another process can load the library that the
	// driver needs.
	stale func(error)

	mu      sync.Mutex
	missing error
	pause   time.Duration
	next    time.Time
}

const (
	firstPause = time.Second
	// lastPause is for a library that is not there, or of another version than the
	// driver: it takes somebody to install one.
	lastPause = 30 * time.Second
	// lastPauseThere is for one that is there and fails: it may not do so any more.
	lastPauseThere = 4 * time.Second
)

func newPatient(ctx context.Context, library hardware.GPULibrary, clock driver.Clock) *patient {
	return &patient{GPULibrary: library, log: klog.FromContext(ctx), clock: clock}
}

// Init implements hardware.GPULibrary.
func (p *patient) Init() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := p.clock.Now()
	// A clock that was set back does not make anybody wait for longer than a pause.
	if p.missing != nil && now.Before(p.next) && p.next.Sub(now) <= p.pause {
		return p.missing
	}
	err := p.GPULibrary.Init()
	if err == nil {
		if p.missing != nil {
			p.log.Info("The GPU library answers now")
		}
		p.missing, p.pause = nil, 0
		return nil
	}
	if p.missing == nil || p.missing.Error() != err.Error() {
		p.log.Info("The GPU library cannot be used; it is tried again from time to time", "reason", err)
	}
	last := lastPauseThere
	for _, absent := range []error{hardware.ErrGPULibraryNotFound, hardware.ErrGPUDriverNotLoaded, hardware.ErrGPULibraryMismatch} {
		if errors.Is(err, absent) {
			last = lastPause
		}
	}
	p.missing = err
	p.pause = min(max(2*p.pause, firstPause), last)
	p.next = now.Add(p.pause)
	if errors.Is(err, hardware.ErrGPULibraryStale) && p.stale != nil {
		p.stale(err)
	}
	return err
}

type systemClock struct{}

func (systemClock) Now() time.Time                         { return time.Now() }
func (systemClock) After(d time.Duration) <-chan time.Time { return time.After(d) }

func clockOf(clock driver.Clock) driver.Clock {
	if clock == nil {
		return systemClock{}
	}
	return clock
}
