package gpulib

import (
	"fmt"
	"maps"
	"sync"
	"time"

	"github.com/dray-dev/dray/kubeletplugin/hardware"
)

// eventSet is the handle of an event set.
type eventSet struct {
	library *Library
	freed   chan struct{}

	mu         sync.Mutex
	registered map[string]hardware.GPUEventType // by the GPU's UUID
	isFree     bool
}

var errFreed = fmt.Errorf("the event set has been freed: %w", hardware.ErrGPUInvalidArgument)

// NewEventSet returns a set with no devices in it.
func (l *Library) NewEventSet() (hardware.GPUEventSet, error) {
	if _, err := l.node("new event set"); err != nil {
		return nil, err
	}
	return &eventSet{library: l, freed: make(chan struct{}), registered: map[string]hardware.GPUEventType{}}, nil
}

func (s *eventSet) register(uuid string, types hardware.GPUEventType) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.isFree {
		return errFreed
	}
	s.registered[uuid] |= types
	return nil
}

// Wait ends with an event, with the timeout by the library's clock, or when the
// set is freed.
func (s *eventSet) Wait(timeout time.Duration) (hardware.GPUEvent, error) {
	const call = "event set wait"
	if _, err := s.library.node(call); err != nil {
		return hardware.GPUEvent{}, err
	}
	s.mu.Lock()
	registered, free := maps.Clone(s.registered), s.isFree
	s.mu.Unlock()
	if free {
		return hardware.GPUEvent{}, fmt.Errorf("%s: %w", call, errFreed)
	}
	stop := make(chan struct{})
	defer close(stop)
	select {
	case event := <-s.library.backend.Events(registered, stop):
		return event, nil
	case <-s.library.clock.After(timeout):
		return hardware.GPUEvent{}, fmt.Errorf("%s: nothing happened in %s: %w", call, timeout, hardware.ErrGPUTimeout)
	case <-s.freed:
		return hardware.GPUEvent{}, fmt.Errorf("%s: %w", call, errFreed)
	}
}

func (s *eventSet) Free() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.isFree {
		return fmt.Errorf("event set free: %w", errFreed)
	}
	s.isFree = true
	close(s.freed)
	return nil
}
