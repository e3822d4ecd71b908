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
	"bytes"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
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
	// Evaluations counts evaluations of an expression on a device; Total, if it is
	// not nil, counts those of other evaluators as well.
	Evaluations atomic.Int64
	Total       *atomic.Int64
}

func (ev *Evaluator) count() {
	ev.Evaluations.Add(1)
	if ev.Total != nil {
		ev.Total.Add(1)
	}
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

// Verdict returns what a selector says about the devices. The only error is the
// context's: then what was found so far is remembered, and the next call goes on
// from there.
func (ev *Evaluator) Verdict(ctx context.Context, m *Memo, expression string, devices Devices) (Verdict, error) {
	key := memoKey{cache: ev.Cache, expression: expression}
	verdict, e := m.verdictOrEntry(key)
	if e == nil {
		return verdict, nil
	}
	if err := e.acquire(ctx); err != nil {
		return Verdict{}, err
	}
	defer e.release()
	if e.complete {
		return e.verdict, nil
	}
	n := devices.Len()
	if e.verdict.Match == nil {
		bitset.Split(bitset.Words(n), &e.verdict.Match, &e.verdict.Fault)
	}
	compiled, err := ev.compile(expression)
	if err != nil {
		e.verdict.Fault.Fill(n)
		m.finish(e)
		return e.verdict, nil
	}
	err = ev.onEach(ctx, m, e, devices, ev.shapesOf(&compiled, expression, false), func(input cel.Device) (met shape, err error) {
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
	m.finish(e)
	return e.verdict, nil
}

// Derived evaluates a derived attribute on the devices. The only error is the
// context's: then what was found so far is remembered, and the next call goes on
// from there.
func (ev *Evaluator) Derived(ctx context.Context, m *Memo, expression string, devices Devices) (Derived, error) {
	_, e := m.verdictOrEntry(memoKey{cache: ev.Cache, expression: expression, derived: true})
	if err := e.acquire(ctx); err != nil {
		return Derived{}, err
	}
	defer e.release()
	n := devices.Len()
	if e.derived.Fault == nil {
		e.derived = Derived{Attributes: make([]*resourceapi.DeviceAttribute, n), Fault: bitset.New(n)}
	}
	if e.done == n {
		return e.derived, nil
	}
	compiled, err := ev.compileDerived(expression)
	if err != nil {
		e.derived.Fault, e.done = bitset.Full(n), n
		return e.derived, nil
	}
	err = ev.onEach(ctx, m, e, devices, ev.shapesOf(&compiled, expression, true), func(input cel.Device) (met shape, err error) {
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
func (ev *Evaluator) onEach(ctx context.Context, m *Memo, e *memoEntry, devices Devices, shapes *shapesOf, evaluate func(cel.Device) (shape, error), met func(device int, met shape)) error {
	var (
		writer keys
		odd    bitset.Set
		// Most devices are like the one before.
		before  []byte
		outcome shape
	)
	if shapes != nil {
		odd = m.oddDevices(devices)
	}
	for ; e.done < devices.Len(); e.done++ {
		comparable, known := shapes != nil && (len(odd) == 0 || !odd.Has(e.done)), false
		var key []byte
		if comparable {
			key = writer.of(&shapes.reads, devices.At(e.done), devices.DriverName())
			if known = bytes.Equal(key, before); !known {
				outcome, known = shapes.get(key)
			}
		}
		if !known {
			ev.count()
			var err error
			outcome, err = evaluate(input(devices, e.done))
			if err != nil && ctx.Err() != nil {
				return context.Cause(ctx)
			}
			outcome.fault = err != nil
			if comparable {
				shapes.put(key, outcome)
			}
		}
		met(e.done, outcome)
		if before = before[:0]; comparable {
			before = append(before, key...)
		}
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
		ev.count()
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
		ev.count()
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
