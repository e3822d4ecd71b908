package driver

import (
	"context"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

const (
	// StopPatience is how long a driver that ends waits for the kubelet's calls that
	// run: less than the 30 seconds that a pod is given to end.
	StopPatience = 20 * time.Second
	// answerTime is left for the last answer to be sent: the helper closes its
	// connections at once, and does not tell when an answer is out.
	answerTime = 250 * time.Millisecond
)

// errStopping answers a call that comes too late. The kubelet tries again, and then
// there is another driver.
var errStopping = status.Error(codes.Unavailable, "the driver is being stopped")

// calls are those of the kubelet that run. Zero is none.
type calls struct {
	mu     sync.Mutex
	ending bool
	count  int
	ended  chan struct{} // closed when ending and count == 0
}

// intercept counts a call from its beginning to its answer, with all that the helper
// does around the driver's part.
func (c *calls) intercept(ctx context.Context, request any, _ *grpc.UnaryServerInfo, handler grpc.UnaryHandler) (any, error) {
	done, err := c.begin()
	if err != nil {
		return nil, err
	}
	defer done()
	return handler(ctx, request)
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
