package localcluster

import (
	"errors"
	"fmt"
	"path/filepath"
)

// socketPath is the longest path of a Unix socket, without the zero at its end.
const socketPath = 107

// checkSocket says whether the driver can have its longest socket on a node.
func (c *Cluster) checkSocket(node string) error {
	longest := c.dir.node(node, "plugins_registry/"+c.driverName()+"-100-reg.sock")
	if len(longest) > socketPath {
		return fmt.Errorf("node %s: the path %s of a socket has %d bytes, which is more than the %d that there can be: %w", node, longest, len(longest), socketPath, ErrPathTooLong)
	}
	return nil
}

// socketRoom is kept for what nodes put below the folder, such as
// nodes/node-099/registry/gpu.example.com-reg.sock.
const socketRoom = 52

// ErrPathTooLong: sockets below the folder would have paths that the kernel refuses.
var ErrPathTooLong = errors.New("take a folder with a shorter path")

// CheckSockets says whether nodes could have their sockets below the folder.
func CheckSockets(dir string) error {
	absolute, err := filepath.Abs(dir)
	if err != nil {
		return err
	}
	if longest := socketPath - 1 - socketRoom; len(absolute) > longest {
		return fmt.Errorf("the path %s has %d bytes, and sockets below it would be too long if it has more than %d: %w", absolute, len(absolute), longest, ErrPathTooLong)
	}
	return nil
}
