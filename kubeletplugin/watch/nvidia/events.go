package nvidia

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"k8s.io/klog/v2"

	"github.com/dray-dev/dray/kubeletplugin/hardware"
)

// wanted are the events that can mean something to a pod.
const wanted = hardware.EventXidCritical | hardware.EventDoubleBitECC | hardware.EventClockChange | hardware.EventMIGConfigChange |
	hardware.EventGPUUnavailable | hardware.EventRecoveryAction

const (
	// waitTime is how long the library waits for an event: Run ends within it.
	waitTime = 500 * time.Millisecond
	// Pauses after the library has failed.
	firstPause = time.Second
	lastPause  = time.Minute
)

// Run implements watch.Watcher.
func (w *Watcher) Run(ctx context.Context, changed func()) {
	pause, last := firstPause, ""
	for ctx.Err() == nil {
		err := w.follow(ctx, changed, func() { pause, last = firstPause, "" })
		if ctx.Err() != nil {
			return
		}
		if err != nil && err.Error() != last { // said once
			last = err.Error()
			klog.FromContext(ctx).Info("Events of GPUs cannot be had, it is tried again; hardware is looked at from time to time", "err", err)
		}
		select {
		case <-ctx.Done():
		case <-w.options.Clock.After(pause):
		}
		pause = min(2*pause, lastPause)
		changed()
	}
}

// follow waits for events until something fails. Success is told to works.
func (w *Watcher) follow(ctx context.Context, changed, works func()) error {
	if err := w.options.Library.Init(); err != nil {
		return err
	}
	defer w.options.Library.Shutdown()
	set, err := w.register(ctx)
	if err != nil {
		return err
	}
	defer func() { set.Free() }()
	works()
	for ctx.Err() == nil {
		if w.wantsRenewal() {
			// The new set first: what happens in between is in both.
			next, err := w.register(ctx)
			if err != nil {
				return err
			}
			w.drain(ctx, set, changed)
			set.Free()
			set = next
		}
		event, err := set.Wait(waitTime)
		switch {
		case err == nil:
			w.happened(ctx, event)
			changed()
		case errors.Is(err, hardware.ErrGPUTimeout):
		case errors.Is(err, hardware.ErrGPULost), errors.Is(err, hardware.ErrGPUNotFound):
			// The set says so from now on, so the next one is without that GPU.
			w.askRenewal()
			changed()
			select {
			case <-ctx.Done():
			case <-w.options.Clock.After(waitTime):
			}
		default:
			return fmt.Errorf("waiting for events: %w", err)
		}
	}
	return nil
}

// mostErrors is how often a set that is drained may say that one of its GPUs is lost. It
// may say so for each, before it tells what they had reported.
const mostErrors = 100

// drain takes what is left in a set.
func (w *Watcher) drain(ctx context.Context, set hardware.GPUEventSet, changed func()) {
	for errs := 0; errs < mostErrors; {
		event, err := set.Wait(0)
		switch {
		case err == nil:
			w.happened(ctx, event)
			changed()
		case errors.Is(err, hardware.ErrGPULost), errors.Is(err, hardware.ErrGPUNotFound):
			errs++
		default:
			return
		}
	}
}

func (w *Watcher) wantsRenewal() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.renew
}

func (w *Watcher) askRenewal() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.renew = true
}

// register makes a set with all GPUs that answer.
func (w *Watcher) register(ctx context.Context) (hardware.GPUEventSet, error) {
	set, err := w.options.Library.NewEventSet()
	if err != nil {
		return nil, err
	}
	count, err := w.options.Library.DeviceCount()
	if err != nil {
		set.Free()
		return nil, err
	}
	registered := map[string]bool{}
	for index := range count {
		uuid, err := w.registerGPU(index, set)
		if err != nil {
			klog.FromContext(ctx).V(3).Info("A GPU has no events", "index", index, "err", err)
			continue
		}
		registered[uuid] = true
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.registered, w.renew = slices.Sorted(maps.Keys(registered)), false
	return set, nil
}

func (w *Watcher) registerGPU(index int, set hardware.GPUEventSet) (uuid string, err error) {
	device, err := w.options.Library.DeviceByIndex(index)
	if err != nil {
		return "", err
	}
	if uuid, err = device.UUID(); err != nil {
		return "", err
	}
	supported, err := device.SupportedEvents()
	if err != nil || supported&wanted == 0 {
		if errors.Is(err, hardware.ErrGPUNotSupported) {
			err = nil // it has none, ever
		}
		return uuid, err
	}
	return uuid, device.RegisterEvents(supported&wanted, set)
}
