package plugin

import (
	"context"
	"sync"

	"k8s.io/apimachinery/pkg/types"
)

// claimLocks let pods that share a claim write to it one after the other. Each adds
// itself to what is there, so of those that write at once all but one conflict, and a
// few hundred give up before it is their turn. The zero value is ready.
type claimLocks struct {
	mu    sync.Mutex
	locks map[types.UID]*claimLock
}

type claimLock struct {
	held  chan struct{} // has room for whoever holds the lock
	users int           // who hold it or wait; claimLocks.mu protects it
}

// lock waits for the claim's turn, or until ctx ends, which is the error.
func (l *claimLocks) lock(ctx context.Context, claim types.UID) (unlock func(), err error) {
	l.mu.Lock()
	lock := l.locks[claim]
	if lock == nil {
		if l.locks == nil {
			l.locks = map[types.UID]*claimLock{}
		}
		lock = &claimLock{held: make(chan struct{}, 1)}
		l.locks[claim] = lock
	}
	lock.users++
	l.mu.Unlock()
	select {
	case lock.held <- struct{}{}:
		return func() {
			<-lock.held
			l.leave(claim, lock)
		}, nil
	case <-ctx.Done():
		l.leave(claim, lock)
		return nil, context.Cause(ctx)
	}
}

func (l *claimLocks) leave(claim types.UID, lock *claimLock) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if lock.users--; lock.users == 0 {
		delete(l.locks, claim)
	}
}
