package main

import (
	"bufio"
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
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
	up, said := startUp(t, dir)
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

// startUp runs dray-local up, and returns when it is up.
func startUp(t *testing.T, dir string, flags ...string) (up *exec.Cmd, said io.Reader) {
	t.Helper()
	up = drayLocal(t, append([]string{"up", "--dir", dir}, flags...)...)
	said, err := up.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := up.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = up.Process.Kill() })
	lines := bufio.NewScanner(said)
	for lines.Scan() {
		t.Log(lines.Text())
		if strings.HasPrefix(lines.Text(), "up after") {
			return up, said
		}
	}
	t.Fatal("it ended before it was up")
	return nil, nil
}

func TestNodesStayInTheFolderHoweverTheClusterEnds(t *testing.T) {
	dir := newDir(t)
	up, _ := startUp(t, dir, "--machine", "l40s=2", "--mig", "off", "--capacity", "example.com/fpga=3")
	check := func() {
		t.Helper()
		status := output(t, "status", "--dir", dir)
		if strings.Count(status, " ready\n") != 6 {
			t.Errorf("status says\n%s", status)
		}
		for _, node := range []string{"l40s-0", "l40s-1"} {
			fields := []string{}
			for line := range strings.Lines(status) {
				if strings.HasPrefix(line, node+" ") {
					fields = strings.Fields(line)
				}
			}
			if want := []string{node, "l40s", "ready", "4", "1", "gpu.dray.dev"}; !slices.Equal(fields, want) {
				t.Errorf("node %s is %v and not %v", node, fields, want)
			}
		}
		if log := output(t, "logs", "hollow-nodes", "--dir", dir); !strings.Contains(log, "l40s-1") {
			t.Errorf("the log is\n%s", log)
		}
	}
	check()
	for _, command := range [][]string{{"restart", "dray-scheduler", "--kill"}, {"restart", "dray-kubeletplugin-sim"}, {"update-driver"}, {"node", "stop", "l40s-0"}} {
		output(t, append(command, "--dir", dir)...)
	}
	if status := output(t, "status", "--dir", dir); !strings.Contains(status, "stopped") {
		t.Errorf("a node was stopped, and status says\n%s", status)
	}
	output(t, "node", "start", "l40s-0", "--dir", dir)
	if err := up.Process.Signal(syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	_ = up.Wait()
	startUp(t, dir)
	check()
	output(t, "down", "--delete", "--dir", dir)
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
