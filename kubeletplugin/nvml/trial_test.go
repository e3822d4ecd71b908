//go:build cgo && linux

package nvml

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/NVIDIA/go-nvml/pkg/nvml"

	"github.com/dray-dev/dray/kubeletplugin/hardware"
)

// install compiles a library that answers Init with a code, and puts it in its place as
// an upgrade does: another file by the same name.
func install(t *testing.T, path string, code nvml.Return) {
	t.Helper()
	compiler, err := exec.LookPath("cc")
	if err != nil {
		t.Skip("there is no C compiler")
	}
	source := filepath.Join(t.TempDir(), "library.c")
	text := fmt.Sprintf(`
int nvmlInit_v2(void) { return %d; }
int nvmlShutdown(void) { return 0; }
int nvmlSystemGetDriverVersion(char *version, unsigned length) { version[0] = '0' + %d; version[1] = 0; return 0; }
`, code, code)
	if err := os.WriteFile(source, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command(compiler, "-shared", "-fPIC", "-o", path+".new", source).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if err := os.Rename(path+".new", path); err != nil {
		t.Fatal(err)
	}
}

// TestALibraryThatIsUpgradedIsLoaded while it was not used, in any order of what an
// upgrade does; and afterwards only another process can load it, and that is said.
func TestALibraryThatIsUpgradedIsLoaded(t *testing.T) {
	path := filepath.Join(t.TempDir(), "libnvidia-ml.so.1")
	l := New(path)
	if err := l.Init(); !errors.Is(err, hardware.ErrGPULibraryNotFound) {
		t.Fatalf("before it is installed: %v", err)
	}
	for _, step := range []struct {
		code nvml.Return
		want error
	}{
		{nvml.ERROR_DRIVER_NOT_LOADED, hardware.ErrGPUDriverNotLoaded}, {nvml.ERROR_LIB_RM_VERSION_MISMATCH, hardware.ErrGPULibraryMismatch},
		{nvml.ERROR_UNKNOWN, hardware.ErrGPUUnknown}, {nvml.ERROR_LIB_RM_VERSION_MISMATCH, hardware.ErrGPULibraryMismatch},
	} {
		install(t, path, step.code)
		for range 2 {
			if err := l.Init(); !errors.Is(err, step.want) || errors.Is(err, hardware.ErrGPULibraryStale) {
				t.Fatalf("a library that answers %d: %v", step.code, err)
			}
		}
	}
	install(t, path, nvml.SUCCESS)
	if err := l.Init(); err != nil {
		t.Fatalf("the library that fits: %v", err)
	}
	if version, err := l.DriverVersion(); err != nil || version != "0" {
		t.Errorf("it is version %q, %v", version, err)
	}
	if err := l.Shutdown(); err != nil {
		t.Error(err)
	}
}

// TestALibraryInUseThatFitsNoMoreIsStale: it does not wait for what cannot happen.
func TestALibraryInUseThatFitsNoMoreIsStale(t *testing.T) {
	s, l := newServer(t)
	tried := 0
	l.try = func() error { tried++; return nil }
	s.InitFunc = func() nvml.Return { return nvml.ERROR_LIB_RM_VERSION_MISMATCH }
	if err := l.Init(); !errors.Is(err, hardware.ErrGPULibraryStale) || !errors.Is(err, hardware.ErrGPULibraryMismatch) {
		t.Errorf("it says %v", err)
	}
	if tried > 0 {
		t.Error("a library that is in use was tried")
	}
}
