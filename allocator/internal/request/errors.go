package request

import (
	"errors"
	"fmt"
)

// ErrFailedOnNode marks an error that concerns one node only. It has no text
// of its own.
var ErrFailedOnNode = errors.New("")

// ErrInvalidPools says that the claims do not fit, and that the slices of some
// pool that the node reaches contradict each other. It matches ErrFailedOnNode.
var ErrInvalidPools = fmt.Errorf("invalid resource pools were encountered%w", ErrFailedOnNode)

// InputError says that an object in the API server cannot be used. Another node
// does not help: the object has to be corrected.
type InputError struct {
	// Claim is namespace/name of the claim that was to be allocated.
	Claim string
	// Request is the request, or request/subrequest; empty where it is the claim as a whole.
	Request string
	// Class is the device class at fault; empty where it is not a class.
	Class string
	// Device is driver/pool/device at fault; empty where it is not one device.
	Device string
	// Slice is the ResourceSlice at fault; empty where it is not one slice.
	Slice string
	// Err is the whole sentence.
	Err error
}

func (e *InputError) Error() string { return e.Err.Error() }

func (e *InputError) Unwrap() error { return e.Err }

// errorf makes the error for a claim as a whole.
func (c *Claim) errorf(format string, args ...any) error {
	return &InputError{Claim: c.Name(), Err: fmt.Errorf("claim %s, %w", c.Name(), fmt.Errorf(format, args...))}
}

// errorf makes the error for one alternative.
func (a *Alternative) errorf(claim *Claim, format string, args ...any) error {
	return &InputError{
		Claim:   claim.Name(),
		Request: a.FullName(),
		Err:     fmt.Errorf("claim %s, request %s: %w", claim.Name(), a.Name, fmt.Errorf(format, args...)),
	}
}

// These are the caller's mistakes. They surface when a class is looked up.
var (
	errNoLister = errors.New("no class lister was given to NewAllocator")
	errNoClass  = errors.New("the class lister returned none")
)

// classError makes the error for a class that an alternative names and that
// cannot be had.
func (a *Alternative) classError(claim *Claim, class string, reason error) error {
	return &InputError{
		Claim:   claim.Name(),
		Request: a.FullName(),
		Class:   class,
		Err:     fmt.Errorf("claim %s, request %s: could not retrieve device class %s: %w", claim.Name(), a.Name, class, reason),
	}
}
