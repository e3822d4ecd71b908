package hardware

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"golang.org/x/sys/unix"
)

func (h *hostDir) DeviceNode(name string) (DeviceNode, error) {
	if !fs.ValidPath(name) {
		return DeviceNode{}, &fs.PathError{Op: "stat", Path: name, Err: fs.ErrInvalid}
	}
	info, err := os.Lstat(filepath.Join(h.root, name))
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
