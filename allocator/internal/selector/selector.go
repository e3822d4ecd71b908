// Package selector evaluates CEL expressions on devices: the selectors of
// classes and requests, and derived attributes. It is the only package that
// evaluates CEL.
//
// An expression is compiled by the cel.Cache that the caller brings, because
// the cache knows which CEL features the cluster has. It is evaluated once for
// each distinct value of what it reads of a device (reads), and that is
// remembered for as long as the inventory lives (Shapes). Sets over the devices
// of one pool are remembered with the pool (Memo).
//
// Evaluation has three outcomes: match, no match, and fault. A fault (the
// expression does not compile, it fails at run time, or an attribute of the
// device cannot be converted) must end scheduling of the pod, but only if the
// search comes to the device: upstream evaluates as it goes. Hence faults are
// kept as a set beside the matches, and their text is made when it is needed.
package selector

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/dynamic-resource-allocation/cel"

	"github.com/dray-dev/dray/allocator/internal/bitset"
)

// Devices are the devices of one pool.
type Devices interface {
	Len() int
	// DriverName is the driver of all of them.
	DriverName() string
	At(device int) *resourceapi.Device
}

// Evaluator evaluates expressions with one cache.
type Evaluator struct {
	// Cache compiles expressions; nil is an error of the caller that surfaces
	// when an expression has to be evaluated.
	Cache *cel.Cache
	// Shapes remembers evaluations beyond the life of a pool; nil does not.
	Shapes *Shapes
	// Evaluations counts evaluations of an expression on a device.
	Evaluations atomic.Int64
}

// Verdict is what an expression says about the devices of a pool. The sets are
// disjoint and read-only.
type Verdict struct {
	Match, Fault bitset.Set
}

// Derived is a derived attribute of the devices of a pool. It is read-only.
type Derived struct {
	// Attributes by device; nil where Fault has the device.
	Attributes []*resourceapi.DeviceAttribute
	Fault      bitset.Set
}

// Memo remembers the verdicts and derived attributes of one pool's devices. Its
// zero value is empty. It is safe for concurrent use.
type Memo struct {
	mu      sync.Mutex
	entries map[memoKey]*memoEntry
}

type memoKey struct {
	cache      *cel.Cache
	expression string
	derived    bool
}

// memoEntry is what is known so far of one expression.
type memoEntry struct {
	// lock has room for the one who evaluates: unlike a mutex it can be waited
	// for under a context.
	lock chan struct{}
	// done is the number of devices that have been asked. A context that ends
	// leaves the others for the next caller, so that each gets further. It is
	// written under the lock, after what it counts; once all have been asked
	// nothing here changes, and the rest is read without the lock.
	done    atomic.Int64
	verdict Verdict
	derived Derived
}

