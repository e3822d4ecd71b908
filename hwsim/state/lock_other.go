//go:build !unix

package state

import (
	"errors"
	"os"
)

func lock(name string, _ bool) (unlock func(), err error) {
	return nil, &os.PathError{Op: "lock", Path: name, Err: errors.ErrUnsupported}
}
