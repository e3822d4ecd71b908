package metamorphic

import (
	"fmt"
	"os"
	"runtime"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
)

// defaultSeed is fixed, so that a commit is not blamed for what it has not done.
const defaultSeed = 1

func TestMetamorphic(t *testing.T) {
	count := fromEnvironment(t, "DRAY_METAMORPHIC_HISTORIES", defaultHistories)
	seed := fromEnvironment(t, "DRAY_METAMORPHIC_SEED", defaultSeed)
	stats := new(statistics)
	if h := firstFailing(seed, count, ours, stats); h != nil {
		report(t, h)
		return
	}
	t.Log(stats)
	// Too short a run proves nothing about shares; it is for one seed then.
	if starved := stats.starved(); starved != "" && count >= 100 {
		t.Errorf("too few: %s", starved)
	}
	fmt.Printf("metamorphic: %d histories, %d steps, 0 differences\n", count, stats.steps)
}

func fromEnvironment(t *testing.T, name string, otherwise uint64) uint64 {
	t.Helper()
	text, ok := os.LookupEnv(name)
	if !ok || text == "" {
		return otherwise
	}
	value, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return value
}

// firstFailing lives through histories with count seeds and returns the one
// with the lowest seed that fails, or nil.
func firstFailing(seed, count uint64, create func() subject, stats *statistics) *history {
	var next atomic.Uint64
	var mu sync.Mutex
	var first *history
	var group sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		group.Go(func() {
			for {
				i := next.Add(1) - 1
				mu.Lock()
				done := i >= count || first != nil
				mu.Unlock()
				if done {
					return
				}
				h := newHistory(seed + i)
				if h.live(create, stats) == nil {
					continue
				}
				mu.Lock()
				if first == nil || h.seed < first.seed {
					first = h
				}
				mu.Unlock()
			}
		})
	}
	group.Wait()
	return first
}

// report shrinks a failing history and prints it.
func report(t *testing.T, h *history) {
	t.Helper()
	again := fmt.Sprintf("to run it again: DRAY_METAMORPHIC_SEED=%d DRAY_METAMORPHIC_HISTORIES=1 make metamorphic", h.seed)
	short, f := shrink(h, ours)
	if f == nil {
		t.Errorf("history %d failed once and not again: callers at once get in each other's way\n%s", h.seed, again)
		return
	}
	t.Errorf("history %d, shrunk from %d steps to %d\n%s\n%s\n%s", h.seed, len(h.steps), len(short.steps), short.text(f.taken), f, again)
}
