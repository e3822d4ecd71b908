package allocatortest

import (
	"context"
	"errors"
	"fmt"

	resourceapi "k8s.io/api/resource/v1"
)

// Class is the kind of an answer. A scheduler treats each in its own way.
type Class int

const (
	Fits         Class = iota // results for every claim
	DoesNotFit                // no results, no error
	FailedOnNode              // an error that concerns this node only
	Failed                    // an error that aborts scheduling of the pod
	GaveUp                    // the context ended
	Panicked                  // a bug
)

var classNames = []string{"fits", "does not fit", "failed on node", "error", "gave up", "panic"}

func (c Class) String() string {
	if c < 0 || int(c) >= len(classNames) {
		return fmt.Sprintf("Class(%d)", int(c))
	}
	return classNames[c]
}

// MarshalText makes the class readable in expect.yaml.
func (c Class) MarshalText() ([]byte, error) { return []byte(c.String()), nil }

// UnmarshalText accepts what MarshalText writes.
func (c *Class) UnmarshalText(text []byte) error {
	for i, name := range classNames {
		if name == string(text) {
			*c = Class(i)
			return nil
		}
	}
	return fmt.Errorf("unknown class %q, use one of %q", text, classNames)
}

// Outcome is the answer of one allocator for one node.
type Outcome struct {
	Class   Class
	Text    string // of the error, if there was one
	Results []resourceapi.AllocationResult
}

// Observe runs an allocation and classifies what it returns. The error that
// marks a failure of one node only differs between implementations.
func Observe(failedOnNode error, allocate func() ([]resourceapi.AllocationResult, error)) (outcome Outcome) {
	defer func() {
		if r := recover(); r != nil {
			outcome = Outcome{Class: Panicked, Text: fmt.Sprint(r)}
		}
	}()
	results, err := allocate()
	switch {
	case err == nil && results == nil:
		return Outcome{Class: DoesNotFit}
	case err == nil:
		return Outcome{Class: Fits, Results: results}
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, context.Canceled):
		return Outcome{Class: GaveUp, Text: err.Error(), Results: results}
	case errors.Is(err, failedOnNode):
		return Outcome{Class: FailedOnNode, Text: err.Error(), Results: results}
	default:
		return Outcome{Class: Failed, Text: err.Error(), Results: results}
	}
}
