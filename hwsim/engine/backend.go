package engine

import (
	"errors"
	"sync"
	"time"

	"github.com/dray-dev/dray/hwsim/gpulib"
	"github.com/dray-dev/dray/kubeletplugin/hardware"
)

// Store keeps a State where all who share the GPUs reach it, and opens an Engine
// over it for each call.
type Store interface {
	// View calls read with an engine over the State as it is. It changes nothing, and
	// keeps nothing of the engine but Nodes.
	View(read func(*Engine) error) error
	// Update calls change with an engine over the State as it is, which nobody else
	// changes meanwhile. What it did is kept if it returns nil, and forgotten otherwise.
	Update(change func(*Engine) error) error
	// Changed returns a channel that is closed after the next Update, whoever makes it.
	// Views after the call see all that came before it. The store looks out for it
	// until stop is closed.
	Changed(stop <-chan struct{}) <-chan struct{}
}

// WaitingClock is a clock that can be waited on.
type WaitingClock interface {
	Clock
	gpulib.Clock
}

// Backend is a gpulib.Backend over a Store: its calls are an Engine's. A call that
// takes time on hardware takes that time by the clock.
type Backend struct {
	store Store
	clock WaitingClock
}

var _ gpulib.Backend = (*Backend)(nil)

// NewBackend returns a backend. The clock is that of the store's engines.
func NewBackend(store Store, clock WaitingClock) *Backend { return &Backend{store, clock} }

// Node is the machine as it is now.
func (b *Backend) Node() (node *hardware.Node, err error) {
	err = b.store.View(func(e *Engine) error {
		node = e.Node()
		return nil
	})
	return node, err
}

// Fault is Engine.Fault.
func (b *Backend) Fault(gpu hardware.PCIAddress) error {
	return b.store.View(func(e *Engine) error { return e.Fault(gpu) })
}

// Condition is Engine.Condition.
func (b *Backend) Condition(gpu hardware.PCIAddress) (condition gpulib.Condition, err error) {
	err = b.store.View(func(e *Engine) (err error) {
		condition, err = e.Condition(gpu)
		return err
	})
	return condition, err
}

// SetMIGMode is Engine.SetMIGMode.
func (b *Backend) SetMIGMode(gpu hardware.PCIAddress, enabled bool) error {
	return b.store.Update(func(e *Engine) error { return e.SetMIGMode(gpu, enabled) })
}

// CreateGPUInstance is Engine.CreateGPUInstance.
func (b *Backend) CreateGPUInstance(gpu hardware.PCIAddress, profileID int, placement *hardware.Placement) (id int, err error) {
	err = b.store.Update(func(e *Engine) (err error) {
		id, err = e.CreateGPUInstance(gpu, profileID, placement)
		return err
	})
	return id, err
}

// DestroyGPUInstance returns once the instance is gone.
func (b *Backend) DestroyGPUInstance(gpu hardware.PCIAddress, instance int) error {
	var gone time.Time
	err := b.store.Update(func(e *Engine) (err error) {
		gone, err = e.DestroyGPUInstance(gpu, instance)
		return err
	})
	if err != nil {
		return err
	}
	for left := gone.Sub(b.clock.Now()); left > 0; left = gone.Sub(b.clock.Now()) {
		<-b.clock.After(left)
		// The store knows what time it is, should the clock have been set back.
		if err := b.store.View(func(*Engine) error { return nil }); err != nil {
			return err
		}
	}
	return b.store.Update(func(e *Engine) error {
		e.Settle()
		return nil
	})
}

// CreateComputeInstance is Engine.CreateComputeInstance.
func (b *Backend) CreateComputeInstance(gpu hardware.PCIAddress, instance, profileID int) (id int, err error) {
	err = b.store.Update(func(e *Engine) (err error) {
		id, err = e.CreateComputeInstance(gpu, instance, profileID)
		return err
	})
	return id, err
}

// DestroyComputeInstance is Engine.DestroyComputeInstance.
func (b *Backend) DestroyComputeInstance(gpu hardware.PCIAddress, instance, compute int) error {
	return b.store.Update(func(e *Engine) error { return e.DestroyComputeInstance(gpu, instance, compute) })
}

// SetComputeMode is Engine.SetComputeMode.
func (b *Backend) SetComputeMode(gpu hardware.PCIAddress, mode hardware.ComputeMode) error {
	return b.store.Update(func(e *Engine) error { return e.SetComputeMode(gpu, mode) })
}

// SetMixedSizeVGPUs is Engine.SetMixedSizeVGPUs.
func (b *Backend) SetMixedSizeVGPUs(gpu hardware.PCIAddress, enabled bool) error {
	return b.store.Update(func(e *Engine) error { return e.SetMixedSizeVGPUs(gpu, enabled) })
}

// CreatableVGPUTypes is Engine.CreatableVGPUTypes.
func (b *Backend) CreatableVGPUTypes(gpu hardware.PCIAddress) (ids []int, err error) {
	err = b.store.View(func(e *Engine) (err error) {
		ids, err = e.CreatableVGPUTypes(gpu)
		return err
	})
	return ids, err
}

// LastEvent is the State's.
func (b *Backend) LastEvent() (number uint64, err error) {
	err = b.store.View(func(e *Engine) error {
		number = e.State().LastEvent
		return nil
	})
	return number, err
}

// NextEvent is Engine.NextEvent.
func (b *Backend) NextEvent(registered gpulib.Registrations) (event gpulib.Event, ok bool, err error) {
	err = b.store.View(func(e *Engine) error {
		event, ok = e.NextEvent(registered)
		return nil
	})
	return event, ok, err
}

// Changed is the store's.
func (b *Backend) Changed(stop <-chan struct{}) <-chan struct{} { return b.store.Changed(stop) }

// Memory is a Store for one process.
type Memory struct {
	node  *hardware.Node
	clock Clock

	mu      sync.Mutex
	engine  *Engine
	changed chan struct{}
}

var _ Store = (*Memory)(nil)

// NewMemory returns a store of a State, which is the store's from now on.
func NewMemory(node *hardware.Node, state *State, clock Clock) (*Memory, error) {
	e, err := Open(node, state, clock)
	if err != nil {
		return nil, err
	}
	return &Memory{node: node, clock: clock, engine: e, changed: make(chan struct{})}, nil
}

// View implements Store.
func (m *Memory) View(read func(*Engine) error) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	return read(m.engine)
}

// Update implements Store.
func (m *Memory) Update(change func(*Engine) error) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	before := m.engine.State().Clone()
	if err := change(m.engine); err != nil {
		e, reopen := Open(m.node, before, m.clock)
		if reopen != nil {
			return errors.Join(err, reopen)
		}
		m.engine = e
		return err
	}
	close(m.changed)
	m.changed = make(chan struct{})
	return nil
}

// Changed implements Store.
func (m *Memory) Changed(<-chan struct{}) <-chan struct{} {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.changed
}
