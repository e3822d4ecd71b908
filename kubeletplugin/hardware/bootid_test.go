package hardware_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/dray-dev/dray/kubeletplugin/hardware"
)

func TestBootIDIsTheKernels(t *testing.T) {
	root := t.TempDir()
	host, err := hardware.HostDir(root)
	if err != nil {
		t.Fatal(err)
	}
	if id, err := hardware.BootID(host); err == nil {
		t.Errorf("a machine that does not tell: %q", id)
	}
	dir := filepath.Join(root, "proc/sys/kernel/random")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	for content, want := range map[string]string{"": "", "\n": "", "4c1e8a52-0001\n": "4c1e8a52-0001"} {
		if err := os.WriteFile(filepath.Join(dir, "boot_id"), []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
		if id, err := hardware.BootID(host); id != want || (err == nil) != (want != "") {
			t.Errorf("%q is read as %q, %v", content, id, err)
		}
	}
}
