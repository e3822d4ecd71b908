package selector

import (
	"context"
	"sync"
	"sync/atomic"

	"k8s.io/dynamic-resource-allocation/cel"

	"github.com/dray-dev/dray/allocator/internal/bitset"
)

// Memo remembers the verdicts and derived attributes of one pool's devices: it
// must always be used with those. Its zero value is empty. It is safe for
// concurrent use.
//
// A cluster has a pool for each node, and each is asked the same few
// expressions. So what is kept of a verdict is no more than its sets, in a list
// that is searched from the front, and what it takes to evaluate an expression
// goes when all devices have been asked.
//
// Invariants:
//
//  1. What is in the list of verdicts does not change, nor does what follows it
//     there: the list is read without mu, which is held to give it another front.
//  2. It has each expression at most once for a cache, and at most maxEntries.
type Memo struct {
	verdicts atomic.Pointer[knownVerdict]
	mu       sync.Mutex
	// entries are a list: derived attributes, and verdicts that are not complete.
	entries *memoEntry
	// odd are the devices with an attribute that cannot be converted; nil until
	// somebody needs to know.
	odd atomic.Pointer[bitset.Set]
}

// knownVerdict is one that is complete.
type knownVerdict struct {
	cache      *cel.Cache
	expression string
	verdict    Verdict
	next       *knownVerdict
}

type memoKey struct {
	cache      *cel.Cache
	expression string
	derived    bool
}

// memoEntry is what is known so far of one expression.
type memoEntry struct {
	key  memoKey
	next *memoEntry
	// lock has room for the one who evaluates: unlike a mutex it can be waited
	// for under a context. It guards what follows.
	lock chan struct{}
	// done is the number of devices that have been asked. A context that ends
	// leaves the others for the next caller, so that each gets further.
	done int
	// complete: verdict does not change any more.
	complete bool
	verdict  Verdict
	derived  Derived
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

// maxEntries bounds what one pool remembers, complete and not. A cluster uses a
// few dozen expressions; what is forgotten is made again from Shapes.
const maxEntries = 64

// verdictOrEntry returns a verdict that is complete, or else the entry to
// complete it in. Derived attributes stay in their entry.
func (m *Memo) verdictOrEntry(key memoKey) (Verdict, *memoEntry) {
	if known, _ := m.find(key); known != nil {
		return known.verdict, nil
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if known, _ := m.find(key); known != nil {
		return known.verdict, nil // It was completed meanwhile.
	}
	number := 0
	for e := m.entries; e != nil; e = e.next {
		if e.key == key {
			return Verdict{}, e
		}
		number++
	}
	if number >= maxEntries {
		m.entries = nil
	}
	m.entries = &memoEntry{key: key, next: m.entries, lock: make(chan struct{}, 1)}
	return Verdict{}, m.entries
}

// find returns a complete verdict, or nil and how many others there are.
func (m *Memo) find(key memoKey) (known *knownVerdict, others int) {
	if key.derived {
		return nil, 0
	}
	for known := m.verdicts.Load(); known != nil; known = known.next {
		if known.cache == key.cache && known.expression == key.expression {
			return known, 0
		}
		others++
	}
	return nil, others
}

// finish moves the verdict of an entry, whose lock the caller holds and in which
// all devices have been asked, among those that are complete.
func (m *Memo) finish(e *memoEntry) {
	bitset.Pack(&e.verdict.Match, &e.verdict.Fault)
	e.complete = true
	m.mu.Lock()
	defer m.mu.Unlock()
	for at := &m.entries; *at != nil; at = &(*at).next {
		if *at == e {
			*at = e.next
			break
		}
	}
	known, others := m.find(e.key)
	if known != nil {
		return // The entry was forgotten, and another has been faster.
	}
	next := m.verdicts.Load()
	if others >= maxEntries {
		next = nil
	}
	m.verdicts.Store(&knownVerdict{cache: e.key.cache, expression: e.key.expression, verdict: e.verdict, next: next})
}

// noneOdd stands for the usual case, in which all devices can be converted.
var noneOdd bitset.Set

// oddDevices returns the devices with an attribute that cannot be converted; a
// set without room means that there is none.
func (m *Memo) oddDevices(devices Devices) bitset.Set {
	if known := m.odd.Load(); known != nil {
		return *known
	}
	odd := &noneOdd
	for device := range devices.Len() {
		if convertibleDevice(devices.At(device)) {
			continue
		}
		if odd == &noneOdd {
			odd = new(bitset.Set)
			*odd = bitset.New(devices.Len())
		}
		odd.Add(device)
	}
	m.odd.Store(odd)
	return *odd
}
