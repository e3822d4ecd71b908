package search

import (
	"bytes"
	"hash/maphash"
	"math/bits"
)

// dictionary numbers byte strings from 0 in the order in which they are added.
// It is a map that can be emptied without giving its memory up, which the maps of
// the language cannot promise: those place their keys anew each time, by another
// seed, and may grow. Here the memory needed depends on the keys alone, so a
// search that is repeated allocates none. The zero value is empty.
//
// Invariants:
//
//  1. spans[i] is where key i is in bytes, and its hash.
//  2. slots is a power of two of numbers plus one, 0 for free ones, more than half
//     of them free. A key is in the first slot from that of its hash on that was
//     free when it came.
type dictionary struct {
	bytes []byte
	spans []keySpan
	slots []int32
}

// keptBytes and keptKeys bound the memory that one kind of keys may hold on to
// between searches.
const (
	keptBytes = 1 << 18
	keptKeys  = 1 << 12
)

// begin empties the dictionary, and does not keep what a giant search needed.
func (d *dictionary) begin() {
	if cap(d.bytes) > keptBytes {
		d.bytes = nil
	}
	if cap(d.spans) > 2*keptKeys {
		d.spans, d.slots = nil, nil
	}
	if len(d.spans) > 0 {
		clear(d.slots)
	}
	d.bytes, d.spans = d.bytes[:0], d.spans[:0]
}

func (d *dictionary) len() int { return len(d.spans) }

// find returns the number of a key.
func (d *dictionary) find(key []byte) (number int32, found bool) {
	if len(d.spans) == 0 {
		return 0, false
	}
	hash := maphash.Bytes(keySeed, key)
	for slot := d.slot(hash); d.slots[slot] != 0; slot = (slot + 1) & (len(d.slots) - 1) {
		span := &d.spans[d.slots[slot]-1]
		if span.hash == hash && bytes.Equal(d.bytes[span.start:span.end], key) {
			return d.slots[slot] - 1, true
		}
	}
	return 0, false
}

// add returns the number of a key that is not there yet.
func (d *dictionary) add(key []byte) int32 {
	if 2*(len(d.spans)+1) > len(d.slots) {
		d.grow()
	}
	start := len(d.bytes)
	d.bytes = append(d.bytes, key...)
	d.spans = append(d.spans, keySpan{maphash.Bytes(keySeed, key), start, len(d.bytes)})
	d.place(len(d.spans) - 1)
	return int32(len(d.spans) - 1)
}

func (d *dictionary) grow() {
	d.slots = make([]int32, max(16, 2*len(d.slots)))
	for i := range d.spans {
		d.place(i)
	}
}

func (d *dictionary) place(number int) {
	slot := d.slot(d.spans[number].hash)
	for d.slots[slot] != 0 {
		slot = (slot + 1) & (len(d.slots) - 1)
	}
	d.slots[slot] = int32(number) + 1
}

// slot is where a hash belongs: its highest bits.
func (d *dictionary) slot(hash uint64) int {
	return int(hash >> (64 - bits.TrailingZeros(uint(len(d.slots)))))
}
