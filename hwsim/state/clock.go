package state

import (
	"sync/atomic"
	"time"
)

// Clock tells the time and waits.
type Clock interface {
	Now() time.Time
	// After returns a channel that receives once, after d.
	After(d time.Duration) <-chan time.Time
}

// SystemClock is the clock of the machine that the program runs on. Processes that
// share a folder should agree on the time; a folder bears it when they do not, but then
// things can happen too soon. It bears it when the time is set back.
type SystemClock struct{}

// Now is time.Now, without the monotonic part, which files do not keep.
func (SystemClock) Now() time.Time { return time.Now().UTC().Round(0) }

// After is time.After.
func (SystemClock) After(d time.Duration) <-chan time.Time { return time.After(d) }

// clockTolerance is how far the clock may be behind the folder before the folder
// stops to wait for it: clocks of processes differ by a little, and are slewed.
const clockTolerance = time.Second

// folderClock is the time of a folder, which never goes back behind a transaction
// and never stands still for longer than clockTolerance:
//
//  1. Where the clock below is not behind the document, it is the folder's time.
//  2. Where it is, somebody has set it back. The folder's time goes on from the
//     document's at the clock's pace: it is ahead of the clock by document.Ahead,
//     until 1 holds again.
//  3. Then it goes back by as much, and with it goes all that is still to come
//     (document.hasten): nothing has to wait for that time once more.
//
// So what is to happen in a second happens in a second, whatever the clock says.
type folderClock struct {
	Clock
	ahead atomic.Int64 // nanoseconds, of the document that was read last
}

// Now is the folder's time.
func (c *folderClock) Now() time.Time { return c.Clock.Now().Add(time.Duration(c.ahead.Load())) }

// follow takes over how far a document's time is ahead, and says how far it has to
// be: another number than the document's wants to be written.
func (c *folderClock) follow(d *document) (ahead time.Duration) {
	now := c.Clock.Now()
	switch {
	case !now.Before(d.Time):
	case now.Add(d.Ahead).Before(d.Time.Add(-clockTolerance)):
		ahead = d.Time.Sub(now)
	default:
		ahead = d.Ahead
	}
	c.ahead.Store(int64(ahead))
	return ahead
}

// stopwatch adds up time that has passed, by a clock that may be set meanwhile: who
// has waited for a second has a second behind him, whatever the clock says.
type stopwatch struct {
	clock  Clock
	last   time.Time
	passed time.Duration
}

func newStopwatch(clock Clock) *stopwatch { return &stopwatch{clock: clock, last: clock.Now()} }

// look counts what has passed, which is at least so much.
func (s *stopwatch) look(atLeast time.Duration) time.Duration {
	now := s.clock.Now()
	s.passed += max(now.Sub(s.last), atLeast)
	s.last = now
	return s.passed
}
