package driver

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"syscall"

	"k8s.io/dynamic-resource-allocation/kubeletplugin"
)

// sockets are where the helper puts them.
func (d *Driver) sockets() (registration, service string) {
	o := &d.options
	if o.PodUID == "" {
		return filepath.Join(o.Folders.Registry, o.Name+"-reg.sock"), filepath.Join(o.Folders.Plugin, "dra.sock")
	}
	return filepath.Join(o.Folders.Registry, kubeletplugin.RollingUpdateRegistrarSocketFile(o.Folders.Registry, o.Name, o.PodUID)),
		filepath.Join(o.Folders.Plugin, "dra-"+string(o.PodUID)+".sock")
}

// longestSocket is how long the path of a socket can be, in bytes.
const longestSocket = 107

// checkSockets fails early where the system would say no more than that an argument
// is invalid.
func (d *Driver) checkSockets() error {
	registration, service := d.sockets()
	for _, path := range []string{registration, service} {
		if len(path) > longestSocket {
			return fmt.Errorf("socket %s: its path has %d bytes and can have %d: the kubelet's folder must have a shorter name",
				path, len(path), longestSocket)
		}
	}
	return nil
}

// removeDeadSockets removes those of this driver's processes that were killed. The
// kubelet would try to reach them again and again. During an update another process
// may be alive: then its socket answers.
func (d *Driver) removeDeadSockets() error {
	var errs []error
	for _, pattern := range []string{filepath.Join(d.options.Folders.Registry, d.options.Name+"-*reg.sock"),
		filepath.Join(d.options.Folders.Plugin, "dra-*.sock")} {
		sockets, err := filepath.Glob(pattern)
		errs = append(errs, err)
		for _, socket := range sockets {
			connection, err := net.Dial("unix", socket)
			if err == nil {
				connection.Close()
				continue
			}
			if errors.Is(err, syscall.ECONNREFUSED) {
				if err := os.Remove(socket); err != nil && !errors.Is(err, fs.ErrNotExist) {
					errs = append(errs, err)
				}
			}
		}
	}
	return errors.Join(errs...)
}
