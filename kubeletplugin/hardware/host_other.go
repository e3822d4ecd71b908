//go:build !linux

package hardware

import (
	"errors"
	"fmt"
)

var errTooManyLinks = errors.New("too many levels of symbolic links")

const openFlags = 0

func (h *hostDir) DeviceNode(name string) (DeviceNode, error) {
	return DeviceNode{}, fmt.Errorf("device nodes of a host can be read on Linux only: %s", name)
}
