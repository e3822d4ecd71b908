package command

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/status"
	"k8s.io/apimachinery/pkg/util/wait"
	logsapi "k8s.io/component-base/logs/api/v1"

	"github.com/dray-dev/dray/kubeletplugin/hardware"
)

// patience is how long something may take that happens at once on an idle machine.
const patience = 2 * time.Minute

func TestMain(m *testing.M) {
	logsapi.ReapplyHandling = logsapi.ReapplyHandlingIgnoreUnchanged // commands of one process
	os.Exit(m.Run())
}

// freePort is one that nobody listens on just now.
func freePort(t *testing.T) int {
	t.Helper()
	listener, err := net.Listen("tcp", ":0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	return listener.Addr().(*net.TCPAddr).Port
}

// started is a command that runs for nodes without GPUs and without an API server.
type started struct {
	t       *testing.T
	dir     string
	metrics int
	health  int
	stop    func()
	code    chan int
	output  *bytes.Buffer
}

func start(t *testing.T, nodes int, args ...string) *started {
	t.Helper()
	return startWith(t, nil, nodes, args...)
}

// startWith starts a command of which the first node has a GPU library.
func startWith(t *testing.T, library hardware.GPULibrary, nodes int, args ...string) *started {
	t.Helper()
	dir, err := os.MkdirTemp("", "dray") // sockets have short paths
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	write := func(name, text string) {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o750); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("host/proc/sys/kernel/random/boot_id", "boot-1\n")
	write("kubeconfig", fmt.Sprintf(`{"apiVersion": "v1", "kind": "Config", "current-context": "c",
"clusters": [{"name": "c", "cluster": {"server": "http://127.0.0.1:%d"}}], "contexts": [{"name": "c", "context": {"cluster": "c"}}]}`, freePort(t)))
	host, err := hardware.HostDir(filepath.Join(dir, "host"))
	if err != nil {
		t.Fatal(err)
	}
	s := &started{t: t, dir: dir, metrics: freePort(t), health: freePort(t), code: make(chan int, 1), output: &bytes.Buffer{}}
	ctx, cancel := context.WithCancel(t.Context())
	s.stop = sync.OnceFunc(func() {
		cancel()
		select {
		case code := <-s.code:
			if code != exitOK {
				t.Errorf("it ends with code %d: %s", code, s.output)
			}
		case <-time.After(patience):
			t.Fatal("it does not end")
		}
	})
	t.Cleanup(s.stop)
	args = append([]string{"--kubeconfig", filepath.Join(dir, "kubeconfig"), "--kubelet-root", filepath.Join(dir, "{node}"), "--cdi-root",
		filepath.Join(dir, "cdi", "{node}"), "--metrics-port", fmt.Sprint(s.metrics), "--healthcheck-port", fmt.Sprint(s.health)}, args...)
	go func() {
		s.code <- Run(ctx, "driver", &empty{host: host, nodes: nodes, library: library}, args, s.output, s.output)
	}()
	return s
}

func (s *started) eventually(what string, ask func() error) {
	s.t.Helper()
	var last error
	err := wait.PollUntilContextTimeout(s.t.Context(), 10*time.Millisecond, patience, true, func(context.Context) (bool, error) {
		last = ask()
		return last == nil, nil
	})
	if err != nil {
		s.t.Fatalf("%s: %v", what, last)
	}
}

func (s *started) check(service string) (grpc_health_v1.HealthCheckResponse_ServingStatus, error) {
	connection, err := grpc.NewClient(fmt.Sprintf("127.0.0.1:%d", s.health), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return 0, err
	}
	defer connection.Close()
	response, err := grpc_health_v1.NewHealthClient(connection).Check(s.t.Context(), &grpc_health_v1.HealthCheckRequest{Service: service})
	return response.GetStatus(), err
}

// TestAProcessServesEachOfItsNodes, is healthy without GPUs and without an API server,
// counts, and removes its sockets at the end.
func TestAProcessServesEachOfItsNodes(t *testing.T) {
	s := start(t, 3)
	nodes := []string{"node", "node-1", "node-2"}
	s.eventually("health", func() error {
		if got, err := s.check(""); err != nil || got != grpc_health_v1.HealthCheckResponse_SERVING {
			return fmt.Errorf("%s, %v", got, err)
		}
		return nil
	})
	for _, service := range []string{"liveness", "readiness"} {
		if got, err := s.check(service); err != nil || got != grpc_health_v1.HealthCheckResponse_SERVING {
			t.Errorf("%s: %s, %v", service, got, err)
		}
	}
	if _, err := s.check("fridge"); status.Code(err) != codes.NotFound {
		t.Errorf("a service that there is not: %v", err)
	}
	sockets := func() (found []string) {
		for _, node := range nodes {
			for _, name := range []string{"plugins_registry/gpu.dray.dev-reg.sock", "plugins/gpu.dray.dev/dra.sock"} {
				if _, err := os.Stat(filepath.Join(s.dir, node, name)); err == nil {
					found = append(found, node+"/"+name)
				}
			}
		}
		return found
	}
	if found := sockets(); len(found) != 2*len(nodes) {
		t.Errorf("there are the sockets %v", found)
	}
	s.eventually("metrics", func() error {
		response, err := http.Get(fmt.Sprintf("http://127.0.0.1:%d/metrics", s.metrics))
		if err != nil {
			return err
		}
		defer response.Body.Close()
		text, err := io.ReadAll(response.Body)
		if err != nil {
			return err
		}
		for _, series := range []string{
			`dray_kubeletplugin_claim_operations_total{driver_name="gpu.dray.dev",operation="prepare",result="error"} 0`,
			`dray_kubeletplugin_publish_errors_total{driver_name="gpu.dray.dev",reason="dropped-fields"} 0`,
		} {
			if !strings.Contains(string(text), series) {
				return fmt.Errorf("there is no %s in %s", series, text)
			}
		}
		return nil
	})
	// Somebody removes a socket: the kubelet cannot reach the driver any more.
	if err := os.Remove(filepath.Join(s.dir, "node-1/plugins/gpu.dray.dev/dra.sock")); err != nil {
		t.Fatal(err)
	}
	if got, err := s.check("liveness"); err != nil || got != grpc_health_v1.HealthCheckResponse_NOT_SERVING {
		t.Errorf("without the socket of one node: %s, %v", got, err)
	}
	s.stop()
	if found := sockets(); len(found) != 0 {
		t.Errorf("there are still %v", found)
	}
}

// answering is a library whose Init answers what it is told to.
type answering struct {
	hardware.GPULibrary
	mu     sync.Mutex
	answer error
}

func (l *answering) Init() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.answer
}

