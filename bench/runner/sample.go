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

// enough finds how many iterations take about as long as a sample should, from
// the second operation on: the first one is cold.
func enough(ctx context.Context, session *contender.Session, want time.Duration) (int, error) {
	for iterations := 1; ; {
		started := time.Now()
		if err := repeat(ctx, session, iterations); err != nil {
			return 0, err
		}
		took := time.Since(started)
		if took >= want/2 || iterations >= most {
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
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	started := time.Now()
	err := repeat(ctx, session, iterations)
	took := time.Since(started)
	runtime.ReadMemStats(&after)
	per := func(total float64) float64 { return total / float64(iterations) }
	return sample{
		iterations:  iterations,
		nanoseconds: per(float64(took.Nanoseconds())),
		bytes:       per(float64(after.TotalAlloc - before.TotalAlloc)),
		allocs:      per(float64(after.Mallocs - before.Mallocs)),
		work:        session.Work(),
	}, err
}

// repeat runs operations under a context that can end, as the scheduler's can.
// What they answer is known to be right, so that only the context's end matters.
func repeat(ctx context.Context, session *contender.Session, iterations int) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	for range iterations {
		_, _ = session.Do(ctx)
	}
	return ctx.Err()
}
