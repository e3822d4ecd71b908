package surface

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/dray-dev/dray/hwsim/internal/disk"
)

// Sync makes a folder hold these files and nothing else. Before says what it holds;
// if it is nil the folder is read. What is equal already is not touched, and the
// folder itself stays, so that it may be mounted elsewhere.
//
// Names that others lead to are made before the links to them and removed after
// them, so that a reader in the middle of it sees devices come and go whole, as
// near as files can. A Sync that ended early is done again with nil for before.
func (f *Files) Sync(d *disk.Disk, dir string, before *Files) error {
	from := layout{}
	if before != nil {
		from = before.layout
	} else {
		read, err := readLayout(dir)
		if err != nil {
			return fmt.Errorf("surface %s: %w", dir, err)
		}
		from = read
	}
	if err := change(d, dir, from, f.layout); err != nil {
		return fmt.Errorf("surface %s: %w", dir, err)
	}
	return nil
}

// Difference is what is not as it should be in a folder, one name a line; empty if
// it holds these files and nothing else.
func (f *Files) Difference(dir string) (string, error) {
	is, err := readLayout(dir)
	if err != nil {
		return "", err
	}
	lines := append(differences("file", is.files, f.files), differences("link", is.links, f.links)...)
	lines = append(lines, differences("directory", is.dirs, f.dirs)...)
	return strings.Join(lines, "\n"), nil
}

func differences[V comparable](kind string, is, want map[string]V) []string {
	var lines []string
	for _, name := range slices.Sorted(maps.Keys(want)) {
		if value, ok := is[name]; !ok {
			lines = append(lines, kind+" "+name+" is missing")
		} else if value != want[name] {
			lines = append(lines, fmt.Sprintf("%s %s holds %v, not %v", kind, name, value, want[name]))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(is)) {
		if _, ok := want[name]; !ok {
			lines = append(lines, kind+" "+name+" is too much")
		}
	}
	return lines
}

// notOurs is what readLayout takes for the content of what no surface holds: pipes,
// sockets and device nodes, which may have no end.
const notOurs = "\x00"

func readLayout(dir string) (layout, error) {
	l := layout{map[string]string{}, map[string]string{}, map[string]bool{}}
	err := filepath.WalkDir(dir, func(name string, entry fs.DirEntry, err error) error {
		if err == nil && name == dir && !entry.IsDir() {
			err = errors.New("it is no directory, and a link to one is not followed")
		}
		if err != nil || name == dir {
			return err
		}
		below, err := filepath.Rel(dir, name)
		if err != nil {
			return err
		}
		switch below = filepath.ToSlash(below); {
		case entry.IsDir():
			l.dirs[below] = true
		case entry.Type()&fs.ModeSymlink != 0:
			l.links[below], err = os.Readlink(name)
		case !entry.Type().IsRegular():
			l.files[below] = notOurs
		default:
			var content []byte
			content, err = os.ReadFile(name)
			l.files[below] = string(content)
		}
		return err
	})
	return l, err
}

// change makes one layout of another, step by step.
func change(d *disk.Disk, dir string, from, to layout) error {
	var errs []error
	each := func(names []string, do func(name, full string) error) {
		for _, name := range names {
			if len(errs) == 0 {
				if err := do(name, filepath.Join(dir, name)); err != nil {
					errs = append(errs, err)
				}
			}
		}
	}
	remove := func(_, full string) error { return d.Remove(full) }
	each(gone(from.links, to.links), remove)
	each(gone(from.files, to.files), remove)
	each(gone(from.dirs, to.dirs), remove)
	made := gone(to.dirs, from.dirs)
	slices.Reverse(made)
	each(made, func(_, full string) error { return d.MakeDir(full) })
	each(changed(from.files, to.files), func(name, full string) error { return d.Write(full, []byte(to.files[name])) })
	each(changed(from.links, to.links), func(name, full string) error { return d.Link(to.links[name], full) })
	return errors.Join(errs...)
}

// gone are the names that only from has, the deepest first.
func gone[V any](from, to map[string]V) []string {
	var names []string
	for name := range from {
		if _, ok := to[name]; !ok {
			names = append(names, name)
		}
	}
	slices.SortFunc(names, func(a, b string) int {
		return cmp.Or(cmp.Compare(strings.Count(b, "/"), strings.Count(a, "/")), cmp.Compare(a, b))
	})
	return names
}

// changed are the names whose value in to is not that of from, sorted.
func changed(from, to map[string]string) []string {
	var names []string
	for name, value := range to {
		if old, ok := from[name]; !ok || old != value {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}
