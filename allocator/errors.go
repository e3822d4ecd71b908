package allocator

import "errors"

// ErrFailedOnNode marks an error that concerns one node only: try the next.
var ErrFailedOnNode = errors.New("")
