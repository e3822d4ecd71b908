package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
)

// errInterrupted says that a person or the system ended the command.
var errInterrupted = errors.New("interrupted")

// writeFile writes a file that appears under its name only when it is complete,
// and leaves nothing behind if it does not come to that. A link stays one: the
// file that it leads to is replaced. What is no file, such as /dev/stdout or a
// pipe, is written to and not replaced.
func writeFile(name string, write func(io.Writer) error) error {
	target, mode, err := outTarget(name)
	if err == nil && mode.IsRegular() {
		err = replaceFile(target, mode, write)
	} else if err == nil {
		err = writeInto(target, write)
	}
	if err != nil {
		return fmt.Errorf("--out %s: %w", name, err)
	}
	return nil
}

// outTarget is what a name leads to, and of which mode that is or is to be.
func outTarget(name string) (string, fs.FileMode, error) {
	info, err := os.Stat(name)
	switch {
	case err == nil && info.IsDir():
		return "", 0, errors.New("is a directory")
	case err == nil && !info.Mode().IsRegular():
		return name, info.Mode(), nil
	case err == nil:
		target, err := filepath.EvalSymlinks(name)
		return target, info.Mode(), err
	}
	if _, linkErr := os.Lstat(name); linkErr == nil {
		return "", 0, fmt.Errorf("is a link that leads nowhere: %w", err)
	}
	dir := filepath.Dir(name)
	if info, err := os.Stat(dir); err != nil || !info.IsDir() {
		return "", 0, fmt.Errorf("there is no directory %s", dir)
	}
	return name, 0o644, nil
}

// writeInto writes to a device or a pipe.
func writeInto(name string, write func(io.Writer) error) error {
	file, err := os.OpenFile(name, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	return errors.Join(write(file), file.Close())
}

// untilInterrupted is done at the first signal to end. A second one has its usual
// effect, in case the disk does not answer.
func untilInterrupted() (context.Context, context.CancelFunc) {
	interrupted, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(interrupted, stop)
	return interrupted, stop
}

// replaceFile writes to a temporary file in the same directory and renames it. A
// signal to end takes that file away again.
func replaceFile(name string, mode fs.FileMode, write func(io.Writer) error) error {
	interrupted, stop := untilInterrupted()
	defer stop()
	file, err := os.CreateTemp(filepath.Dir(name), "."+filepath.Base(name)+".*")
	if err != nil {
		return err
	}
	defer os.Remove(file.Name()) // fails, as it should, after the file has got its name
	err = write(untilDone{interrupted, file})
	if modeErr := file.Chmod(mode.Perm()); err == nil {
		err = modeErr
	}
	if closeErr := file.Close(); err == nil {
		err = closeErr
	}
	if err == nil && interrupted.Err() != nil {
		err = errInterrupted
	}
	if err != nil {
		return err
	}
	return os.Rename(file.Name(), name)
}

// untilDone writes until a context is done.
type untilDone struct {
	done context.Context
	to   io.Writer
}

func (w untilDone) Write(data []byte) (int, error) {
	if w.done.Err() != nil {
		return 0, errInterrupted
	}
	return w.to.Write(data)
}
