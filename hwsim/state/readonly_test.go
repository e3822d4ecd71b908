package state_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/dray-dev/dray/hwsim/state"
)

// contents are the files of a directory with their contents and times.
func contents(t *testing.T, dir string) map[string]string {
	t.Helper()
	found := map[string]string{}
	must(t, filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := entry.Info()
		if err != nil {
			return err
		}
		found[path] = info.ModTime().String()
		if info.Mode().IsRegular() {
			text, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			found[path] += string(text)
		}
		return nil
	}))
	return found
}

func TestAFolderThatMayNotBeWrittenToIsLookedAt(t *testing.T) {
	f, clock := small(t)
	must(t, partition(f, hopper, 19, 3))
	must(t, flap(f, time.Second))
	must(t, os.Remove(filepath.Join(f.Dir(), "lock")))
	must(t, os.Remove(filepath.Join(f.Dir(), "synced"))) // as of a killed writer
	before := contents(t, f.Dir())
	reader, err := state.OpenReadOnly(f.Dir(), state.WithClock(clock))
	must(t, err)
	if linkIsUp(t, reader) {
		t.Error("the link is up before its time")
	}
	clock.pass(2 * time.Second)
	if !linkIsUp(t, reader) {
		t.Error("the link has not come up")
	}
	v := view(t, reader)
	if n := len(v.Node.GPUs[1].MIG.Instances); n != 1 || !v.Due.IsZero() {
		t.Errorf("%d instances, due %s", n, v.Due)
	}
	library := reader.GPULibrary()
	must(t, library.Init())
	if n, err := library.DeviceCount(); n != 2 || err != nil {
		t.Errorf("%d GPUs, error %v", n, err)
	}
	events := 0
	for _, err := range reader.Events(0) {
		must(t, err)
		events++
	}
	if events == 0 {
		t.Error("there are no events")
	}
	if err := flap(reader, time.Second); !errors.Is(err, state.ErrReadOnly) {
		t.Errorf("a change: %v", err)
	}
	if err := reader.Host().WriteFile("sys/bus/pci/devices/0000:4b:00.0/sriov_numvfs", []byte("0")); !errors.Is(err, state.ErrReadOnly) {
		t.Errorf("a write: %v", err)
	}
	if diff := cmp.Diff(before, contents(t, f.Dir())); diff != "" {
		t.Errorf("files have changed:\n%s", diff)
	}
	if _, err := state.OpenReadOnly(t.TempDir()); !errors.Is(err, state.ErrNotFolder) {
		t.Errorf("an empty directory: %v", err)
	}
}

// Root may write everywhere, so this is for users.
func TestAFolderOfAnotherUserSaysThatItCannotBeOpened(t *testing.T) {
	if os.Geteuid() == 0 {
		t.Skip("root may write to every folder")
	}
	f, clock := small(t)
	for _, name := range []string{"lock", "."} {
		must(t, os.Chmod(filepath.Join(f.Dir(), name), 0o555))
	}
	t.Cleanup(func() { os.Chmod(f.Dir(), 0o755) })
	if _, err := state.Open(f.Dir(), state.WithClock(clock)); !errors.Is(err, fs.ErrPermission) {
		t.Errorf("opened for writing: %v", err)
	}
	reader, err := state.OpenReadOnly(f.Dir(), state.WithClock(clock))
	must(t, err)
	if v := view(t, reader); v.Sequence != 1 {
		t.Errorf("%d transactions", v.Sequence)
	}
}
