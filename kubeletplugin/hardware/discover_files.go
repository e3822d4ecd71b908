package hardware

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"strconv"
	"strings"
)

// files reads the small files of sysfs and procfs.
type files struct{ host Host }

// maxFileBytes bounds what is read of a file. Those of sysfs have at most a page,
// and those of procfs that are read here little more.
const maxFileBytes = 1 << 20

// text is the content without the line break at its end.
func (f files) text(name string) (string, error) {
	file, err := f.host.Open(name)
	if err != nil {
		return "", err
	}
	defer file.Close()
	data, err := io.ReadAll(io.LimitReader(file, maxFileBytes+1))
	if err != nil {
		return "", err
	}
	if len(data) > maxFileBytes {
		return "", fmt.Errorf("%s has more than %d bytes", name, maxFileBytes)
	}
	return strings.TrimSpace(string(data)), nil
}

// optional is the content of a file that need not be there, or that the kernel
// refuses to show at the moment, as it does with the speed of a link that is
// down; then it is empty.
func (f files) optional(name string) string {
	text, err := f.text(name)
	if err != nil {
		return ""
	}
	return text
}

// number reads a number with bits bits: "0x10de", "15360". Without the file, it
// is missing, if that is not nil.
func (f files) number(name string, bits int, missing *uint64) (uint64, error) {
	text, err := f.text(name)
	if err != nil {
		if missing != nil && errors.Is(err, fs.ErrNotExist) {
			return *missing, nil
		}
		return 0, err
	}
	n, err := strconv.ParseUint(text, 0, bits)
	if err != nil {
		return 0, fmt.Errorf("%s holds %s, which must be a number of up to %d bits", name, quoteShort(text), bits)
	}
	return n, nil
}

// quoteShort quotes the beginning of a file's content.
func quoteShort(text string) string {
	if len(text) > 40 {
		return strconv.Quote(text[:40]) + "…"
	}
	return strconv.Quote(text)
}

// target is where a link leads, below the root.
func (f files) target(name string) (string, error) {
	link, err := f.host.ReadLink(name)
	if err != nil {
		return "", err
	}
	if !path.IsAbs(link) {
		link = path.Join("/", path.Dir(name), link)
	}
	return strings.TrimPrefix(path.Clean(link), "/"), nil
}

// exists says whether there is such a file.
func (f files) exists(name string) bool {
	_, err := f.host.Lstat(name)
	return err == nil
}

// list is the names in a directory, sorted; none if there is no such directory.
func (f files) list(dir string) []string {
	entries, err := fs.ReadDir(f.host, dir)
	if err != nil {
		return nil
	}
	names := make([]string, len(entries))
	for i, entry := range entries {
		names[i] = entry.Name()
	}
	return names
}

// classEntry is an entry of sys/class/<class> that belongs to a PCI function.
type classEntry struct {
	name     string
	dir      string // what the entry links to
	function PCIAddress
	// within is the directories between the function's and this one, this one last.
	within []string
}

// class lists the entries that belong to PCI functions. Others, and files that
// are no links, such as bonding_masters, are passed over.
func (f files) class(class string) []classEntry {
	var entries []classEntry
	dir := path.Join("sys/class", class)
	for _, entry := range f.list(dir) {
		target, err := f.target(path.Join(dir, entry))
		if err != nil {
			continue
		}
		elements := strings.Split(target, "/")
		for i := len(elements) - 1; i >= 0; i-- {
			if address, err := ParsePCIAddress(elements[i]); err == nil {
				entries = append(entries, classEntry{entry, target, address, elements[i+1:]})
				break
			}
		}
	}
	return entries
}

// suffixNumber reads N of "regionN". It has one form only: no sign, no zeros in
// front.
func suffixNumber(name, prefix string) (n int, ok bool) {
	digits, ok := strings.CutPrefix(name, prefix)
	if !ok {
		return 0, false
	}
	number, err := strconv.ParseUint(digits, 10, 31)
	return int(number), err == nil && strconv.FormatUint(number, 10) == digits
}
