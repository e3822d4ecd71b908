//go:build !unix

package state

import (
	"errors"
	"os"
	"time"
)

func lock(name string, _, _ bool, _ time.Duration) (unlock func(), err error) {
	return nil, &os.PathError{Op: "lock", Path: name, Err: errors.ErrUnsupported}
}
