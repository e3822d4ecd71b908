package command

import (
	"errors"
	"strings"
	"testing"
	"time"

	"k8s.io/klog/v2"
	"k8s.io/klog/v2/ktesting"

	"github.com/dray-dev/dray/kubeletplugin/hardware"
)

// late is a library that is not there at first.
type late struct {
	hardware.GPULibrary
	err   error
	calls int
}

func (l *late) Init() error {
	l.calls++
	return l.err
}

type stopped struct{ now time.Time }

func (c *stopped) Now() time.Time                     { return c.now }
func (*stopped) After(time.Duration) <-chan time.Time { return nil }

// TestALibraryThatIsNotThereIsLookedForLessAndLessOften and that is said once.
func TestALibraryThatIsNotThereIsLookedForLessAndLessOften(t *testing.T) {
	logger := ktesting.NewLogger(t, ktesting.NewConfig(ktesting.BufferLogs(true)))
	clock := &stopped{now: time.Date(2030, 1, 1, 12, 0, 0, 0, time.UTC)}
	library := &late{err: hardware.ErrGPUDriverNotLoaded}
	p := newPatient(klog.NewContext(t.Context(), logger), library, clock)
	said := func() int {
		return strings.Count(logger.GetSink().(ktesting.Underlier).GetBuffer().String(), "INFO")
	}
	begin := clock.now
	var looked []string
	for clock.now.Sub(begin) < 2*time.Minute {
		before := library.calls
		if err := p.Init(); !errors.Is(err, hardware.ErrGPUDriverNotLoaded) {
			t.Fatal(err)
		}
		if library.calls > before {
			looked = append(looked, clock.now.Sub(begin).String())
		}
		clock.now = clock.now.Add(500 * time.Millisecond)
	}
	if got := strings.Join(looked, " "); got != "0s 1s 3s 7s 15s 31s 1m1s 1m31s" {
		t.Errorf("it was looked for at %s", got)
	}
	if said() != 1 {
		t.Errorf("it was said %d times", said())
	}
	library.err = nil
	clock.now = clock.now.Add(lastPause)
	for range 2 {
		if err := p.Init(); err != nil {
			t.Fatal(err)
		}
	}
	if said() != 2 {
		t.Errorf("with the end of it %d times", said())
	}
	library.err = hardware.ErrGPULost
	if err := p.Init(); !errors.Is(err, hardware.ErrGPULost) {
		t.Errorf("another error: %v", err)
	}
	if said() != 3 {
		t.Errorf("with another error %d times", said())
	}
}

// TestALibraryThatIsThereAndFailsIsSoonAskedAgain, but not at each call.
func TestALibraryThatIsThereAndFailsIsSoonAskedAgain(t *testing.T) {
	clock := &stopped{now: time.Date(2030, 1, 1, 12, 0, 0, 0, time.UTC)}
	library := &late{err: hardware.ErrGPUUnknown}
	p := newPatient(t.Context(), library, clock)
	begin := clock.now
	var asked []string
	for clock.now.Sub(begin) < 20*time.Second {
		before := library.calls
		if err := p.Init(); !errors.Is(err, hardware.ErrGPUUnknown) {
			t.Fatal(err)
		}
		if library.calls > before {
			asked = append(asked, clock.now.Sub(begin).String())
		}
		clock.now = clock.now.Add(500 * time.Millisecond)
	}
	if got := strings.Join(asked, " "); got != "0s 1s 3s 7s 11s 15s 19s" {
		t.Errorf("it was asked at %s", got)
	}
	clock.now, library.err = begin.Add(-time.Hour), nil
	if err := p.Init(); err != nil {
		t.Errorf("after the clock was set back: %v", err)
	}
}

func TestALibraryThatOnlyAnotherProcessCanLoadIsToldAtOnce(t *testing.T) {
	library := &late{err: errors.Join(hardware.ErrGPULibraryStale, hardware.ErrGPULibraryMismatch)}
	p := newPatient(t.Context(), library, &stopped{})
	var told error
	p.stale = func(err error) { told = err }
	if err := p.Init(); !errors.Is(err, hardware.ErrGPULibraryStale) || !errors.Is(told, hardware.ErrGPULibraryStale) {
		t.Errorf("it says %v, and told is %v", err, told)
	}
}