// acquire returns the context's cause if that ends before the entry is free.
func (e *memoEntry) acquire(ctx context.Context) error {
	select {
	case e.lock <- struct{}{}:
		return nil
	default:
	}
	select {
	case e.lock <- struct{}{}:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (e *memoEntry) release() { <-e.lock }

// complete says whether all n devices have been asked.
func (e *memoEntry) complete(n int) bool { return e.done.Load() == int64(n) }

// maxEntries bounds what one pool remembers. A cluster uses a few dozen
// expressions; what is forgotten is made again from Shapes.
const maxEntries = 64

func (m *Memo) entry(key memoKey) *memoEntry {
	m.mu.Lock()
	defer m.mu.Unlock()
	e, ok := m.entries[key]
	if !ok {
		if m.entries == nil || len(m.entries) >= maxEntries {
			m.entries = make(map[memoKey]*memoEntry)
		}
		e = &memoEntry{lock: make(chan struct{}, 1)}
		m.entries[key] = e
	}
	return e
}

// Verdict returns what a selector says about the devices. The only error is the
// context's: then what was found so far is remembered, and the next call goes on
// from there.
func (ev *Evaluator) Verdict(ctx context.Context, m *Memo, expression string, devices Devices) (Verdict, error) {
	e, n := m.entry(memoKey{cache: ev.Cache, expression: expression}), devices.Len()
	if e.complete(n) {
		return e.verdict, nil
	}
	if err := e.acquire(ctx); err != nil {
		return Verdict{}, err
	}
	defer e.release()
	if e.verdict.Match == nil {
		e.verdict = Verdict{Match: bitset.New(n), Fault: bitset.New(n)}
	}
	if e.complete(n) { // By whoever had the lock before.
		return e.verdict, nil
	}
	compiled, err := ev.compile(expression)
	if err != nil {
		e.verdict.Fault = bitset.Full(n)
		e.done.Store(int64(n))
		return e.verdict, nil
	}
	err = ev.onEach(ctx, e, devices, ev.shapesOf(&compiled, expression, false), func(input cel.Device) (met shape, err error) {
		met.match, _, err = compiled.DeviceMatches(ctx, input)
		return met, err
	}, func(device int, met shape) {
		switch {
		case met.fault:
			e.verdict.Fault.Add(device)
		case met.match:
			e.verdict.Match.Add(device)
		}
	})
	if err != nil {
		return Verdict{}, err
	}
	return e.verdict, nil
}

// Derived evaluates a derived attribute on the devices. The only error is the
// context's: then what was found so far is remembered, and the next call goes on
// from there.
func (ev *Evaluator) Derived(ctx context.Context, m *Memo, expression string, devices Devices) (Derived, error) {
	e, n := m.entry(memoKey{cache: ev.Cache, expression: expression, derived: true}), devices.Len()
	if e.complete(n) {
		return e.derived, nil
	}
	if err := e.acquire(ctx); err != nil {
		return Derived{}, err
	}
	defer e.release()
	if e.derived.Fault == nil {
		e.derived = Derived{Attributes: make([]*resourceapi.DeviceAttribute, n), Fault: bitset.New(n)}
	}
	if e.complete(n) {
		return e.derived, nil
	}
	compiled, err := ev.compileDerived(expression)
	if err != nil {
		e.derived.Fault = bitset.Full(n)
		e.done.Store(int64(n))
		return e.derived, nil
	}
	err = ev.onEach(ctx, e, devices, ev.shapesOf(&compiled, expression, true), func(input cel.Device) (met shape, err error) {
		met.attribute, _, err = compiled.EvaluateDerivedAttribute(ctx, input)
		return met, err
	}, func(device int, met shape) {
		if met.fault {
			e.derived.Fault.Add(device)
			return
		}
		e.derived.Attributes[device] = met.attribute
	})
	if err != nil {
		return Derived{}, err
	}
	return e.derived, nil
}

func (ev *Evaluator) shapesOf(compiled *cel.CompilationResult, expression string, derived bool) *shapesOf {
	if ev.Shapes == nil {
		return nil
	}
	return ev.Shapes.of(ev.Cache, compiled.Environment, expression, derived)
}

// onEach says for each device that the entry has not been asked about what comes
// out for it, evaluating where the shape is not known yet. Its error is the
// context's; what was found until then stays in the entry.
func (ev *Evaluator) onEach(ctx context.Context, e *memoEntry, devices Devices, shapes *shapesOf, evaluate func(cel.Device) (shape, error), met func(device int, met shape)) error {
	var key []byte
	for device := int(e.done.Load()); device < devices.Len(); device++ {
		comparable := false
		if shapes != nil {
			key, comparable = shapes.reads.appendKey(key[:0], devices.At(device), devices.DriverName())
		}
		outcome, known := shape{}, false
		if comparable {
			outcome, known = shapes.get(key)
		}
		if !known {
			ev.Evaluations.Add(1)
			var err error
			outcome, err = evaluate(input(devices, device))
			if err != nil && ctx.Err() != nil {
				return context.Cause(ctx)
			}
			outcome.fault = err != nil
			if comparable {
				shapes.put(key, outcome)
			}
		}
		met(device, outcome)
		e.done.Store(int64(device + 1))
	}
	return nil
}

// Reason evaluates a selector again on a device of a Fault set and returns why
// it fails. compile tells a failure to compile from one at run time.
func (ev *Evaluator) Reason(ctx context.Context, expression string, devices Devices, device int) (err error, compile bool) {
	compiled, err := ev.compile(expression)
	if err != nil {
		return err, true
	}
	evaluate := func(device cel.Device) error {
		ev.Evaluations.Add(1)
		_, _, err := compiled.DeviceMatches(ctx, device)
		return err
	}
	err = firstByName(input(devices, device), evaluate)
	if err == nil {
		return nil, false
	}
	return cel.EnhanceRuntimeError(err), false
}

// firstByName evaluates on a device and returns the error, if any. Where several
// attributes cannot be converted, the cel package reports the one that map
// order brings up; this reports the first by name.
func firstByName(device cel.Device, evaluate func(cel.Device) error) error {
	err := evaluate(device)
	if err == nil || !strings.HasPrefix(err.Error(), "attribute ") {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(device.Attributes)) {
		alone := device
		alone.Attributes = map[resourceapi.QualifiedName]resourceapi.DeviceAttribute{name: device.Attributes[name]}
		if err := evaluate(alone); err != nil && strings.HasPrefix(err.Error(), "attribute "+string(name)+": ") {
			return err
		}
	}
	return err
}

// DerivedReason is Reason for a derived attribute.
func (ev *Evaluator) DerivedReason(ctx context.Context, expression string, devices Devices, device int) (err error, compile bool) {
	compiled, err := ev.compileDerived(expression)
	if err != nil {
		return err, true
	}
	return firstByName(input(devices, device), func(device cel.Device) error {
		ev.Evaluations.Add(1)
		_, _, err := compiled.EvaluateDerivedAttribute(ctx, device)
		return err
	}), false
}

// errNoCache is the caller's mistake: an expression needs a compiler.
var errNoCache = fmt.Errorf("no CEL cache was given to NewAllocator")

func (ev *Evaluator) compile(expression string) (cel.CompilationResult, error) {
	if ev.Cache == nil {
		return cel.CompilationResult{}, errNoCache
	}
	compiled := ev.Cache.GetOrCompile(expression)
	if compiled.Error != nil {
		return compiled, compiled.Error
	}
	return compiled, nil
}

func (ev *Evaluator) compileDerived(expression string) (cel.CompilationResult, error) {
	if ev.Cache == nil {
		return cel.CompilationResult{}, errNoCache
	}
	compiled := ev.Cache.GetOrCompileDerivedAttribute(expression)
	if compiled.Error != nil {
		return compiled, compiled.Error
	}
	return compiled, nil
}

// input is all that an expression can see of a device; in particular not its name.
func input(devices Devices, device int) cel.Device {
	d := devices.At(device)
	return cel.Device{
		Driver:                   devices.DriverName(),
		AllowMultipleAllocations: d.AllowMultipleAllocations,
		Attributes:               d.Attributes,
		Capacity:                 d.Capacity,
	}
}
