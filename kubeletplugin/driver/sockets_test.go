package driver

import (
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/dynamic-resource-allocation/kubeletplugin"
)

func TestASocketWhosePathIsTooLongIsRefusedEarly(t *testing.T) {
	dir := filepath.Join(t.TempDir(), strings.Repeat("long", 25))
	options := newDriver(t, nil).options
	options.Folders = KubeletFolders(dir, driverName, dir)
	if _, err := New(options); err == nil || !strings.Contains(err.Error(), "shorter name") {
		t.Errorf("%v", err)
	}
}

// TestSocketsOfTheDeadAreRemoved, and of nobody else.
func TestSocketsOfTheDeadAreRemoved(t *testing.T) {
	d := newDriver(t, func(o *Options) { o.PodUID = "me" })
	registry, plugin := d.options.Folders.Registry, d.options.Folders.Plugin
	dead := []string{filepath.Join(registry, driverName+"-dead-reg.sock"), filepath.Join(plugin, "dra-dead.sock"), filepath.Join(plugin, "dra-me.sock")}
	alive := []string{filepath.Join(registry, driverName+"-alive-reg.sock"), filepath.Join(plugin, "dra-alive.sock")}
	others := []string{filepath.Join(registry, "other.dev-dead-reg.sock")}
	// As the helper names it where the folder leaves no room.
	hashed := func(pod string) string {
		return filepath.Join(registry, kubeletplugin.RollingUpdateRegistrarSocketFile("/"+strings.Repeat("l", 200), driverName, types.UID(pod)))
	}
	if name := filepath.Base(hashed("dead")); !strings.HasPrefix(name, "dra-") {
		t.Fatalf("%s is no hash", name)
	}
	dead = append(dead, hashed("dead"))
	alive = append(alive, hashed("alive"))
	others = append(others, hashed("just being made"), filepath.Join(registry, "dra-other-reg.sock"))
	for i, path := range slices.Concat(dead, alive, others) {
		listener, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
		if err != nil {
			t.Fatal(err)
		}
		listener.SetUnlinkOnClose(false)
		if path != hashed("just being made") {
			if err := os.Chtimes(path, time.Time{}, time.Now().Add(-time.Hour)); err != nil {
				t.Fatal(err)
			}
		}
		if isAlive := i >= len(dead) && i < len(dead)+len(alive); isAlive {
			defer listener.Close()
		} else {
			listener.Close()
		}
	}
	if err := d.removeDeadSockets(); err != nil {
		t.Fatal(err)
	}
	for _, path := range slices.Concat(dead, alive, others) {
		_, err := os.Lstat(path)
		if isThere := err == nil; isThere == slices.Contains(dead, path) {
			t.Errorf("%s is there: %v", path, isThere)
		}
	}
}
