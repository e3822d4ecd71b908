package surface

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/dray-dev/dray/kubeletplugin/hardware"
)

// marker is the file by which a folder is known as a surface, and its content,
// the version of the layout.
const (
	marker  = ".hwsim-surface"
	version = "1\n"
)

// Open returns the Host over a folder that Write has made. Nothing outside of
// the folder can be reached through it.
func Open(dir string) (hardware.Host, error) {
	if err := checkMarker(dir); err != nil {
		return nil, err
	}
	host, err := hardware.HostDir(dir)
	if err != nil {
		return nil, err
	}
	return folder{host}, nil
}

// checkMarker says why a folder is no surface.
func checkMarker(dir string) error {
	content, err := os.ReadFile(filepath.Join(dir, marker))
	if err != nil {
		return fmt.Errorf("%s is not a surface: %w", dir, err)
	}
	if string(content) != version {
		return fmt.Errorf("%s is a surface with layout %q, and this is %q: write it anew", dir, content, version)
	}
	return nil
}

// folder is a directory in which device nodes are text.
type folder struct{ hardware.Host }

func (f folder) DeviceNode(name string) (hardware.DeviceNode, error) {
	content, err := fs.ReadFile(f.Host, name)
	if err != nil {
		return hardware.DeviceNode{}, err
	}
	text := strings.TrimSuffix(string(content), "\n")
	var node hardware.DeviceNode
	_, err = fmt.Sscanf(text, "%1s %d:%d", &node.Type, &node.Major, &node.Minor)
	if err != nil || node.String() != text || node.Type != "c" && node.Type != "b" {
		return hardware.DeviceNode{}, fmt.Errorf("%s is not a device node: it must hold one line like c 195:0", name)
	}
	return node, nil
}
