package localcluster

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
)

// ErrRunning: another program runs the cluster in the folder.
var ErrRunning = errors.New("a cluster runs in the folder already")

// lockWait is how long children of a program that was killed may take to die.
const lockWait = 5 * time.Second

// lockFolder takes the folder for this process. Children inherit the open file, and
// with it the lock: it is free only when the last of them is dead, so a program that
// starts after one that was killed meets none of its servers.
//
// The file holds the number of the process, for people and for [End].
func lockFolder(ctx context.Context, dir folder) (*os.File, error) {
	file, err := os.OpenFile(dir.path("lock"), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("lock the folder: %w", err)
	}
	err = wait.PollUntilContextTimeout(ctx, poll, lockWait, true, func(context.Context) (bool, error) {
		err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if errors.Is(err, syscall.EWOULDBLOCK) {
			// A live owner will not go away; only one that died leaves the lock soon.
			if owner, ok := readOwner(dir); ok && alive(owner) {
				return false, fmt.Errorf("%w: process %d has %s", ErrRunning, owner, dir)
			}
			return false, nil
		}
		return err == nil, err
	})
	if err == nil {
		err = writeOwner(file)
	}
	if err != nil {
		_ = file.Close()
		if wait.Interrupted(err) && ctx.Err() == nil {
			err = fmt.Errorf("%w: servers of it are still there in %s", ErrRunning, dir)
		}
		return nil, err
	}
	return file, nil
}

func writeOwner(file *os.File) error {
	if err := file.Truncate(0); err != nil {
		return err
	}
	_, err := file.WriteAt([]byte(strconv.Itoa(os.Getpid())+"\n"), 0)
	return err
}

func readOwner(dir folder) (pid int, ok bool) {
	content, err := os.ReadFile(dir.path("lock"))
	if err != nil {
		return 0, false
	}
	pid, err = strconv.Atoi(strings.TrimSpace(string(content)))
	return pid, err == nil && pid > 0
}

func alive(pid int) bool {
	err := syscall.Kill(pid, 0)
	return err == nil || errors.Is(err, syscall.EPERM)
}

// isFree says whether nobody has the folder.
func isFree(dir folder) (bool, error) {
	file, err := os.Open(dir.path("lock"))
	if errors.Is(err, fs.ErrNotExist) {
		return true, nil
	} else if err != nil {
		return false, err
	}
	defer file.Close()
	err = syscall.Flock(int(file.Fd()), syscall.LOCK_SH|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return false, nil
	}
	return err == nil, err
}
