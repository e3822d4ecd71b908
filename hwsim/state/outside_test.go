package state_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/dray-dev/dray/hwsim/machine"
	"github.com/dray-dev/dray/hwsim/state"
)

// What others put into a folder, or where one is to be.

func TestADirectoryThatIsNoFolderKeepsWhatItHas(t *testing.T) {
	for _, name := range []string{"root", "events", "temp"} {
		dir := t.TempDir()
		precious := filepath.Join(dir, name, "home", "letter")
		must(t, os.MkdirAll(filepath.Dir(precious), 0o700))
		must(t, os.WriteFile(precious, []byte("dear"), 0o600))
		if _, err := state.Create(dir, load(t, "l40s"), machine.Identity{Name: "n"}); err == nil || !strings.Contains(err.Error(), name+" is in the way") {
			t.Errorf("%s: %v", name, err)
		}
		if _, err := os.Stat(precious); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestAMachineHasANameThatANodeCanHave(t *testing.T) {
	for _, name := range []string{"", "a/b", "../up", "Bad Name", strings.Repeat("x", 300)} {
		dir := filepath.Join(t.TempDir(), "hw")
		if _, err := state.Create(dir, load(t, "l40s"), machine.Identity{Name: name}); err == nil || !strings.Contains(err.Error(), "name") {
			t.Errorf("%q: %v", name, err)
		}
		if _, err := os.Stat(dir); err == nil {
			t.Errorf("%q: there is a folder", name)
		}
	}
}

// A pipe has no end, and who reads it waits, with the lock.
func TestAPipeInTheRootIsTakenAway(t *testing.T) {
	f, _ := small(t)
	pipe := filepath.Join(f.Root(), "sys", "pipe")
	must(t, makePipe(pipe))
	again, err := state.Open(f.Dir())
	must(t, err)
	if _, err := os.Lstat(pipe); err == nil {
		t.Error("it is still there")
	}
	discovered(t, again)
}

func TestARootThatLeadsElsewhereIsNotFollowed(t *testing.T) {
	f, _ := small(t)
	elsewhere := t.TempDir()
	must(t, os.RemoveAll(f.Root()))
	must(t, os.Symlink(elsewhere, f.Root()))
	if _, err := state.Open(f.Dir()); err == nil || !strings.Contains(err.Error(), "no directory") {
		t.Errorf("open: %v", err)
	}
	if entries, err := os.ReadDir(elsewhere); err != nil || len(entries) > 0 {
		t.Errorf("files were made there: %v %v", entries, err)
	}
}

// A state that somebody wrote is refused where it cannot be, and never a panic.
func TestAStateFromOutsideThatCannotBeIsRefused(t *testing.T) {
	f, _ := small(t)
	name := filepath.Join(f.Dir(), "state.json")
	valid, err := os.ReadFile(name)
	must(t, err)
	for what, replaced := range map[string][2]string{
		"a null function beside a virtual one": {`"0000:3b:00.0": {`, `"0000:3b:00.7": null, "0000:3b:00.0": {`},
		"a pending thing of no kind":           {`"lastEvent": 1,`, `"pending": [{"at": "2026-01-02T03:04:05Z", "kind": "rain", "device": "d"}], "lastEvent": 1,`},
		"a device in the pool of a node":       {`"lastEvent": 1,`, `"pending": [{"at": "2026-01-02T03:04:05Z", "kind": "attach-done", "device": "d"}], "lastEvent": 1,`},
		"an interface that is a path":          {`"interface": "ens1v0"`, `"interface": "../../../../x"`},
		"an RDMA device that is a path":        {`"rdma": "mlx5_1"`, `"rdma": "../x"`},
		"a compute mode that there is not":     {`"address": "0000:3b:00.0",`, `"address": "0000:3b:00.0", "computeMode": 99,`},
		"a boot before the first":              {`"number": 1,`, `"number": 0,`},
		"a boot of no kernel":                  {`"id": "`, `"id": "x\n`},
	} {
		text := strings.Replace(string(valid), replaced[0], replaced[1], 1)
		if text == string(valid) {
			t.Fatalf("%s: there is no %s in\n%s", what, replaced[0], valid)
		}
		must(t, os.WriteFile(name, []byte(text), 0o600))
		if _, err := state.Open(f.Dir()); err == nil {
			t.Errorf("%s: it opens", what)
		}
	}
}
