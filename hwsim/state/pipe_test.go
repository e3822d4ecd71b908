//go:build unix

package state_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/dray-dev/dray/hwsim/state"
)

func makePipe(name string) error { return unix.Mkfifo(name, 0o600) }

func TestWhoKeepsTheLockDoesNotKeepOthersForEver(t *testing.T) {
	f, clock := small(t)
	holder, err := os.Open(filepath.Join(f.Dir(), "lock"))
	must(t, err)
	defer holder.Close()
	must(t, unix.Flock(int(holder.Fd()), unix.LOCK_EX))
	impatient := []state.Option{state.WithClock(clock), state.WithPatience(time.Millisecond)}
	if _, err := state.Open(f.Dir(), impatient...); !errors.Is(err, state.ErrLocked) {
		t.Errorf("open: %v", err)
	}
	must(t, unix.Flock(int(holder.Fd()), unix.LOCK_UN))
	again, err := state.Open(f.Dir(), state.WithClock(clock), state.WithPatience(time.Hour)) // who gave up has no lock
	must(t, err)
	discovered(t, again)
}
