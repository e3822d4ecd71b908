// Package selector evaluates CEL expressions on devices: the selectors of
// classes and requests, and derived attributes. It is the only package that
// evaluates CEL.
//
// An expression is compiled by the cel.Cache that the caller brings, because
// the cache knows which CEL features the cluster has. What it says about the
// devices of a pool is remembered with the pool, which is replaced when one of
// its devices changes: so an expression is evaluated once for a device that
// stays as it is, not once for each pod, node and request.
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

type memoEntry struct {
	mu      sync.Mutex
	done    bool
	verdict Verdict
	derived Derived
}

// maxEntries bounds what one pool remembers. A class and a request have at most
// 32 selectors each; a cluster uses a few dozen in all.
const maxEntries = 256

func (m *Memo) entry(key memoKey) *memoEntry {
	m.mu.Lock()
	defer m.mu.Unlock()
	e, ok := m.entries[key]
	if !ok {
		if m.entries == nil || len(m.entries) >= maxEntries {
			m.entries = make(map[memoKey]*memoEntry)
		}
		e = &memoEntry{}
		m.entries[key] = e
	}
	return e
}

// Verdict returns what a selector says about the devices. The only error is the
// context's: then nothing is remembered.
func (ev *Evaluator) Verdict(ctx context.Context, m *Memo, expression string, devices Devices) (Verdict, error) {
	e := m.entry(memoKey{cache: ev.Cache, expression: expression})
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.done {
		return e.verdict, nil
	}
	verdict := Verdict{Match: bitset.New(devices.Len())}
	compiled, err := ev.compile(expression)
	if err != nil {
		verdict.Fault = bitset.Full(devices.Len())
	} else {
		verdict.Fault, err = ev.onEach(ctx, devices, ev.shapesOf(&compiled, expression, false), func(input cel.Device) (met shape, err error) {
			met.match, _, err = compiled.DeviceMatches(ctx, input)
			return met, err
		}, func(device int, met shape) {
			if met.match {
				verdict.Match.Add(device)
			}
		})
		if err != nil {
			return Verdict{}, err
		}
	}
	e.verdict, e.done = verdict, true
	return verdict, nil
}

// Derived evaluates a derived attribute on the devices. The only error is the
// context's: then nothing is remembered.
func (ev *Evaluator) Derived(ctx context.Context, m *Memo, expression string, devices Devices) (Derived, error) {
	e := m.entry(memoKey{cache: ev.Cache, expression: expression, derived: true})
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.done {
		return e.derived, nil
	}
	derived := Derived{Attributes: make([]*resourceapi.DeviceAttribute, devices.Len())}
	compiled, err := ev.compileDerived(expression)
	if err != nil {
		derived.Fault = bitset.Full(devices.Len())
	} else {
		derived.Fault, err = ev.onEach(ctx, devices, ev.shapesOf(&compiled, expression, true), func(input cel.Device) (met shape, err error) {
			met.attribute, _, err = compiled.EvaluateDerivedAttribute(ctx, input)
			return met, err
		}, func(device int, met shape) {
			derived.Attributes[device] = met.attribute
		})
		if err != nil {
			return Derived{}, err
		}
	}
	e.derived, e.done = derived, true
	return derived, nil
}

func (ev *Evaluator) shapesOf(compiled *cel.CompilationResult, expression string, derived bool) *shapesOf {
	if ev.Shapes == nil {
		return nil
	}
	return ev.Shapes.of(ev.Cache, compiled.Environment, expression, derived)
}

// onEach evaluates on every device whose shape is not known yet, says what came
// out for each device without a fault, and returns those with one. Its error is
// the context's.
func (ev *Evaluator) onEach(ctx context.Context, devices Devices, shapes *shapesOf, evaluate func(cel.Device) (shape, error), met func(device int, met shape)) (bitset.Set, error) {
	fault := bitset.New(devices.Len())
	var key []byte
	for device := range devices.Len() {
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
				return nil, context.Cause(ctx)
			}
			outcome.fault = err != nil
			if comparable {
				shapes.put(key, outcome)
			}
		}
		if outcome.fault {
			fault.Add(device)
			continue
		}
		met(device, outcome)
	}
	return fault, nil
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
