package state

import "time"

// Clock tells the time and waits.
type Clock interface {
	Now() time.Time
	// After returns a channel that receives once, after d.
	After(d time.Duration) <-chan time.Time
}

// SystemClock is the clock of the machine that the program runs on. Processes that
// share a folder must agree on the time.
type SystemClock struct{}

// Now is time.Now, without the monotonic part, which files do not keep.
func (SystemClock) Now() time.Time { return time.Now().UTC().Round(0) }

// After is time.After.
func (SystemClock) After(d time.Duration) <-chan time.Time { return time.After(d) }
