package prepare

import (
	"context"
	"slices"
	"sync"
)

// keylocks exclude calls about the same thing. The zero value is ready for use.
type keylocks struct {
	mu    sync.Mutex
	locks map[string]*keylock
}

// keylock is there while somebody has it or waits for it.
type keylock struct {
	free  chan struct{} // has one element while nobody holds it
	users int
}

// lock waits for all keys, in an order that is the same for all, or until the
// context ends.
func (l *keylocks) lock(ctx context.Context, keys ...string) (unlock func(), err error) {
	keys = slices.Clone(keys)
	slices.Sort(keys)
	keys = slices.Compact(keys)
	for i, key := range keys {
		if err := l.one(ctx, key); err != nil {
			l.unlock(keys[:i])
			return nil, err
		}
	}
	return func() { l.unlock(keys) }, nil
}

func (l *keylocks) one(ctx context.Context, key string) error {
	l.mu.Lock()
	k := l.locks[key]
	if k == nil {
		if l.locks == nil {
			l.locks = map[string]*keylock{}
		}
		k = &keylock{free: make(chan struct{}, 1)}
		k.free <- struct{}{}
		l.locks[key] = k
	}
	k.users++
	l.mu.Unlock()
	select {
	case <-k.free:
		return nil
	case <-ctx.Done():
		l.leave(key, k)
		return context.Cause(ctx)
	}
}

func (l *keylocks) unlock(keys []string) {
	for _, key := range slices.Backward(keys) {
		l.mu.Lock()
		k := l.locks[key]
		l.mu.Unlock()
		k.free <- struct{}{}
		l.leave(key, k)
	}
}

func (l *keylocks) leave(key string, k *keylock) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if k.users--; k.users == 0 {
		delete(l.locks, key)
	}
}
