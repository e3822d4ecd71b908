//go:build unix

package state

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// lock waits for the lock of a file and returns what gives it back; the end of the
// process does so too. Any number may share it, or one has it alone.
func lock(name string, alone bool) (unlock func(), err error) {
	f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return nil, err
	}
	how := unix.LOCK_SH
	if alone {
		how = unix.LOCK_EX
	}
	for {
		err = unix.Flock(int(f.Fd()), how)
		if !errors.Is(err, unix.EINTR) {
			break
		}
	}
	if err != nil {
		f.Close()
		return nil, &os.PathError{Op: "lock", Path: name, Err: err}
	}
	return func() { f.Close() }, nil
}
