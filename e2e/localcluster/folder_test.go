package localcluster

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestTheSchedulerRunsTheConfigurationThatIsShipped(t *testing.T) {
	shipped, err := os.ReadFile("../../deploy/scheduler/config.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(shipped, shippedConfig) {
		t.Error("scheduler.yaml is not deploy/scheduler/config.yaml: copy it")
	}
}

func TestTheDriverHasTheRightsThatAreShipped(t *testing.T) {
	shipped, err := os.ReadFile("../../deploy/kubeletplugin/rbac.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(shipped, shippedRights) {
		t.Error("driver.yaml is not deploy/kubeletplugin/rbac.yaml: copy it")
	}
	rights, err := readRights("gpu.example.com")
	if err != nil {
		t.Fatal(err)
	}
	if last := rights.role.Rules[len(rights.role.Rules)-1]; len(last.ResourceNames) != 1 || last.ResourceNames[0] != "gpu.example.com" {
		t.Errorf("the last rule is %+v", last)
	}
}

func newFolder(t *testing.T) folder {
	t.Helper()
	dir, err := openFolder(filepath.Join(t.TempDir(), "cluster"))
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

func TestDataOfAnotherVersionIsRefused(t *testing.T) {
	for name, test := range map[string]struct {
		content string
		other   bool
		want    []string
	}{
		"a later layout":      {`{"layout": 99, "kubernetes": "1.37"}`, true, []string{"layout 99", "remove"}},
		"another Kubernetes":  {`{"layout": 1, "kubernetes": "1.31"}`, true, []string{"Kubernetes 1.31", "1.37"}},
		"half a file":         {`{"layout": 1, "kub`, false, []string{"cluster.json", "damaged"}},
		"something of others": {`{}`, true, []string{"layout 0"}},
	} {
		t.Run(name, func(t *testing.T) {
			dir := newFolder(t)
			if err := os.WriteFile(dir.path("cluster.json"), []byte(test.content), 0o600); err != nil {
				t.Fatal(err)
			}
			_, err := readState(dir)
			if err == nil || errors.Is(err, ErrOtherVersion) != test.other {
				t.Fatalf("got %v", err)
			}
			for _, want := range append(test.want, string(dir)) {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("%q does not say %q", err, want)
				}
			}
		})
	}
}

func TestTheStateIsReadBackAsWritten(t *testing.T) {
	dir := newFolder(t)
	s, err := readState(dir)
	if err != nil {
		t.Fatal(err)
	}
	s.Ports[APIServer] = 1234
	if err := s.write(dir); err != nil {
		t.Fatal(err)
	}
	again, err := readState(dir)
	if err != nil || again.port(APIServer) != "1234" {
		t.Errorf("got %v, %v", again, err)
	}
}

func TestAFolderThatCannotBeMadeIsNamed(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := openFolder(filepath.Join(file, "cluster")); err == nil || !strings.Contains(err.Error(), file) {
		t.Errorf("got %v", err)
	}
}

func TestAFolderHasOneOwner(t *testing.T) {
	dir := newFolder(t)
	lock, err := lockFolder(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := lockFolder(t.Context(), dir); !errors.Is(err, ErrRunning) || !strings.Contains(err.Error(), string(dir)) {
		t.Errorf("the second owner is told %v", err)
	}
	if err := lock.Close(); err != nil {
		t.Fatal(err)
	}
	if lock, err = lockFolder(t.Context(), dir); err != nil {
		t.Fatalf("after the first is gone: %v", err)
	}
	_ = lock.Close()
}

func TestCertificatesAreMadeOnceAndWhole(t *testing.T) {
	dir := newFolder(t)
	// What a program that was killed left behind.
	if err := os.MkdirAll(dir.path("pki.new"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(dir.path("pki.new/ca.key"), []byte("half"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := makePKI(dir, time.Now()); err != nil {
		t.Fatal(err)
	}
	if _, err := healthClient(dir); err != nil {
		t.Fatal(err)
	}
	before, err := os.ReadFile(dir.pki("ca.crt"))
	if err != nil {
		t.Fatal(err)
	}
	if err := makePKI(dir, time.Now()); err != nil {
		t.Fatal(err)
	}
	after, err := os.ReadFile(dir.pki("ca.crt"))
	if err != nil || !bytes.Equal(before, after) {
		t.Errorf("the authority changed, or %v", err)
	}
}
