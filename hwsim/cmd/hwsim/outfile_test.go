//go:build unix

package main

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

func hello(w io.Writer) error {
	_, err := io.WriteString(w, "hello")
	return err
}

// onlyFile fails unless a directory holds one entry of the name.
func onlyFile(t *testing.T, dir, name string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 1 || entries[0].Name() != name {
		t.Errorf("%s holds %v, error %v; want %s alone", dir, entries, err, name)
	}
}

func TestAPipeIsWrittenToAndNotReplaced(t *testing.T) {
	dir := t.TempDir()
	pipe := filepath.Join(dir, "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	reader, err := os.OpenFile(pipe, os.O_RDWR, 0) // does not wait for a writer
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Close()
	if err := writeFile(pipe, hello); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Lstat(pipe); err != nil || info.Mode().Type() != os.ModeNamedPipe {
		t.Fatalf("there is no pipe any more: %v, error %v", info.Mode(), err)
	}
	data := make([]byte, 5)
	if _, err := io.ReadFull(reader, data); err != nil || string(data) != "hello" {
		t.Errorf("read %q, error %v", data, err)
	}
	onlyFile(t, dir, "pipe")
}

func TestALinkStaysAndItsFileIsReplacedWithItsMode(t *testing.T) {
	dir, other := t.TempDir(), t.TempDir()
	file, link := filepath.Join(dir, "file"), filepath.Join(other, "link")
	if err := os.WriteFile(file, []byte("longer than it will be"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(file, link); err != nil {
		t.Fatal(err)
	}
	if err := writeFile(link, hello); err != nil {
		t.Fatal(err)
	}
	if target, err := os.Readlink(link); err != nil || target != file {
		t.Errorf("the link leads to %q, error %v", target, err)
	}
	info, err := os.Stat(file)
	if err != nil || info.Mode().Perm() != 0o600 || info.Size() != 5 {
		t.Errorf("the file is %v, error %v", info, err)
	}
	onlyFile(t, dir, "file")
	onlyFile(t, other, "link")
}

func TestNothingIsMadeForANameThatCannotBeWritten(t *testing.T) {
	dir := t.TempDir()
	nowhere := filepath.Join(dir, "nowhere")
	if err := os.Symlink(filepath.Join(dir, "missing"), nowhere); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{dir, nowhere, filepath.Join(dir, "missing", "file")} {
		if err := writeFile(name, func(io.Writer) error { t.Errorf("%s: something was written", name); return nil }); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	onlyFile(t, dir, "nowhere")
}

func TestAnInterruptLeavesTheOldFileAndNothingElse(t *testing.T) {
	dir := t.TempDir()
	name := filepath.Join(dir, "file")
	if err := os.WriteFile(name, []byte("old"), 0o600); err != nil {
		t.Fatal(err)
	}
	err := writeFile(name, func(w io.Writer) error {
		if err := syscall.Kill(os.Getpid(), syscall.SIGINT); err != nil {
			return err
		}
		for { // the signal arrives some time
			if err := hello(w); err != nil {
				return err
			}
		}
	})
	if !errors.Is(err, errInterrupted) {
		t.Errorf("error %v", err)
	}
	if data, err := os.ReadFile(name); err != nil || string(data) != "old" {
		t.Errorf("the file is %q, error %v", data, err)
	}
	onlyFile(t, dir, "file")
}
