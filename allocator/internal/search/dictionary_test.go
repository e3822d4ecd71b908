package search

import (
	"encoding/binary"
	"math/rand/v2"
	"testing"
)

// A dictionary answers as a map does, whatever was in it before, and needs no
// memory for what it has held once.
func TestDictionaryAgreesWithAMap(t *testing.T) {
	const seed, rounds = 1, 50
	rng := rand.New(rand.NewPCG(seed, 0))
	var d dictionary
	for round := range rounds {
		d.begin()
		numbers := make(map[string]int32)
		for range rng.IntN(3000) {
			key := binary.AppendUvarint(nil, rng.Uint64N(2000))
			key = key[:rng.IntN(len(key)+1)]
			want, known := numbers[string(key)]
			got, found := d.find(key)
			if found != known || found && got != want {
				t.Fatalf("seed %d, round %d: key %x is %d, %v, want %d, %v", seed, round, key, got, found, want, known)
			}
			if !known {
				numbers[string(key)] = int32(len(numbers))
				if got := d.add(key); got != numbers[string(key)] {
					t.Fatalf("seed %d, round %d: key %x is number %d, want %d", seed, round, key, got, numbers[string(key)])
				}
			}
		}
		if d.len() != len(numbers) {
			t.Fatalf("seed %d, round %d: %d keys, want %d", seed, round, d.len(), len(numbers))
		}
	}
}

func TestAnEmptiedDictionaryNeedsNoMemory(t *testing.T) {
	if raceDetector {
		t.Skip("the race detector allocates")
	}
	var d dictionary
	fill := func() {
		d.begin()
		for i := range keptKeys / 2 {
			var key [4]byte
			binary.LittleEndian.PutUint32(key[:], uint32(i))
			if _, found := d.find(key[:]); !found {
				d.add(key[:])
			}
		}
	}
	fill()
	if allocations := testing.AllocsPerRun(1, fill); allocations != 0 {
		t.Errorf("%v allocations for the keys that it has held before", allocations)
	}
	for i := range 3 * keptKeys {
		d.add(binary.AppendUvarint([]byte("giant"), uint64(i)))
	}
	if d.begin(); d.spans != nil || d.slots != nil {
		t.Errorf("it keeps room for %d keys, which is more than a search may leave behind", cap(d.spans))
	}
}
