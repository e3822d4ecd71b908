package hardware_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/dray-dev/dray/kubeletplugin/hardware"
)

// If one were opened, the test would not end: no process has a pipe's other end.
func TestAPipeIsRefusedAndNotWaitedFor(t *testing.T) {
	root, host := hostRoot(t)
	if err := unix.Mkfifo(filepath.Join(root, "pipe"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := host.Open("pipe"); !errors.Is(err, fs.ErrInvalid) || !strings.Contains(err.Error(), "pipe") {
		t.Errorf("open: %v", err)
	}
	if err := host.WriteFile("pipe", []byte("x")); !errors.Is(err, fs.ErrInvalid) || !strings.Contains(err.Error(), "pipe") {
		t.Errorf("write: %v", err)
	}
}

func TestDiscoverDoesNotWaitForAPipeInTheTree(t *testing.T) {
	root, host := hostRoot(t)
	for _, name := range []string{"proc/devices", "usr/share/misc/pci.ids"} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(root, name)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := unix.Mkfifo(filepath.Join(root, name), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	_, err := hardware.Discover(host, one())
	if err == nil || !strings.Contains(err.Error(), "proc/devices") {
		t.Errorf("the error does not name the pipe: %v", err)
	}
}
