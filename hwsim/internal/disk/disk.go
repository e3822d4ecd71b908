// Package disk changes files in steps that a reader sees wholly or not at all.
//
// Every change goes through a Disk, one step at a time, so that a test can stop a
// program before any of them, as a kill would, and look at what it left. A step is
// what the system does at once: a rename, a link, a removal. What is written is
// written beside its place and then renamed into it.
package disk

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

// Disk makes changes. Its methods are for one goroutine at a time.
type Disk struct {
	// Temp is a directory on the same file system, in which files are before they are
	// in their place. What a killed writer left there is overwritten.
	Temp string
	// Before is asked before each step, and its error returned in the step's place.
	// Nil lets everything happen.
	Before func(step string) error
}

func (d *Disk) before(step, name string) error {
	if d.Before == nil {
		return nil
	}
	return d.Before(step + " " + name)
}

func (d *Disk) temp() string { return filepath.Join(d.Temp, "new") }

// createTemp makes the file that will be renamed. A killed writer may have left a
// link there, which must not be followed.
func (d *Disk) createTemp() (*os.File, error) {
	if err := os.Remove(d.temp()); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	return os.OpenFile(d.temp(), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
}

// Write makes a file of the content, or replaces one. It may be lost when the
// machine fails; see WriteSynced.
func (d *Disk) Write(name string, content []byte) error { return d.write(name, content, false) }

// WriteSynced is Write, and does not return before the file would survive a failure
// of the machine.
func (d *Disk) WriteSynced(name string, content []byte) error { return d.write(name, content, true) }

func (d *Disk) write(name string, content []byte, sync bool) error {
	if err := d.before("write", name); err != nil {
		return err
	}
	f, err := d.createTemp()
	if err != nil {
		return err
	}
	_, err = f.Write(content)
	if err == nil && sync {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	if err := d.before("rename", name); err != nil {
		return err
	}
	if err := os.Rename(d.temp(), name); err != nil || !sync {
		return err
	}
	return SyncDir(filepath.Dir(name))
}

// SyncDir makes the names in a directory survive a failure of the machine.
func SyncDir(dir string) error {
	f, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}

// Append adds to the end of a file, which is made if it is missing, and syncs it.
func (d *Disk) Append(name string, content []byte) error {
	_, missing := os.Lstat(name)
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o644)
	if err != nil {
		return err
	}
	// Half of the content, then the rest: a kill in between leaves a torn end, which
	// readers have to bear.
	half := len(content) / 2
	for _, part := range [][]byte{content[:half], content[half:]} {
		if err = d.before("append", name); err != nil {
			break
		}
		if _, err = f.Write(part); err != nil {
			break
		}
	}
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil || missing == nil {
		return err
	}
	if err := d.before("sync", filepath.Dir(name)); err != nil {
		return err
	}
	return SyncDir(filepath.Dir(name))
}

// Truncate cuts a file.
func (d *Disk) Truncate(name string, size int64) error {
	if err := d.before("truncate", name); err != nil {
		return err
	}
	return os.Truncate(name, size)
}

// Link makes a symbolic link, or replaces one, or a file.
func (d *Disk) Link(target, name string) error {
	if err := d.before("link", name); err != nil {
		return err
	}
	if err := os.Remove(d.temp()); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := os.Symlink(target, d.temp()); err != nil {
		return err
	}
	if err := d.before("rename", name); err != nil {
		return err
	}
	return os.Rename(d.temp(), name)
}

// MakeDir makes a directory, and those above it.
func (d *Disk) MakeDir(name string) error {
	if err := d.before("make", name); err != nil {
		return err
	}
	return os.MkdirAll(name, 0o755)
}

// Remove removes a file, a link or an empty directory. One that is not there is
// removed already.
func (d *Disk) Remove(name string) error {
	if err := d.before("remove", name); err != nil {
		return err
	}
	if err := os.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}
