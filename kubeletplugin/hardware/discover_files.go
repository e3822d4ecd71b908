package hardware

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"strconv"
	"strings"
	"syscall"
)

// files reads the small files of sysfs and procfs. What need not be there is
// passed over only if it is not there; if it cannot be read, unread is told.
type files struct {
	host   Host
	unread func(name string, err error)
}

// isAbsent says whether a file is not there, or is one of sysfs that has nothing
// to say now: the speed of a link that is down is EINVAL or ENODEV, the port name
// of a driver without one EOPNOTSUPP, the function of a port in reset EBUSY.
func isAbsent(err error) bool {
	for _, absent := range [...]error{fs.ErrNotExist, syscall.EINVAL, syscall.ENODEV, syscall.EOPNOTSUPP, syscall.EBUSY} {
		if errors.Is(err, absent) {
			return true
		}
	}
	return false
}

// isNoLink says whether a file is not there or no link.
func isNoLink(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrInvalid) || errors.Is(err, syscall.EINVAL)
}

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

// optional is the content of a file that need not be there or have something to
// say; then it is empty.
func (f files) optional(name string) string {
	text, err := f.text(name)
	if err != nil {
		if !isAbsent(err) {
			f.unread(name, err)
		}
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

// optionalTarget is where a link leads that need not be there.
func (f files) optionalTarget(name string) (target string, ok bool) {
	target, err := f.target(name)
	if err != nil && !isNoLink(err) {
		f.unread(name, err)
	}
	return target, err == nil
}

// exists says whether there is such a file.
func (f files) exists(name string) bool {
	_, err := f.host.Lstat(name)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		f.unread(name, err)
	}
	return err == nil
}

// list is the names in a directory, sorted; none if there is no such directory.
func (f files) list(dir string) []string {
	entries, err := fs.ReadDir(f.host, dir)
	if err != nil {
		if !isAbsent(err) {
			f.unread(dir, err)
		}
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
		target, ok := f.optionalTarget(path.Join(dir, entry))
		if !ok {
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
