package driver

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"time"

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

// hashedSocket are the names of registration sockets where the kubelet's folder leaves no
// room for the names of driver and pod: a hash of both.
var hashedSocket = regexp.MustCompile(`^dra-[A-Za-z0-9_-]{22}-reg\.sock$`)

// deadSocketAge is how old a socket that may be another driver's is at least: one that
// starts has made its socket a moment before it listens.
const deadSocketAge = time.Minute

// isStill says that a file is the one that was seen: another driver of the node may have
// replaced it since.
func isStill(path string, seen fs.FileInfo) bool {
	now, err := os.Lstat(path)
	return err == nil && os.SameFile(seen, now) && seen.ModTime().Equal(now.ModTime())
}

// removeDeadSockets removes those of this driver's processes that were killed. The
// kubelet would try to reach them again and again. During an update another process
// may be alive: then its socket answers. Of sockets that have a hash for their name nobody
// can tell whose they are; those on which nobody listens are nobody's.
func (d *Driver) removeDeadSockets() error {
	var errs []error
	for _, folder := range []struct {
		path    string
		isOurs  func(name string) bool
		mayBeOf func(name string) bool
	}{
		{d.options.Folders.Registry, func(name string) bool {
			return strings.HasPrefix(name, d.options.Name+"-") && strings.HasSuffix(name, "reg.sock")
		}, hashedSocket.MatchString},
		{d.options.Folders.Plugin, func(name string) bool { return strings.HasPrefix(name, "dra-") && strings.HasSuffix(name, ".sock") }, nil},
	} {
		entries, err := os.ReadDir(folder.path)
		errs = append(errs, err)
		for _, entry := range entries {
			socket := filepath.Join(folder.path, entry.Name())
			seen, err := entry.Info()
			if err != nil {
				continue // it is gone
			}
			if !folder.isOurs(entry.Name()) {
				if folder.mayBeOf == nil || !folder.mayBeOf(entry.Name()) || time.Since(seen.ModTime()) < deadSocketAge {
					continue
				}
			}
			connection, err := net.Dial("unix", socket)
			if err == nil {
				connection.Close()
				continue
			}
			if errors.Is(err, syscall.ECONNREFUSED) && isStill(socket, seen) {
				if err := os.Remove(socket); err != nil && !errors.Is(err, fs.ErrNotExist) {
					errs = append(errs, err)
				}
			}
		}
	}
	return errors.Join(errs...)
}
