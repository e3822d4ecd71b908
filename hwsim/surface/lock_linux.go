package surface

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// lock locks a directory without waiting, until it is unlocked or the process
// ends. The error is errLocked, or another where the file system has no locks.
func lock(dir string) (unlock func(), err error) {
	f, err := os.Open(dir)
	if errors.Is(err, os.ErrNotExist) {
		return nil, errLocked
	}
	if err != nil {
		return nil, err
	}
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		f.Close()
		if errors.Is(err, unix.EWOULDBLOCK) {
			err = errLocked
		}
		return nil, err
	}
	held, err := f.Stat()
	there, thereErr := os.Lstat(dir)
	if err != nil || thereErr != nil || !os.SameFile(held, there) {
		f.Close()
		return nil, errLocked
	}
	return func() { f.Close() }, nil
}

// exchange lets two names change places, at once.
func exchange(a, b string) error {
	return os.NewSyscallError("renameat2", unix.Renameat2(unix.AT_FDCWD, a, unix.AT_FDCWD, b, unix.RENAME_EXCHANGE))
}

// cannotExchange says whether a kernel or file system has no exchange.
func cannotExchange(err error) bool {
	return errors.Is(err, errors.ErrUnsupported) || errors.Is(err, unix.EINVAL)
}

// isMountPoint says whether a rename failed because something is mounted there.
func isMountPoint(err error) bool { return errors.Is(err, unix.EBUSY) || errors.Is(err, unix.EXDEV) }