func (l *answering) answers(err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.answer = err
}

// TestADriverThatCannotSeeItsHardwareDoesNotServe, and is alive all the same: another
// process would not see more. If one would, then the process ends.
func TestADriverThatCannotSeeItsHardwareDoesNotServe(t *testing.T) {
	const serving, notServing = grpc_health_v1.HealthCheckResponse_SERVING, grpc_health_v1.HealthCheckResponse_NOT_SERVING
	library := &answering{answer: hardware.ErrGPULibraryNotFound}
	s := startWith(t, library, 1)
	health := func(what string, want map[string]grpc_health_v1.HealthCheckResponse_ServingStatus) {
		t.Helper()
		s.eventually(what, func() error {
			for _, service := range services {
				if got, err := s.check(service); err != nil || got != want[service] {
					return fmt.Errorf("%q is %s, %v", service, got, err)
				}
			}
			return nil
		})
	}
	all := map[string]grpc_health_v1.HealthCheckResponse_ServingStatus{"": serving, "readiness": serving, "liveness": serving}
	health("without a library", all)
	library.answers(hardware.ErrGPUUnknown)
	health("with one that fails", map[string]grpc_health_v1.HealthCheckResponse_ServingStatus{"": notServing, "readiness": notServing, "liveness": serving})
	library.answers(hardware.ErrGPULibraryNotFound)
	health("without one again", all)
	library.answers(fmt.Errorf("%w: %w", hardware.ErrGPULibraryStale, hardware.ErrGPULibraryMismatch))
	select {
	case code := <-s.code:
		if code != exitError || !strings.Contains(s.output.String(), hardware.ErrGPULibraryStale.Error()) {
			t.Errorf("code %d, %s", code, s.output)
		}
		s.code <- exitOK // for the cleanup
	case <-time.After(3 * patience): // it asks seldom for a library that is not there
		t.Error("a process that cannot load the library runs on")
	}
}

func TestAPortThatIsTakenEndsTheProcess(t *testing.T) {
	listener, err := net.Listen("tcp", ":0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	for _, flag := range []string{"--metrics-port", "--healthcheck-port"} {
		s := start(t, 1, flag, fmt.Sprint(listener.Addr().(*net.TCPAddr).Port))
		select {
		case code := <-s.code:
			if code != exitError || !strings.Contains(s.output.String(), "address already in use") {
				t.Errorf("%s: code %d, %s", flag, code, s.output)
			}
			s.code <- exitOK // for the cleanup
		case <-time.After(patience):
			t.Errorf("%s: it runs on", flag)
		}
	}
}

// TestABrokenCheckpointEndsTheProcessAndStays: nothing is served before somebody has
// looked at it.
func TestABrokenCheckpointEndsTheProcessAndStays(t *testing.T) {
	s := start(t, 1)
	s.eventually("health", func() error { _, err := s.check(""); return err })
	s.stop()
	file := filepath.Join(s.dir, "node", "plugins", "gpu.dray.dev", "checkpoint.json")
	if err := os.WriteFile(file, []byte("{torn"), 0o600); err != nil {
		t.Fatal(err)
	}
	code, output := run(t, &empty{host: hostOf(t, s.dir)}, "--kubeconfig", filepath.Join(s.dir, "kubeconfig"), "--kubelet-root", filepath.Join(s.dir, "{node}"),
		"--cdi-root", filepath.Join(s.dir, "cdi"), "--metrics-port", "0", "--healthcheck-port", "0")
	if code != exitError || !strings.Contains(output, file) || !strings.Contains(output, "the file is kept") {
		t.Errorf("code %d, %s", code, output)
	}
	if text, err := os.ReadFile(file); err != nil || string(text) != "{torn" {
		t.Errorf("the file is %q, %v", text, err)
	}
}

func hostOf(t *testing.T, dir string) hardware.Host {
	t.Helper()
	host, err := hardware.HostDir(filepath.Join(dir, "host"))
	if err != nil {
		t.Fatal(err)
	}
	return host
}
