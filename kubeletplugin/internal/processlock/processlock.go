// Package processlock lets processes exclude each other by a file.
package processlock

import (
	"context"
	"os"
	"sync"
)

// Lock is held by the process while anything in it uses what the lock is of. It ends
// with the process, so nobody has to break it.
type Lock struct {
	path string
	// turn has one token, for whoever changes the rest.
	turn  chan struct{}
	mu    sync.Mutex // of users and file after the turn has been won
	users int
	file  *os.File
}

// New returns a lock that nobody in this process holds. The file is made when it is
// needed, and stays.
func New(path string) *Lock {
	l := &Lock{path: path, turn: make(chan struct{}, 1)}
	l.turn <- struct{}{}
	return l
}

// Acquire waits for other processes, until the context ends. Within the process
// any number may hold it.
func (l *Lock) Acquire(ctx context.Context) error {
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-l.turn:
	}
	l.mu.Lock()
	held := l.users > 0
	if held {
		l.users++
	}
	l.mu.Unlock()
	if held {
		l.turn <- struct{}{}
		return nil
	}
	return l.take(ctx)
}

// take gets the file's lock for the first user, who has the turn.
func (l *Lock) take(ctx context.Context) error {
	taken := make(chan error, 1)
	go func() { // the system call cannot be interrupted
		file, err := lockFile(l.path)
		if err == nil {
			l.mu.Lock()
			l.file = file
			l.users++
			l.mu.Unlock()
		}
		taken <- err
		l.turn <- struct{}{}
	}()
	select {
	case err := <-taken:
		return err
	case <-ctx.Done():
		go func() {
			if err := <-taken; err == nil {
				l.Release()
			}
		}()
		return context.Cause(ctx)
	}
}

// Release ends one use; the last one of the process lets others have it.
func (l *Lock) Release() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.users--; l.users == 0 {
		l.file.Close()
		l.file = nil
	}
}
