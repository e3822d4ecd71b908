package search

import (
	"bytes"
	"hash/maphash"
)

// keys is a stack of keys. A node of the tree pushes what it has to remember
// while the walk is below it, looks among its own, and cuts the stack back when it
// is left. There are few keys a node, so a look goes through their hashes; those
// only save comparing, so that it decides nothing that their seed is random.
type keys struct {
	bytes []byte
	list  []keySpan
}

type keySpan struct {
	hash       uint64
	start, end int
}

var keySeed = maphash.MakeSeed()

// begin empties the stack for another search, and does not keep what a giant one
// needed.
func (k *keys) begin() {
	k.cut(0)
	if cap(k.bytes) > keptBytes {
		k.bytes = nil
	}
	if cap(k.list) > 2*keptKeys {
		k.list = nil
	}
}

func (k *keys) push(key []byte) {
	start := len(k.bytes)
	k.bytes = append(k.bytes, key...)
	k.list = append(k.list, keySpan{maphash.Bytes(keySeed, key), start, len(k.bytes)})
}

// has says whether the key is on the stack, no deeper than at from.
func (k *keys) has(from int, key []byte) bool {
	if from == len(k.list) {
		return false
	}
	hash := maphash.Bytes(keySeed, key)
	for _, span := range k.list[from:] {
		if span.hash == hash && bytes.Equal(k.bytes[span.start:span.end], key) {
			return true
		}
	}
	return false
}

// at returns the i-th key from below, which is valid until the next push.
func (k *keys) at(i int) []byte { return k.bytes[k.list[i].start:k.list[i].end] }

func (k *keys) len() int { return len(k.list) }

// cut takes all but the first n keys off the stack.
func (k *keys) cut(n int) {
	if n == len(k.list) {
		return
	}
	k.bytes = k.bytes[:k.list[n].start]
	k.list = k.list[:n]
}
