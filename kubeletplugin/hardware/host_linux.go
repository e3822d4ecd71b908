package hardware

import (
	"fmt"
	"io/fs"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

const errTooManyLinks = syscall.ELOOP

// openFlags keep an open from waiting for the other end of a pipe.
const openFlags = unix.O_NONBLOCK

func (h *hostDir) DeviceNode(name string) (DeviceNode, error) {
	real, err := h.resolve("stat", name, true)
	if err != nil {
		return DeviceNode{}, err
	}
	info, err := os.Lstat(real)
	if err != nil {
		return DeviceNode{}, err
	}
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok || info.Mode()&fs.ModeDevice == 0 {
		return DeviceNode{}, fmt.Errorf("%s is not a device node", name)
	}
	kind := "b"
	if info.Mode()&fs.ModeCharDevice != 0 {
		kind = "c"
	}
	return DeviceNode{Type: kind, Major: unix.Major(uint64(stat.Rdev)), Minor: unix.Minor(uint64(stat.Rdev))}, nil
}
