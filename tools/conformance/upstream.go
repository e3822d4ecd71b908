package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
)

const (
	upstreamPath   = "k8s.io/dynamic-resource-allocation"
	kubernetesPath = "k8s.io/kubernetes"
	oursPrefix     = "github.com/dray-dev/dray/"
	allocatorPath  = oursPrefix + "allocator"

	// Relative to the root of the repository.
	allocatorDir   = "allocator"
	schedulerDir   = "scheduler"
	shippedConfig  = "deploy/scheduler/config.yaml"
	kubernetesUser = "e2e" // the module whose go.mod pins k8s.io/kubernetes
	deviationsFile = "docs/deviations.md"
	scratchRoot    = "build/scratch"
)

// module is what the go command says about a module in the module cache.
type module struct {
	Path, Version string
	Dir           string // unpacked, read-only
	Sum           string // of all files, so it identifies the content
	Error         string
}

// findModule returns the module in the version that the module in consumer
// builds with, and downloads it if the module cache lacks it.
func findModule(ctx context.Context, consumer, path string) (module, error) {
	cmd := goCommand(ctx, consumer, "mod", "download", "-json", path)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	stdout, runErr := cmd.Output()
	var m module
	if err := json.Unmarshal(stdout, &m); err != nil {
		return module{}, fmt.Errorf("find module %s with %q in %s: %w: %s", path, cmd.Args, consumer, errors.Join(runErr, err), stderr.Bytes())
	}
	switch {
	case m.Error != "":
		return module{}, fmt.Errorf("download module %s: %s", path, m.Error)
	case runErr != nil:
		return module{}, fmt.Errorf("download module %s: %w: %s", path, runErr, stderr.Bytes())
	case m.Dir == "" || m.Sum == "":
		return module{}, fmt.Errorf("download module %s: the go command names no directory or no sum: %s", path, stdout)
	}
	return m, nil
}

// goCommand is the go command as this tool runs it everywhere: outside of the
// workspace, so that the scratch copy and the module cache are judged by their
// own go.mod, and without cgo, so that the build cache is shared with all
// other builds of the repository.
func goCommand(ctx context.Context, dir string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GOWORK=off", "CGO_ENABLED=0")
	return cmd
}

// repositoryRoot is the nearest directory, from the working directory
// upwards, that holds go.work.
func repositoryRoot() (string, error) {
	start, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for dir := start; ; dir = filepath.Dir(dir) {
		_, err := os.Stat(filepath.Join(dir, "go.work"))
		if err == nil {
			return dir, nil
		}
		if !errors.Is(err, fs.ErrNotExist) {
			return "", err
		}
		if dir == filepath.Dir(dir) {
			return "", fmt.Errorf("no go.work in %s or above it: run this inside the repository", start)
		}
	}
}
