//go:build !linux

package surface

import "errors"

// Without locks what killed writers left stays, because nothing tells them from
// others; and two renames put a surface in its place.

func lock(string) (unlock func(), err error) { return nil, errors.ErrUnsupported }

func exchange(_, _ string) error { return errors.ErrUnsupported }

func cannotExchange(err error) bool { return errors.Is(err, errors.ErrUnsupported) }

func isMountPoint(error) bool { return false }
