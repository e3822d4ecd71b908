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

// patient is a GPU library that may not be there yet: the driver's container is often
// up before NVIDIA's driver is. Then it is looked for again, less and less often, and
// that is said once.
type patient struct {
	hardware.GPULibrary
	log   klog.Logger
	clock driver.Clock

	mu      sync.Mutex
	missing error
	pause   time.Duration
	next    time.Time
}

const (
	firstPause = time.Second
	lastPause  = 30 * time.Second
)

func newPatient(ctx context.Context, library hardware.GPULibrary, clock driver.Clock) *patient {
	return &patient{GPULibrary: library, log: klog.FromContext(ctx), clock: clock}
}

// Init implements hardware.GPULibrary.
func (p *patient) Init() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := p.clock.Now()
	if p.missing != nil && now.Before(p.next) {
		return p.missing
	}
	err := p.GPULibrary.Init()
	switch {
	case err == nil && p.missing != nil:
		p.log.Info("There is a GPU library now")
		p.missing, p.pause = nil, 0
	case errors.Is(err, hardware.ErrGPULibraryNotFound), errors.Is(err, hardware.ErrGPUDriverNotLoaded):
		if p.missing == nil {
			p.log.Info("There are no GPUs to be driven, and the pool is empty; it is looked for them again from time to time", "reason", err)
		}
		p.missing = err
		p.pause = min(max(2*p.pause, firstPause), lastPause)
		p.next = now.Add(p.pause)
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
