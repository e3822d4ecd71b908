package driver

import (
	"errors"
	"sync"
	"time"
)

// StopPatience is how long a driver that ends waits for the kubelet's calls that run:
// less than the 30 seconds that a pod is given to end.
const StopPatience = 20 * time.Second

// errStopping answers a call that comes too late. The kubelet tries again, and then
// there is another driver.
var errStopping = errors.New("the driver is being stopped")

// calls are those of the kubelet that run. Zero is none.
type calls struct {
	mu     sync.Mutex
	ending bool
	count  int
	ended  chan struct{} // closed when ending and count == 0
}

// begin counts a call until done is called, or fails with errStopping.
func (c *calls) begin() (done func(), err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ending {
		return nil, errStopping
	}
	c.count++
	return func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.count--
		if c.ending && c.count == 0 {
			close(c.ended)
		}
	}, nil
}

// end lets no calls begin any more. The channel is closed when the last has ended.
func (c *calls) end() <-chan struct{} {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.ending {
		c.ending, c.ended = true, make(chan struct{})
		if c.count == 0 {
			close(c.ended)
		}
	}
	return c.ended
}
