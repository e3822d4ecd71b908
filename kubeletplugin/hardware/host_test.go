package hardware_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"syscall"
	"testing"

	"github.com/dray-dev/dray/kubeletplugin/hardware"
)

// hostRoot is a root with links of all kinds.
func hostRoot(t *testing.T) (root string, host hardware.Host) {
	t.Helper()
	root = t.TempDir()
	if err := os.MkdirAll(filepath.Join(root, "sys/devices/a"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(root, "sys/devices/a/file"), []byte("inside"), 0o644); err != nil {
		t.Fatal(err)
	}
	for link, target := range map[string]string{
		"absolute": "/sys/devices", "sys/devices/deep": "/sys/devices/a", "relative": "sys/devices/a", "sys/up": "../../../../sys/devices", "loop": "loop",
		"outside": "/etc/passwd", "climb": "../../../../../../../../etc/passwd", "dangling": "nothing", "chain": "relative",
	} {
		if err := os.Symlink(target, filepath.Join(root, link)); err != nil {
			t.Fatal(err)
		}
	}
	host, err := hardware.HostDir(root)
	if err != nil {
		t.Fatal(err)
	}
	return root, host
}

func TestLinksAreFollowedWithinTheRoot(t *testing.T) {
	_, host := hostRoot(t)
	for _, name := range []string{"sys/devices/a/file", "absolute/a/file", "sys/devices/deep/file", "relative/file", "sys/up/a/file", "chain/file"} {
		if content, err := fs.ReadFile(host, name); err != nil || string(content) != "inside" {
			t.Errorf("%s reads as %q, %v", name, content, err)
		}
	}
	for _, name := range []string{"outside", "climb", "dangling", "absolute/b"} {
		if content, err := fs.ReadFile(host, name); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s reads as %q, %v, and does not exist below the root", name, content, err)
		}
	}
	if _, err := fs.ReadFile(host, "loop"); err == nil {
		t.Error("a link to itself can be read")
	}
	if entries, err := fs.ReadDir(host, "absolute"); err != nil || len(entries) != 2 {
		t.Errorf("directory behind a link: %v, %v", entries, err)
	}
	if target, err := host.ReadLink("relative"); err != nil || target != "sys/devices/a" {
		t.Errorf("the link is %q, %v", target, err)
	}
	if info, err := host.Lstat("relative"); err != nil || info.Mode()&fs.ModeSymlink == 0 {
		t.Errorf("lstat of a link: %v, %v", info, err)
	}
}

func TestNamesThatLeaveTheRootAreInvalid(t *testing.T) {
	_, host := hostRoot(t)
	for _, name := range []string{"/etc/passwd", "../x", "a/../b", "", "a//b"} {
		if _, err := host.Open(name); !errors.Is(err, fs.ErrInvalid) {
			t.Errorf("open %q: %v", name, err)
		}
		if err := host.WriteFile(name, nil); !errors.Is(err, fs.ErrInvalid) {
			t.Errorf("write %q: %v", name, err)
		}
		if _, err := host.DeviceNode(name); runtime.GOOS == "linux" && !errors.Is(err, fs.ErrInvalid) {
			t.Errorf("device node %q: %v", name, err)
		}
	}
}

func TestWritesReachExistingFilesOnly(t *testing.T) {
	root, host := hostRoot(t)
	if err := host.WriteFile("absolute/a/file", []byte("INSIDE")); err != nil {
		t.Fatal(err)
	}
	if content, _ := os.ReadFile(filepath.Join(root, "sys/devices/a/file")); string(content) != "INSIDE" {
		t.Errorf("the file holds %q", content)
	}
	if err := host.WriteFile("absolute/a/new", []byte("x")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("write to a missing file: %v", err)
	}
	if err := host.WriteFile("absolute/a", nil); !errors.Is(err, syscall.EISDIR) {
		t.Errorf("write to a directory: %v, without the kernel's errno", err)
	}
}

func TestDeviceNodesAreDescribed(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("device nodes are read on Linux only")
	}
	host, err := hardware.HostDir("/")
	if err != nil {
		t.Fatal(err)
	}
	if node, err := host.DeviceNode("dev/null"); err != nil || node.String() != "c 1:3" {
		t.Errorf("dev/null is %s, %v", node, err)
	}
	_, host = hostRoot(t)
	if node, err := host.DeviceNode("sys/devices/a/file"); err == nil {
		t.Errorf("a file is %s", node)
	}
}

func TestARootIsADirectory(t *testing.T) {
	root, _ := hostRoot(t)
	for _, name := range []string{filepath.Join(root, "sys/devices/a/file"), filepath.Join(root, "nothing")} {
		if _, err := hardware.HostDir(name); err == nil {
			t.Errorf("%s is taken for a root", name)
		}
	}
}
