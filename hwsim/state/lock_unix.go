//go:build unix

package state

import (
	"errors"
	"fmt"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// lock waits for the lock of a file and returns what gives it back; the end of the
// process does so too. Any number may share it, or one has it alone. The error
// matches ErrLocked if nobody gave it back for as long as the patience. The file is
// made if it is missing, but for who only reads: then nobody writes, and there is
// nothing to wait for.
func lock(name string, alone, reads bool, patience time.Duration) (unlock func(), err error) {
	flag := os.O_RDWR | os.O_CREATE
	if reads {
		flag = os.O_RDONLY
	}
	f, err := os.OpenFile(name, flag, 0o644)
	if reads && errors.Is(err, os.ErrNotExist) {
		return func() {}, nil
	}
	if err != nil {
		return nil, err
	}
	how := unix.LOCK_SH
	if alone {
		how = unix.LOCK_EX
	}
	err = flock(f, how|unix.LOCK_NB)
	if errors.Is(err, unix.EWOULDBLOCK) {
		var late <-chan error
		if late, err = wait(f, how, patience); late != nil {
			go func() {
				<-late
				f.Close() // gives back what it may have got
			}()
			return nil, fmt.Errorf("%w %s, and has not given it back for %s: end that process, or let it go on (fuser names it)", ErrLocked, name, patience)
		}
	}
	if err != nil {
		f.Close()
		return nil, &os.PathError{Op: "lock", Path: name, Err: err}
	}
	return func() { f.Close() }, nil
}

// wait waits for a lock. If that takes too long, the channel is not nil and gets the
// outcome later: the kernel cannot be told to end the call.
func wait(f *os.File, how int, patience time.Duration) (late <-chan error, err error) {
	done := make(chan error, 1)
	go func() { done <- flock(f, how) }()
	timer := time.NewTimer(patience)
	defer timer.Stop()
	select {
	case err := <-done:
		return nil, err
	case <-timer.C:
		return done, nil
	}
}

func flock(f *os.File, how int) error {
	for {
		if err := unix.Flock(int(f.Fd()), how); !errors.Is(err, unix.EINTR) {
			return err
		}
	}
}
