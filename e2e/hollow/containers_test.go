package hollow

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/dray-dev/dray/e2e/hollow/shown"
)

const twoDevices = `{
  "cdiVersion": "0.6.0", "kind": "example.com/claim",
  "containerEdits": {"env": ["COMMON=yes"], "mounts": [{"hostPath": "/etc/hosts", "containerPath": "/run/hosts"}]},
  "devices": [
    {"name": "a", "containerEdits": {"deviceNodes": [{"path": "/dev/thing0", "hostPath": "/dev/null"}], "env": ["A=1=2"]}},
    {"name": "b", "containerEdits": {"deviceNodes": [{"path": "/dev/thing1", "hostPath": "/dev/null"}]}}
  ]}`

func TestAContainerGetsWhatTheCDIFilesSay(t *testing.T) {
	dir := t.TempDir()
	write := func(name, content string) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	d := newDevices(dir)
	if _, err := d.resolve([]string{"example.com/claim=a"}); err == nil || !strings.Contains(err.Error(), "example.com/claim=a") {
		t.Errorf("a device that is not there: %v", err)
	}
	// The file is written after the node has started, as drivers do.
	write("claim.json", twoDevices)
	got, err := d.resolve([]string{"example.com/claim=a"})
	want := &shown.Given{CDI: []string{"example.com/claim=a"}, Devices: []string{"/dev/thing0"},
		Env: map[string]string{"COMMON": "yes", "A": "1=2"}, Mounts: map[string]string{"/run/hosts": "/etc/hosts"}}
	if err != nil || !cmp.Equal(got, want) {
		t.Errorf("%v, %s", err, cmp.Diff(want, got))
	}
	// A broken file of somebody else is in nobody's way.
	write("other.json", "{")
	if _, err := d.resolve([]string{"example.com/claim=b"}); err != nil {
		t.Error(err)
	}
	if _, err := d.resolve([]string{"example.com/claim=c"}); err == nil || !strings.Contains(err.Error(), "other.json") {
		t.Errorf("the broken file may have had the device, and is not named: %v", err)
	}
	if got, err := d.resolve(nil); err != nil || len(got.CDI) != 0 {
		t.Errorf("no devices: %v, %v", got, err)
	}
}

func TestAContainerIsToldOfItsOwnSimulatedDevices(t *testing.T) {
	file := filepath.Join(t.TempDir(), "uid.json")
	content := `{"simulated": true, "claim": "uid", "devices": [{"name": "gpu-0", "hardware": {"uuid": "A"}}, {"name": "gpu-1", "hardware": {"uuid": "B"}}]}`
	if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	got, err := readSimulated(file, []string{"example.com/claim=uid-gpu-1", "example.com/claim=other-gpu-0"})
	if err != nil || len(got) != 1 || got[0].Name != "gpu-1" || string(got[0].Hardware) != `{"uuid": "B"}` {
		t.Errorf("%+v, %v", got, err)
	}
}
