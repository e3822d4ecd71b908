package surface

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/dray-dev/dray/kubeletplugin/hardware"
)

// tree is a folder before it is on disk. Names are relative to its root.
type tree struct {
	files map[string]string
	links map[string]string // to what each leads, from the root as well
	dirs  []string          // which are there even if they are empty
	errs  []error
}

func newTree() *tree { return &tree{files: map[string]string{}, links: map[string]string{}} }

// raw adds a file. Two devices may say the same of one file, not different
// things.
func (t *tree) raw(name, content string) {
	if known, ok := t.files[name]; ok && known != content {
		t.errs = append(t.errs, fmt.Errorf("%s would hold %q for one device and %q for another", name, known, content))
		return
	}
	t.files[name] = content
}

// line adds a file with one line, as most of sysfs are.
func (t *tree) line(name, format string, args ...any) {
	t.raw(name, fmt.Sprintf(format, args...)+"\n")
}

// link adds a link from a name to another name of the tree.
func (t *tree) link(name, target string) {
	if known, ok := t.links[name]; ok && known != target {
		t.errs = append(t.errs, fmt.Errorf("%s would lead to %s for one device and to %s for another", name, known, target))
		return
	}
	t.links[name] = target
}

// device adds a device node.
func (t *tree) device(name string, node hardware.DeviceNode) {
	t.line(path.Join("dev", name), "%s", node)
}

// write puts the tree into an empty folder.
func (t *tree) write(dir string) error {
	if err := errors.Join(t.errs...); err != nil {
		return err
	}
	for _, name := range t.dirs {
		if err := os.MkdirAll(filepath.Join(dir, name), 0o755); err != nil {
			return err
		}
	}
	made := map[string]bool{}
	parent := func(name string) error {
		parent := filepath.Join(dir, path.Dir(name))
		if made[parent] {
			return nil
		}
		made[parent] = true
		return os.MkdirAll(parent, 0o755)
	}
	for _, name := range slices.Sorted(maps.Keys(t.files)) {
		if err := parent(name); err != nil {
			return err
		}
		if err := writeNew(filepath.Join(dir, name), t.files[name]); err != nil {
			return err
		}
	}
	for _, name := range slices.Sorted(maps.Keys(t.links)) {
		if err := parent(name); err != nil {
			return err
		}
		if err := os.Symlink(relative(name, t.links[name]), filepath.Join(dir, name)); err != nil {
			return err
		}
	}
	return nil
}

// writeNew writes a file that is not there yet.
func writeNew(name, content string) error {
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return err
	}
	_, err = f.WriteString(content)
	return errors.Join(err, f.Close())
}

// relative is what a link at name must hold to lead to target. No directory on
// the way to name is a link.
func relative(name, target string) string {
	from, to := strings.Split(path.Dir(name), "/"), strings.Split(target, "/")
	for len(from) > 0 && len(to) > 1 && from[0] == to[0] {
		from, to = from[1:], to[1:]
	}
	return strings.Repeat("../", len(from)) + strings.Join(to, "/")
}

// empty says whether the directory holds nothing.
func empty(dir string) (bool, error) {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return true, nil
	}
	return len(entries) == 0, err
}
