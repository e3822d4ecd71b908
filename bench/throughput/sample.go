package throughput

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// childVariable tells a process that it is a sample; the value is the directory that
// was prepared for it and becomes its working directory.
const childVariable = "DRAY_THROUGHPUT_SAMPLE"

// ChildDir is the directory of the sample that this process is, if it is one. The
// program has to look before anything else: [Run] starts the same program again.
func ChildDir() (dir string, ok bool) { return os.LookupEnv(childVariable) }

// kubernetes is the module with scheduler_perf.
const kubernetes = "k8s.io/kubernetes"

// sources are where a sample reads things that are not its own.
type sources struct {
	workloads string   // directory of scheduler_perf with the workloads of DRA
	env       []string // of the process
}

// findSources asks the go command for the module's source. Etcd is the directory of
// the program etcd, which scheduler_perf looks for in PATH. The other variables tell the
// API server's test package, which looks for its own source by a path that -trimpath
// has shortened, where that path begins.
func findSources(ctx context.Context, etcd string) (sources, error) {
	var stderr bytes.Buffer
	list := exec.CommandContext(ctx, "go", "list", "-m", "-f", "{{.Path}}@{{.Version}}\n{{.Dir}}", kubernetes)
	list.Stderr = &stderr
	output, err := list.Output()
	if err != nil {
		return sources{}, fmt.Errorf("find the source of %s by the go command: %w: %s", kubernetes, err, stderr.Bytes())
	}
	name, dir, _ := strings.Cut(strings.TrimSpace(string(output)), "\n")
	cache, found := strings.CutSuffix(filepath.ToSlash(dir), "/"+name)
	if !found {
		return sources{}, fmt.Errorf("the source of %s is in %q: expected it in the module cache, at %s", kubernetes, dir, name)
	}
	if etcd, err = filepath.Abs(etcd); err != nil {
		return sources{}, fmt.Errorf("find the directory of etcd: %w", err)
	}
	if _, err := os.Stat(filepath.Join(etcd, "etcd")); err != nil {
		return sources{}, fmt.Errorf("look for etcd (make bench-throughput builds it): %w", err)
	}
	return sources{
		workloads: filepath.Join(dir, "test", "integration", "scheduler_perf", "dra"),
		env: append(os.Environ(), "PATH="+etcd+string(os.PathListSeparator)+os.Getenv("PATH"),
			"TEST_SRCDIR="+filepath.FromSlash(cache), "TEST_WORKSPACE=."),
	}, nil
}

// sample runs a workload once and returns the pods that were placed a second. A
// workload that does not end within limit is given up, with errTooLong.
func (s sources) sample(ctx context.Context, w Workload, schedulerConfig []byte, limit time.Duration) (podsPerSecond float64, err error) {
	dir, err := os.MkdirTemp("", "dray-throughput-")
	if err != nil {
		return 0, fmt.Errorf("make a directory for a sample: %w", err)
	}
	defer os.RemoveAll(dir)
	if err := prepare(dir, s.workloads, w, schedulerConfig); err != nil {
		return 0, err
	}
	program, err := os.Executable()
	if err != nil {
		return 0, fmt.Errorf("find this program: %w", err)
	}
	limited, cancel := context.WithTimeoutCause(ctx, limit, errTooLong)
	defer cancel()
	var output bytes.Buffer
	child := exec.CommandContext(limited, program)
	child.Env = append(s.env, childVariable+"="+dir, "TMPDIR="+dir)
	child.Stdout, child.Stderr = &output, &output
	child.WaitDelay = 10 * time.Second // its etcd may hold the pipe
	endWithParent(child)
	err = child.Run()
	endAll(child)
	switch {
	case err != nil && limited.Err() != nil:
		return 0, context.Cause(limited)
	case err != nil:
		return 0, fmt.Errorf("run a sample: %w; it said at the end:\n%s", err, tail(output.Bytes()))
	}
	return readThroughput(filepath.Join(dir, ResultsDir))
}

var errTooLong = errors.New("the workload did not end within the limit")

// tail is the end of a log.
func tail(log []byte) []byte {
	const most = 4096
	if len(log) > most {
		return log[len(log)-most:]
	}
	return log
}

// readThroughput reads what scheduler_perf measured: it writes one file of results.
func readThroughput(dir string) (float64, error) {
	files, err := filepath.Glob(filepath.Join(dir, "*.json"))
	if err != nil || len(files) != 1 {
		return 0, fmt.Errorf("%d files of results in %s, expected one (error %w)", len(files), dir, err)
	}
	content, err := os.ReadFile(files[0])
	if err != nil {
		return 0, fmt.Errorf("read the results of scheduler_perf: %w", err)
	}
	var items struct {
		DataItems []struct {
			Data   map[string]float64 `json:"data"`
			Unit   string             `json:"unit"`
			Labels map[string]string  `json:"labels"`
		} `json:"dataItems"`
	}
	if err := json.Unmarshal(content, &items); err != nil {
		return 0, fmt.Errorf("parse the results of scheduler_perf: %w", err)
	}
	for _, item := range items.DataItems {
		if item.Labels["Metric"] == "SchedulingThroughput" && item.Unit == "pods/s" && item.Data["Average"] > 0 {
			return item.Data["Average"], nil
		}
	}
	return 0, errors.New("scheduler_perf wrote no SchedulingThroughput in pods/s above zero")
}
