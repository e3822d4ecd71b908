package disk_test

import (
	"path/filepath"
	"slices"
	"testing"

	"github.com/dray-dev/dray/hwsim/internal/disk"
)

// The name of a file is content of its directory: without a sync of that, a file that
// is synced can be lost.
func TestTheNameOfAFileThatIsAppendedToIsSynced(t *testing.T) {
	dir := t.TempDir()
	var steps []string
	d := &disk.Disk{Temp: t.TempDir(), Before: func(step string) error {
		steps = append(steps, step)
		return nil
	}}
	name := filepath.Join(dir, "log")
	for round, want := range [][]string{{"append " + name, "append " + name, "sync " + dir}, {"append " + name, "append " + name}} {
		steps = nil
		if err := d.Append(name, []byte("ab")); err != nil || !slices.Equal(steps, want) {
			t.Errorf("round %d: %v, error %v", round, steps, err)
		}
	}
}
