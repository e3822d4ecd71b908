package plugin

import (
	"sync"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
)

// slowWatch is a watch of the fake API's tracker that can be behind, and that gives
// deletions a version of their own as a server does.
type slowWatch struct {
	watch.Interface
	out     chan watch.Event
	stopped chan struct{}
	once    sync.Once
}

func newSlowWatch(api *fakeAPI, inner watch.Interface) *slowWatch {
	w := &slowWatch{Interface: inner, out: make(chan watch.Event), stopped: make(chan struct{})}
	go func() {
		defer close(w.out)
		for event := range inner.ResultChan() {
			if event.Type == watch.Deleted {
				event.Object = event.Object.DeepCopyObject()
				if accessor, err := meta.Accessor(event.Object); err == nil {
					accessor.SetResourceVersion(api.deletedAt(accessor.GetUID(), accessor.GetResourceVersion()))
				}
			}
			select {
			case <-api.mayPass():
			case <-w.stopped:
				return
			}
			select {
			case w.out <- event:
			case <-w.stopped:
				return
			}
		}
	}()
	return w
}

func (w *slowWatch) ResultChan() <-chan watch.Event { return w.out }

func (w *slowWatch) Stop() {
	w.once.Do(func() { close(w.stopped) })
	w.Interface.Stop()
}

// slow is what the API knows of its watches.
type slow struct {
	mu      sync.Mutex
	deleted map[types.UID]string
	gate    chan struct{} // closed while events may pass; nil means that, too
}

func (s *slow) deletedAt(uid types.UID, otherwise string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if version := s.deleted[uid]; version != "" {
		return version
	}
	return otherwise
}

func (s *slow) noteDeletion(uid types.UID, version string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.deleted == nil {
		s.deleted = map[types.UID]string{}
	}
	s.deleted[uid] = version
}

func (s *slow) mayPass() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.gate == nil {
		s.gate = make(chan struct{})
		close(s.gate)
	}
	return s.gate
}

// hold keeps events from the informer until release. One that is on its way passes.
func (s *slow) hold() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.gate = make(chan struct{})
}

func (s *slow) release() {
	gate := s.mayPass()
	s.mu.Lock()
	defer s.mu.Unlock()
	select {
	case <-gate:
	default:
		close(s.gate)
	}
}

func (s *slow) holds() bool {
	select {
	case <-s.mayPass():
		return false
	default:
		return true
	}
}
