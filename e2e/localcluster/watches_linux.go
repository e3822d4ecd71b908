package localcluster

import (
	"errors"
	"fmt"
	"syscall"
)

// ServerWatches is how many inotify instances the servers use, with some to spare.
const ServerWatches = 10

// nodeWatches is how many a hollow node and its driver use.
const nodeWatches = 1

// ErrNoWatches: servers would not notice that files change, and say so in their logs
// only.
var ErrNoWatches = errors.New("raise the limits, for example with sysctl fs.inotify.max_user_instances=1024 and ulimit -n 4096")

// CheckWatches says whether that many inotify instances can be had, by taking them
// for a moment: what others of the same user have counts as well.
func CheckWatches(need int) error {
	var taken []int
	defer func() {
		for _, fd := range taken {
			_ = syscall.Close(fd)
		}
	}()
	for range need {
		fd, err := syscall.InotifyInit1(syscall.IN_CLOEXEC)
		if err != nil {
			return fmt.Errorf("only %d of the %d inotify instances that the cluster needs can be had (%w): %w", len(taken), need, err, ErrNoWatches)
		}
		taken = append(taken, fd)
	}
	return nil
}
