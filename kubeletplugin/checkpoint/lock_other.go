//go:build !unix

package checkpoint

import (
	"errors"
	"os"
)

func lockFile(string) (*os.File, error) { return nil, errors.ErrUnsupported }
