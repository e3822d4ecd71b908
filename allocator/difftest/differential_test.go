package difftest

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/dray-dev/dray/allocator/allocatortest"
)

// blockSize is the number of consecutive seeds that share an inventory.
const blockSize = 16

// maxReported bounds the differences that are shrunk and written. A bug of any
// reach shows in hundreds of cases.
const maxReported = 8

// TestDifferential compares ours with upstream on random cases. Its last line
// is the figure that the make target is about.
func TestDifferential(t *testing.T) {
	r := runFromEnvironment(t, &checker{newSubject: newOurs})
	t.Logf("seed %d", r.seed)
	r.start()
	r.cover()
	r.total.print(os.Stdout)
	for _, lack := range r.total.starved() {
		t.Error(lack)
	}
	if unreported := r.differences - len(r.reported); unreported > 0 {
		t.Errorf("%d more differences", unreported)
	}
	if r.total.cases == 0 {
		t.Error("no case was compared: ask for some with DRAY_DIFFTEST_CASES or DRAY_DIFFTEST_DURATION")
	}
	fmt.Printf("difftest: %d cases, %d differences\n", r.total.cases, r.differences)
}

// run is a differential test over a stream of seeds.
type run struct {
	checker  *checker
	fail     func(format string, args ...any) // reports a difference
	seed     uint64
	cases    int64
	deadline time.Time // zero without one
	folder   string    // for cases that differ; a temporary one if empty

	done        atomic.Int64 // cases in total
	nextBlock   atomic.Uint64
	mu          sync.Mutex
	total       *tally
	merged      uint64            // blocks in total: all before this one
	waiting     map[uint64]*tally // blocks that are done before one that comes first
	differences int
	reported    map[string]bool
}

func newRun(c *checker, cases int64, fail func(string, ...any)) *run {
	return &run{checker: c, fail: fail, seed: 1, cases: cases, total: newTally(), waiting: make(map[uint64]*tally), reported: make(map[string]bool)}
}

// defaultCases are for go test; with the race detector each takes ten times as
// long, so that -short has fewer.
func defaultCases() int64 {
	if testing.Short() {
		return 300
	}
	return 2000
}

func runFromEnvironment(t *testing.T, c *checker) *run {
	r := newRun(c, defaultCases(), t.Errorf)
	r.folder = os.Getenv("DRAY_DIFFTEST_FOLDER")
	if v := os.Getenv("DRAY_DIFFTEST_SEED"); v != "" {
		r.seed = parse(t, "DRAY_DIFFTEST_SEED", v, func(v string) (uint64, error) { return strconv.ParseUint(v, 10, 62) })
	}
	if v := os.Getenv("DRAY_DIFFTEST_CASES"); v != "" {
		r.cases = parse(t, "DRAY_DIFFTEST_CASES", v, func(v string) (int64, error) { return strconv.ParseInt(v, 10, 64) })
	}
	if v := os.Getenv("DRAY_DIFFTEST_DURATION"); v != "" {
		r.deadline = time.Now().Add(parse(t, "DRAY_DIFFTEST_DURATION", v, time.ParseDuration))
	}
	return r
}

func parse[V any](t *testing.T, name, text string, as func(string) (V, error)) V {
	v, err := as(text)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return v
}

func (r *run) start() {
	var workers sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		workers.Go(r.work)
	}
	workers.Wait()
}

func (r *run) finished() bool {
	if !r.deadline.IsZero() {
		return time.Now().After(r.deadline)
	}
	return r.done.Load() >= r.cases
}

func (r *run) work() {
	for !r.finished() {
		number := r.nextBlock.Add(1) - 1
		counts := newTally()
		r.block(r.seed+number*blockSize, counts)
		r.complete(number, counts)
	}
}

// complete adds blocks in their order, up to the one that makes the number of
// cases full: the same seed gives the same figures with any number of workers.
func (r *run) complete(number uint64, counts *tally) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.waiting[number] = counts
	for !r.finished() {
		next, done := r.waiting[r.merged]
		if !done {
			return
		}
		delete(r.waiting, r.merged)
		r.merged++
		r.total.merge(next)
		r.done.Store(int64(r.total.cases))
	}
}

