// Package atomicfile replaces a file so that a reader, or the next process after
// a crash, sees the old content or the new one and nothing between.
//
// The content goes to a temporary file beside it, which is synced, checked and
// renamed; then the directory is synced. The name of the temporary file is fixed,
// so that what a killed writer left is overwritten by the next one, and so that
// nobody has to search for it: writers of one file exclude each other.
package atomicfile

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// Suffix of the temporary file's name, after the file's own.
const Suffix = ".tmp"

// Writer writes and removes files. The zero Writer is ready for use.
type Writer struct {
	// Step, if set, is called before each single change to the disk with what is
	// about to happen. Tests end the process there.
	Step func(what string)
	// Check, if set, is called with the name of the complete temporary file. If it
	// fails the file is not replaced.
	Check func(temporary string) error
}

func (w *Writer) step(what, path string) {
	if w.Step != nil {
		w.Step(what + " " + filepath.Base(path))
	}
}

// Write replaces the content of a file, or makes it. The directory exists. After
// an error the old content is still there, unless it was the directory that could
// not be synced: then it is either.
func (w *Writer) Write(path string, content []byte, mode fs.FileMode) error {
	temporary := path + Suffix
	if err := w.fill(temporary, content, mode); err != nil {
		w.step("remove", temporary)
		return errors.Join(err, ignoreMissing(os.Remove(temporary)))
	}
	w.step("rename to", path)
	if err := os.Rename(temporary, path); err != nil {
		return err
	}
	w.step("sync the directory of", path)
	return syncDirectory(filepath.Dir(path))
}

func (w *Writer) fill(temporary string, content []byte, mode fs.FileMode) error {
	w.step("create", temporary)
	f, err := os.OpenFile(temporary, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, mode)
	if err != nil {
		return err
	}
	defer f.Close()
	if err := f.Chmod(mode); err != nil { // of one that was left there
		return err
	}
	w.step("write", temporary)
	if _, err := f.Write(content); err != nil {
		return err
	}
	w.step("sync", temporary)
	if err := f.Sync(); err != nil {
		return err
	}
	if w.Check != nil {
		if err := w.Check(temporary); err != nil {
			return err
		}
	}
	return f.Close()
}

// Remove removes a file and what a killed writer left of it. It is no error if
// there is neither.
func (w *Writer) Remove(path string) error {
	changed := false
	for _, name := range []string{path, path + Suffix} {
		if _, err := os.Lstat(name); errors.Is(err, fs.ErrNotExist) {
			continue
		}
		w.step("remove", name)
		if err := ignoreMissing(os.Remove(name)); err != nil {
			return err
		}
		changed = true
	}
	if !changed {
		return nil
	}
	w.step("sync the directory of", path)
	return syncDirectory(filepath.Dir(path))
}

// RemoveLeftover removes what a killed writer left of a file, and not the file.
func (w *Writer) RemoveLeftover(path string) error {
	temporary := path + Suffix
	if _, err := os.Lstat(temporary); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	w.step("remove", temporary)
	return ignoreMissing(os.Remove(temporary))
}

func ignoreMissing(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

func syncDirectory(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer d.Close()
	if err := d.Sync(); err != nil {
		return fmt.Errorf("sync %s: %w", dir, err)
	}
	return nil
}
