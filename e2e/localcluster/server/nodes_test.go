package server

import (
	"strings"
	"sync"
	"testing"

	"github.com/dray-dev/dray/e2e/hollow"
)

// TestANodeRunsUntilItHasEnded: no other is started on its folder before, and who stops
// it as well waits, too.
func TestANodeRunsUntilItHasEnded(t *testing.T) {
	stopped := make(chan struct{}, 2)
	n := &hollowNode{name: "a", node: &hollow.Node{}, stop: func() { stopped <- struct{}{} }, done: make(chan struct{})}
	h := &hollowNodes{dir: t.TempDir(), nodes: map[string]*hollowNode{"a": n}}
	var ending sync.WaitGroup
	for range 2 {
		ending.Go(func() {
			if !h.end("a") {
				t.Error("it did not run")
			}
		})
	}
	<-stopped
	<-stopped // both wait for it to end
	if _, err := h.start("a", nil); err == nil || !strings.Contains(err.Error(), "runs already") {
		t.Errorf("another was started beside it: %v", err)
	}
	close(n.done)
	ending.Wait()
	if _, err := h.start("a", nil); err == nil || strings.Contains(err.Error(), "runs already") { // it has no file
		t.Errorf("after it has ended: %v", err)
	}
	if h.end("a") {
		t.Error("it has ended twice")
	}
}
