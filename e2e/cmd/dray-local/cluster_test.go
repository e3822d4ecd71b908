package main

import (
	"bufio"
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
)

// asMain makes the test's binary dray-local.
const asMain = "DRAY_LOCAL_TEST_MAIN"

func TestMain(m *testing.M) {
	// Children are run with "role"; they inherit the variable as well.
	if os.Getenv(asMain) != "" {
		main()
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// drayLocal is the command as a process.
func drayLocal(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	command := exec.Command(self, args...)
	command.Env = append(os.Environ(), asMain+"=1")
	return command
}

func output(t *testing.T, args ...string) string {
	t.Helper()
	out, err := drayLocal(t, args...).CombinedOutput()
	if err != nil {
		t.Fatalf("dray-local %v: %v\n%s", args, err, out)
	}
	return string(out)
}

func newDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "d")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return filepath.Join(dir, "c")
}

func TestAClusterIsStartedLookedAtAndEnded(t *testing.T) { liveAndEnd(t, newDir(t)) }

// liveAndEnd starts a cluster, looks at it with each command, and removes it.
func liveAndEnd(t *testing.T, dir string) {
	t.Helper()
	up := drayLocal(t, "up", "--dir", dir)
	said, err := up.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := up.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = up.Process.Kill() })
	lines := bufio.NewScanner(said)
	ready := false
	for !ready && lines.Scan() {
		t.Log(lines.Text())
		ready = strings.HasPrefix(lines.Text(), "up after")
	}
	if !ready {
		t.Fatal("it ended before it was up")
	}
	status := output(t, "status", "--dir", dir)
	if strings.Count(status, " ready\n") != 4 {
		t.Errorf("status says\n%s", status)
	}
	kubeconfig := strings.TrimSpace(output(t, "kubeconfig", "--dir", dir))
	if info, err := os.Stat(kubeconfig); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("kubeconfig: %v, %v", info, err)
	}
	if log := output(t, "logs", "kube-apiserver", "--dir", dir); !strings.Contains(log, "Serving securely") {
		t.Errorf("the log is\n%s", log)
	}
	if said := output(t, "down", "--delete", "--dir", dir); said != "removed\n" {
		t.Errorf("down says %q", said)
	}
	_, _ = io.Copy(io.Discard, said)
	if err := up.Wait(); err != nil {
		t.Errorf("up ended with %v", err)
	}
	if _, err := os.Stat(dir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the folder is still there: %v", err)
	}
}

// Killed at moments of its start, each time a little later, and the next start works.
func TestAStartThatWasKilledInTheMiddleIsRepeated(t *testing.T) {
	dir := newDir(t)
	for _, sign := range []string{"pki", "etcd/member/wal", "log/kube-apiserver.log", "kubeconfig/dray-scheduler.yaml"} {
		up := drayLocal(t, "up", "--dir", dir)
		up.Stderr = os.Stderr
		if err := up.Start(); err != nil {
			t.Fatal(err)
		}
		ended := make(chan struct{})
		go func() {
			_ = up.Wait()
			close(ended)
		}()
		err := wait.PollUntilContextTimeout(t.Context(), time.Millisecond, 2*time.Minute, true, func(context.Context) (bool, error) {
			select {
			case <-ended:
				return false, errors.New("it ended by itself")
			default:
			}
			_, err := os.Stat(filepath.Join(dir, sign))
			return err == nil, nil
		})
		if err != nil {
			t.Fatalf("waiting for %s: %v", sign, err)
		}
		if err := up.Process.Signal(syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
		<-ended
	}
	liveAndEnd(t, dir)
}
