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
type Memo struct {
	mu       sync.Mutex
	verdicts []knownVerdict
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
	m.mu.Lock()
	defer m.mu.Unlock()
	if i := m.find(key); i >= 0 {
		return m.verdicts[i].verdict, nil
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

// find returns the place of a complete verdict, -1 if it is not there.
func (m *Memo) find(key memoKey) int {
	if key.derived {
		return -1
	}
	for i := range m.verdicts {
		if known := &m.verdicts[i]; known.cache == key.cache && known.expression == key.expression {
			return i
		}
	}
	return -1
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
	if m.find(e.key) >= 0 {
		return // The entry was forgotten, and another has been faster.
	}
	if len(m.verdicts) >= maxEntries {
		m.verdicts = nil
	}
	// Grown by one: most pools are asked about as many expressions as all others.
	grown := make([]knownVerdict, len(m.verdicts)+1)
	copy(grown, m.verdicts)
	grown[len(m.verdicts)] = knownVerdict{cache: e.key.cache, expression: e.key.expression, verdict: e.verdict}
	m.verdicts = grown
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
