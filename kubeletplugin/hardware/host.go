package hardware

import (
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
)

// Host is the files of a machine, relative to its root: "sys/bus/pci/devices",
// "proc/devices", "dev/nvidia0". Links are relative, or absolute within the root.
type Host interface {
	// Open, ReadLink and Lstat; fs.ReadFile and fs.ReadDir work on it. Open never
	// waits: of what is neither a regular file nor a directory, such as a pipe, it
	// says fs.ErrInvalid.
	fs.ReadLinkFS
	// WriteFile writes to a file that is there already, such as sriov_numvfs, in
	// one write; the kernel's errno comes back in the error. What Open refuses, it
	// refuses too.
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
// where a container has its host's root mounted. Links that are absolute, and
// those that climb above the directory, are followed within it, as the machine
// itself would follow them.
func HostDir(root string) (Host, error) {
	info, err := os.Stat(root)
	if err != nil {
		return nil, fmt.Errorf("root of the host: %w", err)
	}
	if !info.IsDir() {
		return nil, fmt.Errorf("root of the host: %s is not a directory", root)
	}
	return &hostDir{root: root}, nil
}

// hostDir follows links itself: the kernel would resolve an absolute one from
// the root of the process, which is not the host's.
type hostDir struct{ root string }

func (h *hostDir) Open(name string) (fs.File, error) {
	real, err := h.resolve("open", name, true)
	if err != nil {
		return nil, err
	}
	return openPlain(name, real, os.O_RDONLY)
}

// openPlain opens what is a regular file or a directory. Of anything else it says
// fs.ErrInvalid: a pipe would wait for another process, and a device node does
// things when it is opened. It looks before, so as not to open those, and after,
// because the file may be another by then.
func openPlain(name, real string, flag int) (*os.File, error) {
	plain := func(info fs.FileInfo, err error) error {
		if err == nil && !info.Mode().IsRegular() && !info.IsDir() {
			err = &fs.PathError{Op: "open", Path: name, Err: fmt.Errorf("it is neither a file nor a directory: %w", fs.ErrInvalid)}
		}
		return err
	}
	if err := plain(os.Stat(real)); err != nil {
		return nil, err
	}
	f, err := os.OpenFile(real, flag|openFlags, 0)
	if err != nil {
		return nil, err
	}
	if err := plain(f.Stat()); err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

func (h *hostDir) ReadLink(name string) (string, error) {
	real, err := h.resolve("readlink", name, false)
	if err != nil {
		return "", err
	}
	return os.Readlink(real)
}

func (h *hostDir) Lstat(name string) (fs.FileInfo, error) {
	real, err := h.resolve("lstat", name, false)
	if err != nil {
		return nil, err
	}
	return os.Lstat(real)
}

func (h *hostDir) WriteFile(name string, data []byte) error {
	real, err := h.resolve("write", name, true)
	if err != nil {
		return err
	}
	f, err := openPlain(name, real, os.O_WRONLY)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if closeErr := f.Close(); err == nil {
		err = closeErr
	}
	return err
}

// maxLinks is how many links one name may go through, as in the kernel.
const maxLinks = 40

// resolve returns where the file is on the machine: at the root or below it.
func (h *hostDir) resolve(op, name string, follow bool) (string, error) {
	real, err := resolve(name, follow, func(name string) (string, error) { return os.Readlink(filepath.Join(h.root, name)) })
	if err != nil {
		return "", &fs.PathError{Op: op, Path: name, Err: err}
	}
	return filepath.Join(h.root, real), nil
}

// resolve returns the name with all links in it followed, and the last one if
// follow says so. readLink fails for what is no link.
func resolve(name string, follow bool, readLink func(string) (string, error)) (string, error) {
	if !fs.ValidPath(name) {
		return "", fs.ErrInvalid
	}
	done, rest := ".", name
	for links := 0; rest != ""; {
		var element string
		element, rest, _ = strings.Cut(rest, "/")
		if element == ".." {
			done = path.Dir(done) // the directory above the root is the root
			continue
		}
		next := path.Join(done, element)
		target, err := readLink(next)
		if err != nil || rest == "" && !follow {
			done = next // no link, or not there, which its use will say
			continue
		}
		if links++; links > maxLinks {
			return "", errTooManyLinks
		}
		if path.IsAbs(target) {
			done = "."
		}
		rest = strings.TrimSuffix(strings.TrimPrefix(target, "/")+"/"+rest, "/")
	}
	return done, nil
}
