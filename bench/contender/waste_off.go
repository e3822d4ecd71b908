//go:build !draygate_waste

package contender

// wasteful returns the allocator as it is.
func wasteful(a allocating, _ func() (allocating, error)) allocating { return a }
