package checkpoint_test

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/dray-dev/dray/kubeletplugin/internal/atomicfile"
)

type killed struct{}

// killAt ends the process, as far as the disk can tell, before its n-th change:
// nothing that runs while the panic passes changes anything either.
func killAt(n int, log *[]string) func(what string) {
	return func(what string) {
		if *log = append(*log, what); len(*log) > n {
			panic(killed{})
		}
	}
}

// survive runs something that may be killed.
func survive(f func()) (dead bool) {
	defer func() {
		if reason := recover(); reason != nil {
			if _, ok := reason.(killed); !ok {
				panic(reason)
			}
			dead = true
		}
	}()
	f()
	return false
}

func TestAKilledWriteLeavesTheOldOrTheNewContent(t *testing.T) {
	for n := 0; ; n++ {
		path := filepath.Join(t.TempDir(), "checkpoint.json")
		put(t, newStore(t, path, options()), sample()[0])
		var log []string
		o := options()
		o.Step = killAt(n, &log)
		dead := survive(func() { put(t, newStore(t, path, o), sample()[1]) })
		if dead && slices.Contains([]string{"sync checkpoint.json.tmp", "write checkpoint.json.tmp"}, log[n]) {
			// The machine went down as well: what was not synced is cut off.
			if err := os.Truncate(path+atomicfile.Suffix, int64(n)); err != nil {
				t.Fatal(err)
			}
		}
		got := read(t, path)
		if !dead {
			if diff := cmp.Diff(sample(), got); diff != "" {
				t.Error(diff)
			}
			if n != 5 {
				t.Errorf("a write has %d steps, not 5: %q", n, log)
			}
			return
		}
		if diff := cmp.Diff(sample()[:1], got); diff != "" && cmp.Diff(sample(), got) != "" {
			t.Errorf("killed before %q: %s", log[n], diff)
		}
		if _, err := os.Lstat(path + atomicfile.Suffix); !os.IsNotExist(err) {
			t.Errorf("killed before %q, and read: the temporary file is still there: %v", log[n], err)
		}
		put(t, newStore(t, path, options()), sample()[1]) // the next process
		if diff := cmp.Diff(sample(), read(t, path)); diff != "" {
			t.Errorf("killed before %q, and repeated: %s", log[n], diff)
		}
	}
}