// block checks the scenarios of consecutive seeds with one subject.
func (r *run) block(first uint64, counts *tally) {
	with := r.checker.newSubject()
	for seed := first; seed < first+blockSize && (int64(counts.cases) < r.cases || !r.deadline.IsZero()); seed++ {
		s := allocatortest.FromSeed(seed)
		verdicts := r.checker.check(context.Background(), s, with)
		counts.add(seed, s, verdicts)
		for _, v := range verdicts {
			if v.difference != "" {
				r.differs(first, seed, s, v)
			}
		}
	}
}

// attempts bounds the scenarios that are drawn for one pair of features.
const attempts = 400

// cover draws scenarios about the pairs of features that the stream of seeds
// did not bring together, until each has been seen. Only a long run does that.
func (r *run) cover() {
	if r.total.cases < coveredFrom {
		return
	}
	for _, pair := range r.total.rarestPairs() {
		about := allocatortest.ScenariosAbout(allocatortest.SetOf(pair[0], pair[1]))
		for seed := r.seed; r.total.pairs[pair].cases == 0 && seed < r.seed+attempts; seed++ {
			s := about.Example(int(seed))
			verdicts := r.checker.check(context.Background(), s, r.checker.newSubject())
			r.total.add(seed, s, verdicts)
			for _, v := range verdicts {
				if v.difference != "" {
					r.differs(seed, seed, s, v)
				}
			}
		}
	}
}

// differs records a difference and, for the first few, shrinks it.
func (r *run) differs(first, seed uint64, s *allocatortest.Scenario, v verdict) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.differences++
	if len(r.reported) >= maxReported {
		return
	}
	again := r.checker.check(context.Background(), s.Clone(), r.checker.newSubject())
	if find(again, v.node.Name) == nil {
		if key := "history"; !r.reported[key] {
			r.reported[key] = true
			r.fail("seed %d, node %s: differs only after the scenarios of seeds %d to %d with the same inventory\n%s",
				seed, v.node.Name, first, seed, v.difference)
		}
		return
	}
	small, last := r.checker.shrink(s, v)
	if r.reported[last.difference] {
		return
	}
	r.reported[last.difference] = true
	folder := r.write(seed, small, last)
	r.fail("seed %d, node %s: %s\nshrunk case in %s; reproduce with DRAY_DIFFTEST_SEED=%d DRAY_DIFFTEST_CASES=1",
		seed, last.node.Name, last.difference, folder, seed)
}

// find returns the verdict of a node if it has a difference.
func find(verdicts []verdict, node string) *verdict {
	for i := range verdicts {
		if verdicts[i].node.Name == node && verdicts[i].difference != "" {
			return &verdicts[i]
		}
	}
	return nil
}

// shrink keeps the node and the kind of the difference, so that it does not
// slip from one bug to another.
func (c *checker) shrink(s *allocatortest.Scenario, v verdict) (*allocatortest.Scenario, verdict) {
	kind := func(v verdict) string {
		return fmt.Sprintf("%.12s %s", v.difference, v.right.Class)
	}
	last := v
	small := allocatortest.Shrink(s, func(candidate *allocatortest.Scenario) bool {
		if candidate.Node(v.node.Name) == nil || len(candidate.Claims) == 0 {
			return false
		}
		found := find(c.check(context.Background(), candidate, c.newSubject()), v.node.Name)
		if found == nil || kind(*found) != kind(v) {
			return false
		}
		last = *found
		return true
	})
	return small, last
}

// write puts a shrunk case into a folder of its own.
func (r *run) write(seed uint64, s *allocatortest.Scenario, v verdict) string {
	if r.folder == "" {
		folder, err := os.MkdirTemp("", "difftest-")
		if err != nil {
			r.fail("folder for cases: %v", err)
			return "(not written)"
		}
		r.folder = folder
	}
	folder := filepath.Join(r.folder, fmt.Sprintf("seed-%d", seed))
	if err := writeCase(folder, r.checker, s, fmt.Sprintf("Found by make difftest, seed %d, node %s:\n%s", seed, v.node.Name, v.difference)); err != nil {
		r.fail("write case: %v", err)
	}
	return folder
}

// writeCase expects of each node what ours should answer there.
func writeCase(folder string, c *checker, s *allocatortest.Scenario, notes string) error {
	var right []allocatortest.Outcome
	for _, v := range c.check(context.Background(), s, c.newSubject()) {
		right = append(right, v.right)
	}
	e := allocatortest.ExpectOutcomes(filepath.Base(folder), s, right)
	e.Notes = notes
	return allocatortest.WriteCase(folder, s, e)
}
