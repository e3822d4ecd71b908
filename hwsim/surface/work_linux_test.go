package surface_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/dray-dev/dray/hwsim/surface"
	"github.com/dray-dev/dray/kubeletplugin/hardware"
)

// mustWrite writes the node's surface.
func mustWrite(t *testing.T, dir string, node *hardware.Node) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := surface.Write(dir, node); err != nil {
		t.Fatal(err)
	}
}

func TestWhatKilledWritersLeftIsRemovedAndNothingElse(t *testing.T) {
	parent := t.TempDir()
	dir := filepath.Join(parent, "node")
	mustWrite(t, filepath.Join(parent, ".node.hwsim-17", "new"), migNode()) // killed before it could replace
	mustWrite(t, filepath.Join(parent, ".node.hwsim-18", "old"), migNode()) // and after
	others := []string{".node-17", ".node.hwsim-", ".node.hwsim-x", ".other.hwsim-17", "node.hwsim-17"}
	for _, name := range others {
		if err := os.Mkdir(filepath.Join(parent, name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	mustWrite(t, dir, sriovNode())
	roundTrip(t, dir, sriovNode())
	if want := slices.Sorted(slices.Values(append(others, "node"))); !slices.Equal(entries(t, parent), want) {
		t.Errorf("there are %q, want %q", entries(t, parent), want)
	}
}

func TestTheFolderOfALivingWriterStays(t *testing.T) {
	parent := t.TempDir()
	living := filepath.Join(parent, ".node.hwsim-17")
	if err := os.Mkdir(living, 0o755); err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(living)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX); err != nil {
		t.Fatal(err)
	}
	mustWrite(t, filepath.Join(parent, "node"), migNode())
	if want := []string{".node.hwsim-17", "node"}; !slices.Equal(entries(t, parent), want) {
		t.Errorf("there are %q, want %q", entries(t, parent), want)
	}
}

func TestASurfaceThatAKilledWriterTookAwayIsPutBack(t *testing.T) {
	parent := t.TempDir()
	dir := filepath.Join(parent, "node")
	mustWrite(t, filepath.Join(parent, ".node.hwsim-17", "old"), migNode())
	broken := sriovNode()
	broken.NICs[1].MTU = 1500
	if err := surface.Write(dir, broken); err == nil {
		t.Fatal("the broken node was written")
	}
	if _, err := surface.Open(dir); err != nil {
		t.Errorf("the old surface is not there: %v", err)
	}
	if left := entries(t, parent); !slices.Equal(left, []string{"node"}) {
		t.Errorf("there are %q", left)
	}
}

func TestWritersOfOneSurfaceDoNotHurtEachOther(t *testing.T) {
	parent := t.TempDir()
	dir := filepath.Join(parent, "node")
	errs := make(chan error)
	const writers = 4
	for range writers {
		go func() { errs <- surface.Write(dir, sriovNode()) }()
	}
	for range writers {
		if err := <-errs; err != nil {
			t.Error(err)
		}
	}
	roundTrip(t, dir, sriovNode())
	if left := entries(t, parent); !slices.Equal(left, []string{"node"}) {
		t.Errorf("there are %q", left)
	}
}

func TestTwoRenamesReplaceWhereOneStepCannot(t *testing.T) {
	parent := t.TempDir()
	dir, work := filepath.Join(parent, "node"), filepath.Join(parent, "work")
	for _, old := range []bool{false, true} {
		mustWrite(t, filepath.Join(work, "new"), migNode())
		if err := surface.ReplaceInTwoSteps(work, dir); err != nil {
			t.Fatal(err)
		}
		want := []string(nil)
		if old {
			want = []string{"old"}
		}
		if left := entries(t, work); !slices.Equal(left, want) {
			t.Errorf("the work folder has %q, want %q", left, want)
		}
		if _, err := surface.Open(dir); err != nil {
			t.Error(err)
		}
	}
	if err := surface.ReplaceInTwoSteps(filepath.Join(parent, "nothing"), dir); err == nil {
		t.Error("nothing has replaced a surface")
	} else if _, err := surface.Open(dir); err != nil {
		t.Errorf("after the error %v", err)
	}
}

func TestErrorsOfTheDirectorySayWhatToDo(t *testing.T) {
	for _, c := range []struct {
		err  error
		want string
	}{
		{unix.EBUSY, "/a/node is a mount point or in use, and cannot be replaced: give a directory below it: "},
		{unix.EXDEV, "/a/node is a mount point or "},
		{unix.EACCES, "/a/node cannot be made in /a: give a directory in one that you may write to: "},
		{unix.EROFS, "/a/node cannot be made in /a: give a directory in one that you may write to: "},
		{unix.ENOENT, "/a/node cannot be made in /a, which is missing: make that first: "},
	} {
		err := surface.Advise("/a/node", &fs.PathError{Op: "mkdir", Path: "x", Err: c.err})
		if !errors.Is(err, c.err) || !strings.HasPrefix(err.Error(), c.want) {
			t.Errorf("%v is said as %v, want %s", c.err, err, c.want)
		}
	}
	missing := filepath.Join(t.TempDir(), "no", "node")
	want := "surface of a node: " + missing + " cannot be made in " + filepath.Dir(missing) + ", which is missing"
	if err := surface.Write(missing, migNode()); err == nil || !strings.HasPrefix(err.Error(), want) {
		t.Errorf("error %v, want %s", err, want)
	}
}

func TestAMountPointIsNotReplaced(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "node")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := unix.Mount("none", dir, "tmpfs", 0, ""); err != nil {
		t.Skipf("mounting needs more rights: %v", err)
	}
	defer unix.Unmount(dir, 0)
	if err := surface.Write(dir, migNode()); err == nil || !strings.HasPrefix(err.Error(), "surface of a node: "+dir+" is a mount point") {
		t.Errorf("error %v", err)
	}
	if left := entries(t, filepath.Dir(dir)); !slices.Equal(left, []string{"node"}) {
		t.Errorf("there are %q", left)
	}
}
