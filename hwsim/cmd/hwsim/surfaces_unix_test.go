//go:build unix

package main

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/dray-dev/dray/hwsim/machine"
)

func TestAnInterruptedRackLeavesNothing(t *testing.T) {
	m, err := machine.Load("gb200-nvl72")
	if err != nil {
		t.Fatal(err)
	}
	interrupted, stop := untilInterrupted()
	defer stop()
	if err := syscall.Kill(os.Getpid(), syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	<-interrupted.Done()
	parent := t.TempDir()
	done, err := writeSurfaces(interrupted, m, machine.Identity{Name: "r"}, filepath.Join(parent, "a", "b"))
	if !errors.Is(err, errInterrupted) || len(done) > 0 {
		t.Errorf("%v were written, error %v", done, err)
	}
	if entries, err := os.ReadDir(parent); err != nil || len(entries) > 0 {
		t.Errorf("%s holds %v, error %v", parent, entries, err)
	}
}

// One node of a rack that is in the way keeps all others from being written.
func TestARackIsWrittenAsAWholeOrNotAtAll(t *testing.T) {
	m, err := machine.Load("gb200-nvl72")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	taken := filepath.Join(dir, "r-tray-03")
	if err := os.Mkdir(taken, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(taken, "file"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if done, err := writeSurfaces(context.Background(), m, machine.Identity{Name: "r"}, dir); err == nil || len(done) > 0 {
		t.Errorf("%v were written, error %v", done, err)
	}
	onlyFile(t, dir, "r-tray-03")
}
