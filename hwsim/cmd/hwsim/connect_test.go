package main

import (
	"bytes"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/dray-dev/dray/hwsim/machine"
	"github.com/dray-dev/dray/hwsim/state"
)

// lastHour is a clock that stands still in the past: what takes a while from then on
// is over for everybody else.
type lastHour struct{ state.SystemClock }

func (c lastHour) Now() time.Time { return c.SystemClock.Now().Add(-time.Hour).Truncate(time.Hour) }

// What a node cannot take is told once, and what it can is there.
func TestConnectGoesOnWithoutWhatCannotBePlugged(t *testing.T) {
	dir := t.TempDir()
	m, err := machine.Load("fabric-pool")
	if err != nil {
		t.Fatal(err)
	}
	pool, err := state.Create(filepath.Join(dir, "pool"), m, machine.Identity{Name: "pool"}, state.WithClock(lastHour{}))
	if err != nil {
		t.Fatal(err)
	}
	err = pool.Update(func(tx *state.Tx) error {
		for _, device := range []string{"l40s-0", "alveo-v80-0", "l40s-1"} {
			if err := tx.Attach(device, "sriov-nic"); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	output(t, "run", "sriov-nic", "--dir", filepath.Join(dir, "node"), "--until-done")
	var stdout, stderr bytes.Buffer
	code := run([]string{"run", "--dir", filepath.Join(dir, "pool"), "--connect", filepath.Join(dir, "node"), "--until-done"}, &stdout, &stderr)
	want := "device l40s-0 of pool pool on node sriov-nic: the NVIDIA driver is not loaded\n" +
		"device l40s-1 of pool pool on node sriov-nic: the NVIDIA driver is not loaded\n"
	if code != exitOK || stderr.String() != want {
		t.Errorf("exit %d, and it says\n%s\nnot\n%s", code, stderr.String(), want)
	}
	if text := output(t, "state", "--dir", filepath.Join(dir, "node")); !strings.Contains(text, "Alveo V80") {
		t.Errorf("there is no Alveo V80:\n%s", text)
	}
}
