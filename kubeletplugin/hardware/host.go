package hardware

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// Host is the files of a machine, relative to its root: "sys/bus/pci/devices",
// "proc/devices", "dev/nvidia0". Links are relative, or absolute within the root.
type Host interface {
	// Open, ReadLink and Lstat; fs.ReadFile and fs.ReadDir work on it.
	fs.ReadLinkFS
	// WriteFile writes to a file that is there already, such as sriov_numvfs, in
	// one write; the kernel's errno comes back in the error.
	WriteFile(name string, data []byte) error
	// DeviceNode describes the file as a device node.
	DeviceNode(name string) (DeviceNode, error)
}

// DeviceNode is a special file.
type DeviceNode struct {
	// Type is "c" or "b".
	Type         string
	Major, Minor uint32
}

func (n DeviceNode) String() string { return fmt.Sprintf("%s %d:%d", n.Type, n.Major, n.Minor) }

// HostDir returns the Host below a directory: "/" for the machine itself, or
// where a container has its host's root mounted.
func HostDir(root string) (Host, error) {
	info, err := os.Stat(root)
	if err != nil {
		return nil, fmt.Errorf("root of the host: %w", err)
	}
	if !info.IsDir() {
		return nil, fmt.Errorf("root of the host: %s is not a directory", root)
	}
	return &hostDir{ReadLinkFS: os.DirFS(root).(fs.ReadLinkFS), root: root}, nil
}

type hostDir struct {
	fs.ReadLinkFS
	root string
}

func (h *hostDir) WriteFile(name string, data []byte) error {
	if !fs.ValidPath(name) {
		return &fs.PathError{Op: "write", Path: name, Err: fs.ErrInvalid}
	}
	f, err := os.OpenFile(filepath.Join(h.root, name), os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if closeErr := f.Close(); err == nil {
		err = closeErr
	}
	return err
}
