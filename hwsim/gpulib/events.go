package gpulib

import (
	"fmt"
	"sync"
	"time"

	"github.com/dray-dev/dray/kubeletplugin/hardware"
)

// eventSet is the handle of an event set. An event belongs to it from the moment
// on in which its GPU was registered, and is delivered once.
type eventSet struct {
	library *Library
	freed   chan struct{}

	mu         sync.Mutex
	registered Registrations
	addresses  []hardware.PCIAddress // of the GPUs that are registered
	isFree     bool
}

var errFreed = fmt.Errorf("the event set has been freed: %w", hardware.ErrGPUInvalidArgument)

// NewEventSet returns a set with no devices in it.
func (l *Library) NewEventSet() (hardware.GPUEventSet, error) {
	if _, err := l.node("new event set"); err != nil {
		return nil, err
	}
	return &eventSet{library: l, freed: make(chan struct{}), registered: Registrations{}}, nil
}

func (s *eventSet) register(gpu *hardware.GPU, types hardware.GPUEventType) error {
	last, err := s.library.backend.LastEvent()
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.isFree {
		return errFreed
	}
	registration, ok := s.registered[gpu.UUID]
	if !ok {
		registration.After = last
		s.addresses = append(s.addresses, gpu.Address)
	}
	registration.Types |= types
	s.registered[gpu.UUID] = registration
	return nil
}

// Wait ends with an event, with the timeout by the library's clock, or when the
// set is freed. Events that are there come first; then it fails if a GPU of the set
// is lost, as NVML does.
func (s *eventSet) Wait(timeout time.Duration) (hardware.GPUEvent, error) {
	const call = "event set wait"
	if _, err := s.library.node(call); err != nil {
		return hardware.GPUEvent{}, err
	}
	stop, timer := make(chan struct{}), s.library.clock.After(timeout)
	defer close(stop)
	for {
		changed := s.library.backend.Changed(stop)
		event, ok, err := s.next()
		if err != nil {
			return hardware.GPUEvent{}, fmt.Errorf("%s: %w", call, err)
		}
		if ok {
			return event, nil
		}
		select {
		case <-changed:
		case <-timer:
			return hardware.GPUEvent{}, fmt.Errorf("%s: nothing happened in %s: %w", call, timeout, hardware.ErrGPUTimeout)
		case <-s.freed:
			return hardware.GPUEvent{}, fmt.Errorf("%s: %w", call, errFreed)
		}
	}
}

// next delivers an event that is there.
func (s *eventSet) next() (event hardware.GPUEvent, ok bool, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.isFree {
		return event, false, errFreed
	}
	found, ok, err := s.library.backend.NextEvent(s.registered)
	if err != nil {
		return event, false, err
	}
	if ok {
		for uuid, registration := range s.registered {
			registration.After = max(registration.After, found.Number)
			s.registered[uuid] = registration
		}
		return found.GPUEvent, true, nil
	}
	for _, address := range s.addresses {
		if err := s.library.backend.Fault(address); err != nil {
			return event, false, fmt.Errorf("gpu %s: %w", address, err)
		}
	}
	return event, false, nil
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
