package surface

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// workFolder is a folder beside a surface, in which the next one is made: new in it is
// the surface to be, and old the one that was there, where two folders cannot
// change places at once. Its maker holds a lock on it, which ends with the process:
//
//  1. Whoever can lock a folder of this name and kind may remove it, because its
//     maker is dead.
//  2. Who has made one and could not lock it before another did leaves it to that
//     one, and makes another.
type workFolder struct {
	dir    string
	unlock func()
}

func (w *workFolder) made() string { return filepath.Join(w.dir, "new") }
func (w *workFolder) old() string  { return filepath.Join(w.dir, "old") }

// errLocked is lock's error for a directory that another holds or has removed.
var errLocked = errors.New("another process has the lock")

// workPrefix is what names of folders beside dir begin with; a number follows.
func workPrefix(dir string) string { return "." + filepath.Base(dir) + ".hwsim-" }

// newWork makes a folder beside dir.
func newWork(dir string) (*workFolder, error) {
	for {
		name, err := os.MkdirTemp(filepath.Dir(dir), workPrefix(dir)+"*")
		if err != nil {
			return nil, err
		}
		unlock, err := lock(name)
		if errors.Is(err, errLocked) {
			continue
		}
		if err != nil { // without locks nobody can take it for a dead one's
			unlock = func() {}
		}
		return &workFolder{name, unlock}, nil
	}
}

// remove removes the folder with what is in it.
func (w *workFolder) remove() error {
	defer w.unlock()
	return os.RemoveAll(w.dir)
}

// removeLeftovers removes what writers of dir left that were killed. If one was
// killed where neither surface was in its place, the old one goes back there.
func removeLeftovers(dir string) error {
	parent, prefix := filepath.Dir(dir), workPrefix(dir)
	entries, err := os.ReadDir(parent)
	if err != nil {
		return nil // what follows says it better; one may write where one may not list
	}
	for _, entry := range entries {
		number, ours := strings.CutPrefix(entry.Name(), prefix)
		if _, err := strconv.ParseUint(number, 10, 64); !ours || err != nil || !entry.IsDir() {
			continue
		}
		name := filepath.Join(parent, entry.Name())
		unlock, err := lock(name)
		if err != nil {
			continue
		}
		left := &workFolder{name, unlock}
		if _, err := os.Lstat(dir); errors.Is(err, fs.ErrNotExist) && checkMarker(left.old()) == nil {
			if err := os.Rename(left.old(), dir); err != nil {
				unlock()
				return fmt.Errorf("the surface that a killed writer left in %s cannot be put back: %w", left.old(), err)
			}
		}
		if err := left.remove(); err != nil {
			return fmt.Errorf("what a killed writer left cannot be removed: %w", err)
		}
	}
	return nil
}
