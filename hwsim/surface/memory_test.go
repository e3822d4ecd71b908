package surface

import (
	"errors"
	"io/fs"
	"testing/fstest"

	"github.com/dray-dev/dray/kubeletplugin/hardware"
)

// Memory is the surface of a valid node without a disk, for properties that are
// checked often.
func Memory(node *hardware.Node) (hardware.Host, error) {
	t := build(node)
	if err := errors.Join(t.errs...); err != nil {
		return nil, err
	}
	files := fstest.MapFS{}
	for name, content := range t.files {
		files[name] = &fstest.MapFile{Data: []byte(content), Mode: 0o644}
	}
	for name, target := range t.links {
		files[name] = &fstest.MapFile{Data: []byte(relative(name, target)), Mode: fs.ModeSymlink}
	}
	return folder{memoryHost{files}}, nil
}

// memoryHost is a Host that can be read.
type memoryHost struct{ fstest.MapFS }

func (memoryHost) WriteFile(name string, _ []byte) error {
	return &fs.PathError{Op: "write", Path: name, Err: fs.ErrPermission}
}

func (memoryHost) DeviceNode(name string) (hardware.DeviceNode, error) {
	return hardware.DeviceNode{}, &fs.PathError{Op: "stat", Path: name, Err: fs.ErrInvalid}
}
