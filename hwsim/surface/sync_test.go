package surface_test

import (
	"errors"
	"testing"

	"github.com/dray-dev/dray/hwsim/internal/disk"
	"github.com/dray-dev/dray/hwsim/surface"
	"pgregory.net/rapid"
)

// running is the files of a random node that runs.
func running(t *testing.T, seed int) *surface.Files {
	t.Helper()
	node := rapid.Custom(randomNode).Example(seed)
	files, err := surface.Build(node, &surface.Running{BootID: "b", Drivers: []string{"vfio-pci"}})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

func same(t *testing.T, files *surface.Files, dir string) {
	t.Helper()
	difference, err := files.Difference(dir)
	if err != nil || difference != "" {
		t.Fatalf("error %v\n%s", err, difference)
	}
}

func TestAFolderGoesFromAnySurfaceToAnyOther(t *testing.T) {
	for seed := range 3 {
		a, b := running(t, 2*seed), running(t, 2*seed+1)
		dir := t.TempDir()
		d := &disk.Disk{Temp: t.TempDir()}
		if err := a.Sync(d, dir, nil); err != nil {
			t.Fatal(err)
		}
		same(t, a, dir)
		if err := b.Sync(d, dir, a); err != nil {
			t.Fatal(err)
		}
		same(t, b, dir)
	}
}

var errStopped = errors.New("stopped")

func TestASyncThatWasStoppedIsDoneAgain(t *testing.T) {
	a, b := running(t, 1), running(t, 2)
	const stops = 6
	total := 0
	for stop := range stops {
		dir := t.TempDir()
		free := &disk.Disk{Temp: t.TempDir()}
		if err := a.Sync(free, dir, nil); err != nil {
			t.Fatal(err)
		}
		steps := 0
		last := total * stop / stops // the first time, all of them are counted
		err := b.Sync(&disk.Disk{Temp: free.Temp, Before: func(string) error {
			if steps++; stop > 0 && steps > last {
				return errStopped
			}
			return nil
		}}, dir, a)
		if stop == 0 {
			total = steps
		}
		if stop == 0 && err != nil || stop > 0 && !errors.Is(err, errStopped) {
			t.Fatalf("stopped after %d of %d steps: %v", last, total, err)
		}
		if err := b.Sync(free, dir, nil); err != nil {
			t.Fatal(err)
		}
		same(t, b, dir)
	}
}
