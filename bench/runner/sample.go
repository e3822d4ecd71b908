package runner

import (
	"context"
	"runtime"
	"time"

	"github.com/dray-dev/dray/bench/contender"
)

// sample is the mean over some iterations.
type sample struct {
	iterations    int
	nanoseconds   float64
	bytes, allocs float64
	work          contender.Work
}

// most is the largest number of iterations of one sample.
const most = 1_000_000

// batch is how many operations are prepared, and then timed, together: enough
// that reading the clock does not matter.
const batch = 16

// enough finds how many iterations take about as long as a sample should, from
// the second operation on: the first one is cold. What has to be prepared may
// take four times as long as that.
func enough(ctx context.Context, session *contender.Session, want time.Duration) (int, error) {
	for iterations := 1; ; {
		started := time.Now()
		took, err := repeat(ctx, session, iterations)
		if err != nil {
			return 0, err
		}
		if took >= want/2 || time.Since(started) > 4*want || iterations >= most {
			return iterations, nil
		}
		// At most a hundredfold, because a short measurement says little.
		iterations = max(iterations+1, min(100*iterations, most, int(float64(iterations)*float64(want)/float64(max(took, 1)))))
	}
}

// take measures one sample. It collects garbage before, so that no sample pays
// for what another one left.
func take(ctx context.Context, session *contender.Session, iterations int) (sample, error) {
	runtime.GC()
	took, err := repeat(ctx, session, iterations)
	if err != nil {
		return sample{}, err
	}
	s := sample{iterations: iterations, nanoseconds: float64(took.Nanoseconds()) / float64(iterations), work: session.Work()}
	s.bytes, s.allocs, err = allocations(ctx, session, min(iterations, 2*batch))
	return s, err
}

// repeat runs operations and returns how long they took without what prepares
// them. The context can end, as the scheduler's can. What operations answer is
// known to be right, so that only the context's end matters.
func repeat(ctx context.Context, session *contender.Session, iterations int) (took time.Duration, err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	for left := iterations; left > 0; left -= batch {
		n := min(batch, left)
		if err := session.Prepare(ctx, n); err != nil {
			return 0, err
		}
		started := time.Now()
		for range n {
			_, _ = session.Do(ctx)
		}
		took += time.Since(started)
	}
	return took, ctx.Err()
}

// allocations counts bytes and objects per operation. Reading the runtime's
// statistics stops the world, so these operations are not timed.
func allocations(ctx context.Context, session *contender.Session, iterations int) (bytes, objects float64, err error) {
	if err := session.Prepare(ctx, iterations); err != nil {
		return 0, 0, err
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for range iterations {
		_, _ = session.Do(ctx)
	}
	runtime.ReadMemStats(&after)
	per := func(total uint64) float64 { return float64(total) / float64(iterations) }
	return per(after.TotalAlloc - before.TotalAlloc), per(after.Mallocs - before.Mallocs), ctx.Err()
}
