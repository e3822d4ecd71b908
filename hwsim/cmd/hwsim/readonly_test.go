package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/dray-dev/dray/hwsim/state"
)

// Root may write everywhere, so this is for users; lookAt's other half is the package
// state's to test.
func TestAFolderThatMayNotBeWrittenToIsLookedAt(t *testing.T) {
	if os.Geteuid() == 0 {
		t.Skip("root may write to every folder")
	}
	dir := filepath.Join(t.TempDir(), "hw")
	made := output(t, "run", "dgx-h100", "--dir", dir, "--until-done")
	before := output(t, "state", "--dir", dir)
	for _, name := range []string{"lock", "."} {
		if err := os.Chmod(filepath.Join(dir, name), 0o555); err != nil {
			t.Fatal(err)
		}
	}
	t.Cleanup(func() { os.Chmod(dir, 0o755) })
	if after := output(t, "state", "--dir", dir); after != before || made == "" {
		t.Errorf("it is another machine:\n%s", after)
	}
	if text := output(t, "mig", "--dir", dir); !strings.Contains(text, "GPU-") {
		t.Errorf("mig prints %s", text)
	}
	if text := output(t, "mig", "profiles", "--dir", dir, "--gpu", "0"); !strings.Contains(text, "1g.10gb") {
		t.Errorf("mig profiles prints %s", text)
	}
	if _, err := state.Open(dir); err == nil {
		t.Error("it can be written to, so this shows nothing")
	}
}
