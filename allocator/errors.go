package allocator

import (
	"errors"
	"fmt"

	"github.com/dray-dev/dray/allocator/internal/request"
)

// ErrFailedOnNode marks an error that concerns only the node that was asked
// about: the scheduler should try others and use the text as the node's reason.
// It has no text of its own. Upstream's counterpart is ErrFailedAllocationOnNode.
var ErrFailedOnNode = request.ErrFailedOnNode

// ErrGaveUp marks an error of a search that its context ended. The context's
// cause is in the chain, too. The text is upstream's.
var ErrGaveUp = errors.New("filter operation aborted")

// InputError says that an object cannot be used: a claim, a class, or a device
// on which one of their expressions fails. Its fields name the objects, its
// text is the whole sentence. No node helps until the object is corrected.
type InputError = request.InputError

// InternalError is a panic while allocating: a defect of this package, or of the
// class lister that it was given. The state of the cluster is not affected and
// nothing half done is kept; the pod can be retried. Stack says where.
type InternalError struct {
	// Cause is what was panicked with.
	Cause any
	// Stack is where.
	Stack []byte
}

func (e *InternalError) Error() string {
	return fmt.Sprintf("panic while allocating, a defect (please report it with the stack): %v", e.Cause)
}

// gaveUp wraps the cause that ended a context.
func gaveUp(cause error) error { return fmt.Errorf("%w: %w", ErrGaveUp, cause) }
