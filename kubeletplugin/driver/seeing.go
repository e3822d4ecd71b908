package driver

import (
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/dray-dev/dray/kubeletplugin/watch"
)

// lookPatience is how long a look at the hardware may take. A library that hangs does
// not say so.
const lookPatience = time.Minute

// seeing is whether the driver can look at its hardware. The zero value has not looked.
type seeing struct {
	mu sync.Mutex
	// began is when the look that runs began, zero if none does.
	began time.Time
	// blind is why the last look saw nothing, since when that is so.
	blind error
	since time.Time
}

func (s *seeing) begin(now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.began = now
}

// end says whether the look that runs has seen anything.
func (s *seeing) end(blind error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.blind == nil {
		s.since = s.began
	}
	s.blind, s.began = blind, time.Time{}
}

func (s *seeing) now(now time.Time) (lasted time.Duration, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.blind != nil:
		return now.Sub(s.since), s.blind
	case !s.began.IsZero() && now.Sub(s.began) > lookPatience:
		return now.Sub(s.began), fmt.Errorf("a look at it began at %s and does not end", s.began.UTC().Format(time.RFC3339))
	}
	return 0, nil
}

// Seeing fails while the driver cannot find out which hardware there is, and says for
// how long it has not. Hardware that was never there is not missed.
func (d *Driver) Seeing() (lasted time.Duration, err error) {
	lasted, err = d.seeing.now(d.options.Clock.Now())
	if err != nil {
		err = fmt.Errorf("the hardware cannot be seen: %w", err)
	}
	return lasted, err
}

func blind(watchers []watch.Watcher) error {
	var errs []error
	for _, watcher := range watchers {
		errs = append(errs, watcher.Blind())
	}
	return errors.Join(errs...)
}
