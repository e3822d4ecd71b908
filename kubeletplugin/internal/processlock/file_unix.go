//go:build unix

package processlock

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// lockFile waits for the file's lock, which closing the file gives back.
func lockFile(path string) (*os.File, error) {
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	for {
		switch err := unix.Flock(int(file.Fd()), unix.LOCK_EX); {
		case err == nil:
			return file, nil
		case errors.Is(err, unix.EINTR):
		default:
			file.Close()
			return nil, os.NewSyscallError("flock", err)
		}
	}
}
